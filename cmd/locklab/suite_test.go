package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/suite"
	"locklab/internal/must"
	"locklab/workloads/result"
)

// cells are the locks of a suite, as it names them, under each scenario.
func cells(t *testing.T, name string) map[string][]catalog.Lock {
	t.Helper()
	s, err := suite.Load(name)
	must.Do(t, err)
	all := map[string][]catalog.Lock{}
	for _, part := range s.Parts {
		values := map[string]string{}
		for _, f := range part.Flags {
			values[f.Name] = f.Value
		}
		list, err := catalog.ParseList([]string{values["locks"]})
		if err != nil {
			t.Fatalf("line %d: %v", part.Line, err)
		}
		for sc := range strings.SplitSeq(values["scenarios"], ",") {
			all[sc] = append(all[sc], list...)
		}
	}
	return all
}

// TestMatrixIsOfAll: it names every lock and every variant under every scenario.
func TestMatrixIsOfAll(t *testing.T) {
	matrix := cells(t, "matrix")
	for _, sc := range scenario.Names() {
		for _, want := range catalog.WithVariants() {
			if !slices.ContainsFunc(matrix[sc], func(l catalog.Lock) bool { return l.Spec.Name+":"+l.Spec.Variant == want }) {
				t.Errorf("%s under %s is missing", want, sc)
			}
		}
	}
}

// TestControlsAreOfAll: the suite of controls runs all that a built-in scenario declares unsafe.
func TestControlsAreOfAll(t *testing.T) {
	controls, matrix := cells(t, "controls"), cells(t, "matrix")
	declared := 0
	for _, name := range scenario.Names() {
		for _, lock := range matrix[name] {
			e, unfit, err := lab.Expected(name, "seoul-2az", lock)
			must.Do(t, err)
			if unfit != nil || e.Safety != result.Unsafe {
				continue
			}
			declared++
			in := name
			if lock.Name == "none" || lock.Name == "local" { // need no fault to go wrong: run where nothing is broken
				in = "baseline"
			}
			runs := slices.ContainsFunc(controls[in], func(l catalog.Lock) bool {
				of, unfit, err := lab.Expected(in, "seoul-2az", l)
				return err == nil && unfit == nil && l.Name == lock.Name && of.Safety == result.Unsafe && (in != name || of.SafetyBy.Line == e.SafetyBy.Line)
			})
			if !runs {
				t.Errorf("%s must be unsafe under %s: the controls do not run it", lock, name)
			}
		}
	}
	if declared == 0 {
		t.Error("no scenario declares a lock unsafe")
	}
}

// TestSuitesCanBeRun: their flags are right, and every claim has a part that makes its rows.
func TestSuitesCanBeRun(t *testing.T) {
	for _, name := range suite.Names() {
		flags := runFlags{}
		must.Do(t, flags.parse([]string{"--suite", name, "--seed", "1", "--ui", "off"}))
		p, err := flags.comparisons(t.Context(), io.Discard)
		if err != nil || len(p.parts) == 0 {
			t.Errorf("%s: %d parts, %v", name, len(p.parts), err)
			continue
		}
		for _, part := range p.parts {
			for _, u := range part.Unfit {
				if strings.HasPrefix(u.Why, "--") {
					t.Errorf("%s: %s does not apply to %s because of the suite's own flags: %s", name, u.Scenario, u.Lock, u.Why)
				}
			}
		}
	}
}
