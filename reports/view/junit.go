package view

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"

	"locklab/reports/lang"
	"locklab/workloads/result"
)

// junitSuite is what CI servers read. No standard defines the format: GitLab tells tests apart by classname
// and name and shows an element's text, others its message, so both have the reason.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Seconds  string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
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
	if stopped == nil && (f.Run.Interrupted || f.Run.Unfinished) {
		stopped = errors.New("rows are missing")
	}
	seconds := func(ms float64) string { return strconv.FormatFloat(ms/1000, 'f', 3, 64) }
	suite := junitSuite{Name: "locklab " + f.Run.ID, Seconds: seconds(float64(f.Run.DurationMS))}
	for i := range f.Rows {
		r := &f.Rows[i]
		c := junitCase{Class: r.Lock, Name: fmt.Sprintf("%s (%s)", r.Scenario, r.Workload), Seconds: seconds(r.MeasuredMS)}
		if f.Run.Repeats > 1 {
			c.Name += fmt.Sprintf(", run %d", r.Repeat)
		}
		why := r.Verdict.Why.Code
		told := cmp.Or(why.Title(), "no reason recorded") + "; expected: " + Expected(lang.English(), r.Expected)
		switch as := r.Verdict.As; {
		case r.Played || as == "":
			c.Skipped = &junitCause{Message: "nothing is expected"}
			suite.Skipped++
		case as == result.NotAsExpected:
			c.Failure = &junitCause{told, string(why), told}
			suite.Failures++
		case as == result.Silent, as == result.Unsound:
			c.Error = &junitCause{told, string(why), told}
			suite.Errors++
		}
		suite.Cases = append(suite.Cases, c)
	}
	if stopped != nil {
		suite.Errors++
		suite.Cases = append(suite.Cases, junitCase{
			Class: "locklab", Name: "the comparison comes to its end", Seconds: "0",
			Error: &junitCause{stopped.Error(), "stopped", stopped.Error()},
		})
	}
	suite.Tests = len(suite.Cases)
	data, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit's XML: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(data)+"\n")
	return err
}
