package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/reports"
	"locklab/reports/series"
	"locklab/workloads/check"
)

func newCheck() *cobra.Command {
	var visual string
	var explain int
	cmd := &cobra.Command{
		Use:   "check HISTORY",
		Short: "Judge a saved history",
		Long: `check reads one history (JSON lines, gzipped or not) and judges it as the
comparison did: by what the scenario expects of the lock, which the history says.
Of a history that does not say it, safety is expected.

Exit codes: 0 as expected, or nothing is expected of the lock; 2 not as expected;
4 the history cannot decide, or a control did not fire; 1 it cannot be read.`,
		Example: `  locklab check reports/runs/A/histories/redlock/baseline.matchmaking.1.jsonl
  locklab check --explain 1 reports/runs/A/histories/none/baseline.mutex.1.jsonl
  locklab check --visualize first.html reports/runs/A/histories/none/baseline.mutex.1.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return interruptible(cmd.Context(), func() error { return runCheck(cmd, args[0], visual, explain) })
		},
	}
	cmd.Flags().IntVar(&explain, "explain", 0, "number of a violation in the list, to tell what happened around it")
	cmd.Flags().StringVar(&visual, "visualize", "", "HTML file to draw the history around the first violation into")
	return cmd
}

func runCheck(cmd *cobra.Command, path, visual string, number int) error {
	if number < 0 {
		return fmt.Errorf("--explain %d: want the number of a violation, from 1", number)
	}
	options := catalog.CheckOptions()
	options.Examples = 5 // whatever is explained, so that the numbers stay
	checker, err := check.Read(cmd.Context(), path, options)
	if err != nil {
		return err
	}
	found := checker.Findings()
	verdict := check.Judge(found, check.ExpectationOf(found.Run))
	printFindings(cmd.OutOrStdout(), path, found, verdict)
	if number > 0 {
		if err := explain(cmd.Context(), cmd.OutOrStdout(), path, found, number); err != nil {
			return err
		}
	}
	if visual != "" {
		if err := visualize(visual, checker, found); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "drawn: %s\n", visual)
	}
	switch verdict.Status {
	case check.Violated:
		return &exitError{code: exitViolated}
	case check.Inconclusive, check.ControlSilent:
		return &exitError{code: exitInconclusive}
	case check.Expected, check.NotJudged:
	}
	return nil
}

func printFindings(w io.Writer, path string, f *check.Findings, v check.Verdict) {
	fmt.Fprintf(w, "%s: %s under %s, %s, %d events\n", path, f.Run.Lock, f.Run.Scenario, f.Run.Workload, f.Events)
	fmt.Fprintf(w, "  operations   %d ok, %d failed, %d unknown\n", f.OK, f.Failed, f.Unknown)
	for _, part := range []struct {
		when   string
		served check.Served
	}{{"that no fault touched", f.Outside}, {"while a fault was in force", f.During}} {
		if part.served.All > 0 {
			fmt.Fprintf(w, "  available    %.1f %% of %d operations %s\n", 100*part.served.Share(), part.served.All, part.when)
		}
	}
	if f.RoomsCreated > 0 {
		d := f.Duplicates
		fmt.Fprintf(w, "  duplicates   %d of %d rooms: %d raced, %d overlooked, %d unreachable\n", d.Total(), f.RoomsCreated, d.Raced, d.Overlooked, d.Unreachable)
	}
	fmt.Fprintf(w, "  holds        %d, %d overlaps, %d tokens that did not grow\n", f.Holds, f.Overlaps, f.TokensBroken)
	if f.ZombieNS > 0 {
		fmt.Fprintf(w, "  zombie       a holder believed for up to %.1f ms after the next grant\n", float64(f.ZombieNS)/1e6)
	}
	fmt.Fprintf(w, "  liveness     %s, longest stall %.0f ms\n", f.Liveness, float64(f.StallNS)/1e6)
	for _, h := range f.Hosts {
		fmt.Fprintf(w, "  machine      %s\n", h)
	}
	for i := range f.Nodes {
		fmt.Fprintf(w, "  node         %s\n", &f.Nodes[i])
	}
	shown := map[string]int64{}
	for i, e := range f.Examples {
		shown[e.What]++
		fmt.Fprintf(w, "  %2d %-11s %9.1f ms  %s%s\n", i+1, e.What, float64(e.AtNS)/1e6, e.Text, during(f, e))
	}
	for _, kind := range []struct {
		what, noun string
		n          int64
	}{
		{"raced", "raced duplicate", f.Duplicates.Raced + f.WarmupDuplicates.Raced},
		{"overlooked", "overlooked duplicate", f.Duplicates.Overlooked + f.WarmupDuplicates.Overlooked},
		{"unreachable", "unreachable duplicate", f.Duplicates.Unreachable + f.WarmupDuplicates.Unreachable},
		{"overlap", "overlapping hold", f.OverlapHolds},
		{"token", "acquisition without a new token", f.TokensBroken},
	} {
		if more := kind.n - shown[kind.what]; more > 0 {
			fmt.Fprintf(w, "     and %s more of %s\n", strconv.FormatInt(more, 10), reports.Plural(int(kind.n), kind.noun))
		}
	}
	fmt.Fprintf(w, "%s: %s\n", v.Status, v.Why)
}

// during names the fault in force at a violation.
func during(f *check.Findings, e check.Example) string {
	if names := lab.InForce(f, e.AtNS); len(names) > 0 {
		return "; in force: " + strings.Join(names, ", ")
	}
	return ""
}

// explain tells what happened around one violation.
func explain(ctx context.Context, w io.Writer, path string, f *check.Findings, number int) error {
	moments := lab.Moments(f, len(f.Examples))
	if number > len(moments) {
		return fmt.Errorf("--explain %d: the list has %s", number, reports.Plural(len(moments), "violation"))
	}
	scenes, err := series.Scenes(ctx, path, moments[number-1:number])
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\naround violation %d, %s at %.1f ms: %s\n", number, scenes[0].What, scenes[0].AtMS, scenes[0].Text)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  from, ms\tto, ms\twho\twhat\thow")
	for _, step := range scenes[0].Steps {
		to := "no end"
		if !math.IsInf(step.ToMS, 0) {
			to = fmt.Sprintf("%+.1f", step.ToMS)
		}
		fmt.Fprintf(table, "  %+.1f\t%s\t%s\t%s\t%s\n", step.FromMS, to, step.Who, step.What, step.Text)
	}
	return table.Flush()
}

// drawMargin is how much of the history around a violation is drawn.
const drawMargin = 50 * time.Millisecond

// visualize draws the surroundings of the first violation that concerns holds.
func visualize(target string, c *check.Checker, f *check.Findings) (err error) {
	i := slices.IndexFunc(f.Examples, func(e check.Example) bool { return e.Resource != "" })
	if i < 0 {
		return errors.New("--visualize: nothing was violated, so there is nothing to draw")
	}
	out, err := os.Create(target)
	if err != nil {
		return fmt.Errorf("--visualize: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = c.Visualize(out, check.Around(f.Examples[i], drawMargin))
	return err
}
