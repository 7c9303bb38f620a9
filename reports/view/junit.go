package view

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"locklab/reports/lang"
	"locklab/workloads/result"
)

// The elements of JUnit's XML that CI servers read. No standard defines the format: GitLab tells
// tests apart by classname and name and shows an element's text, others its message, so both have
// the reason. Jenkins' xUnit plugin refuses files that do not follow its junit-10.xsd.
type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	junitTotals
	Suite junitSuite `xml:"testsuite"`
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

// JUnit writes the verdicts for a CI server: a test case for each run, whose class is the lock. A run
// that is not as expected is a failure. One that decides nothing is an error, as CI servers take
// skipped for good: a run that is not sound, a silent control, a comparison that stopped early.
func JUnit(w io.Writer, f result.File, stopped error) error {
	suite := junitSuite{junitTotals: junitTotals{Name: "locklab", Seconds: seconds(float64(f.Run.DurationMS))}}
	suite.Properties = []junitProperty{
		{"run", f.Run.ID},
		{"seed", strconv.FormatUint(f.Run.Seed, 10)},
		{"commit", f.Run.Commit},
		{"topology", f.Run.Topology},
		{"command", f.Run.Command},
	}
	if !f.Run.Started.IsZero() {
		suite.Timestamp = f.Run.Started.UTC().Format(time.RFC3339)
	}
	for i := range f.Rows {
		suite.Cases = append(suite.Cases, caseOf(&f.Rows[i], f.Run.Repeats > 1))
	}
	if stopped == nil && (f.Run.Interrupted || f.Run.Unfinished) {
		stopped = errors.New("rows are missing")
	}
	if stopped != nil {
		suite.Cases = append(suite.Cases, junitCase{
			Class: "locklab", Name: "the comparison comes to its end", Seconds: "0",
			Error: cause("stopped", stopped.Error()),
		})
	}
	for _, c := range suite.Cases {
		suite.Tests++
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
	}
	data, err := xml.MarshalIndent(junitSuites{junitTotals: suite.junitTotals, Suite: suite}, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit's XML: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(data)+"\n")
	return err
}

func caseOf(r *result.Row, repeated bool) junitCase {
	c := junitCase{Class: r.Lock, Name: fmt.Sprintf("%s (%s)", r.Scenario, r.Workload), Seconds: seconds(r.MeasuredMS)}
	if repeated {
		c.Name += fmt.Sprintf(", run %d", r.Repeat)
	}
	why := r.Verdict.Why.Code
	title := cmp.Or(why.Title(), "no reason recorded")
	told := cause(string(why), title+"; expected: "+Expected(lang.English(), r.Expected))
	switch as := r.Verdict.As; {
	case r.Played || as == "":
		c.Skipped = cause("", "nothing is expected")
	case as == result.NotAsExpected:
		c.Failure = told
	case as == result.Silent, as == result.Unsound:
		c.Error = told
	}
	return c
}

func cause(kind, why string) *junitCause {
	return &junitCause{Message: why, Type: kind, Text: why}
}

func seconds(ms float64) string { return strconv.FormatFloat(ms/1000, 'f', 3, 64) }
