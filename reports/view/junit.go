package view

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/result"
)

// The elements of JUnit's XML that CI servers read. No standard defines the format: GitLab tells
// tests apart by classname and name and shows an element's text, others its message, so both have
// the reason. Jenkins' xUnit plugin refuses what its junit-10.xsd does not have.
type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	junitTotals
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	junitTotals
	Skipped    int             `xml:"skipped,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitTotals struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Seconds  string `xml:"time,attr"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Seconds string      `xml:"time,attr"`
	Failure *junitCause `xml:"failure"`
	Error   *junitCause `xml:"error"`
	Skipped *junitCause `xml:"skipped"`
}

type junitCause struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes the verdicts for a CI server: a test case for each expectation of each run. Its class
// is the lock. What is not as expected is a failure. What decides nothing is an error, as CI servers
// take what is skipped for good: a run that is not sound, a control that stayed silent, and a
// comparison that did not come to its end. A run of which nothing is expected is skipped. Stopped is
// the error that ended the comparison early, if any.
func JUnit(w io.Writer, f result.File, stopped error) error {
	suite := junitSuite{junitTotals: junitTotals{Name: "locklab", Seconds: seconds(float64(f.Run.DurationMS))}}
	for _, p := range [][2]string{{"run", f.Run.ID}, {"seed", strconv.FormatUint(f.Run.Seed, 10)}, {"commit", f.Run.Commit}, {"topology", f.Run.Topology}, {"command", f.Run.Command}} {
		suite.Properties = append(suite.Properties, junitProperty{p[0], p[1]})
	}
	if !f.Run.Started.IsZero() {
		suite.Timestamp = f.Run.Started.UTC().Format(time.RFC3339)
	}
	v := &View{f: f, say: lang.English()}
	for i := range f.Rows {
		for _, c := range v.cases(&f.Rows[i]) {
			suite.add(c)
		}
	}
	end := ""
	switch {
	case stopped != nil:
		end = stopped.Error()
	case f.Run.Interrupted || f.Run.Unfinished:
		end = "rows are missing"
	}
	if end != "" {
		suite.add(junitCase{Class: "locklab", Name: "the comparison comes to its end", Seconds: "0", Error: cause("stopped", end)})
	}
	data, err := xml.MarshalIndent(junitSuites{junitTotals: suite.junitTotals, Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit's XML: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(data)+"\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// cases are those of a row: its safety, its liveness, and the shares served. Whether the row is as
// expected its verdict has decided; the case that its reason is about fails.
func (v *View) cases(r *result.Row) (all []junitCase) {
	add := func(expectation string, codes ...result.Code) {
		name := fmt.Sprintf("%s (%s): %s", r.Scenario, r.Workload, expectation)
		if v.f.Run.Repeats > 1 {
			name += fmt.Sprintf(", run %d", r.Repeat)
		}
		c := junitCase{Class: r.Lock, Name: name, Seconds: seconds(r.MeasuredMS)}
		why := r.Verdict.Why
		told := cause(string(why.Code), v.codeTitle(why.Code))
		about := slices.Contains(codes, why.Code)
		switch r.Verdict.As {
		case result.AsExpected:
		case result.NotAsExpected:
			if about {
				c.Failure = told
			}
		case result.Silent:
			if about {
				c.Error = told
			}
		case result.Unsound:
			c.Error = told
		default:
			c.Skipped = cause("", "nothing is expected")
		}
		all = append(all, c)
	}
	e := r.Expected
	if e.Safety != "" {
		add(e.Safety, result.NotSafe, result.ControlSilent)
	}
	add(v.liveness(e), result.NotLive, result.IsDead)
	if e.Served > 0 || e.ServedInFault > 0 {
		add("served "+table.Share(max(e.Served, e.ServedInFault)), result.ServedTooLittle)
	}
	if r.Verdict.As == result.NotAsExpected && !slices.ContainsFunc(all, func(c junitCase) bool { return c.Failure != nil }) {
		add("as expected", r.Verdict.Why.Code) // a threshold of --fail-on, say
	}
	return all
}

// liveness are the words that are expected; no lock may be dead.
func (v *View) liveness(e result.Expected) string {
	if len(e.Liveness) == 0 {
		return "not dead"
	}
	return v.anyOf(e.Liveness)
}

func cause(kind, why string) *junitCause {
	return &junitCause{Message: why, Type: kind, Text: why}
}

func seconds(ms float64) string { return strconv.FormatFloat(ms/1000, 'f', 3, 64) }
