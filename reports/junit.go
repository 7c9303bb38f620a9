package reports

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"

	"locklab/internal/atomicfile"
	"locklab/reports/lang"
	"locklab/reports/result"
)

// The elements of JUnit's XML that CI servers read. No standard defines the format: GitLab tells
// tests apart by classname and name and shows an element's text, others its message, so
// both have the reason; some need every time. Jenkins' xUnit plugin refuses what its
// junit-10.xsd does not have, such as skipped of testsuites.
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
	Out     string      `xml:"system-out,omitempty"`
}

type junitCause struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the verdicts for a CI server, in JUnit's XML: one suite with a test case for each lock
// (its class) under each scenario (its name). What was not as expected is a failure. What
// decides nothing is an error, never a pass and not skipped either, which CI servers take
// for good: an inconclusive run, a control that stayed silent, and a comparison that did
// not come to its end. What the scenario does not judge is skipped. The time of a case is
// that of its measured part. Stopped is the error that ended the comparison early, if any.
func WriteJUnit(path string, f result.File, stopped error) error {
	data, err := junitOf(f, stopped)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return atomicfile.Write(path, data)
}

func junitOf(f result.File, stopped error) ([]byte, error) {
	f = result.Clean(f)
	suite := junitSuite{junitTotals: junitTotals{Name: "locklab", Seconds: seconds(f.Run.DurationMS)}}
	suite.Properties = []junitProperty{
		{"run", plain(f.Run.ID)},
		{"seed", strconv.FormatUint(f.Run.Seed, 10)},
		{"commit", plain(f.Run.Commit)},
		{"topology", plain(f.Run.Topology)},
		{"command", plain(f.Run.Command)},
	}
	if !f.Run.Started.IsZero() {
		suite.Timestamp = f.Run.Started.UTC().Format(time.RFC3339)
	}
	for _, r := range byScenario(f.Results) {
		suite.add(caseOf(r))
	}
	end := ending(lang.English(), f.Run)
	if stopped != nil {
		end = finding{Topic: "Stopped", text: "The comparison could not go on: " + plain(stopped.Error())}
	}
	if end.Topic != "" {
		suite.add(junitCase{Class: "locklab", Name: "the comparison comes to its end", Seconds: "0", Error: causeOf(lower(end.Topic), end.Plain())})
	}
	all := junitSuites{junitTotals: suite.junitTotals, Suites: []junitSuite{suite}}
	data, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
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

func caseOf(r result.Row) junitCase {
	c := junitCase{Class: plain(r.Lock), Name: plain(r.Scenario) + " (" + plain(r.Workload) + ")", Seconds: seconds(r.MeasuredMS)}
	cause := causeOf(cmp.Or(r.Verdict.Status, "no-verdict"), cmp.Or(plain(r.Verdict.Why), statusOf(lang.English(), r.Verdict).Means))
	switch r.Verdict.Status {
	case result.StatusExpected:
		// The figures stand below, as of every row.
	case result.StatusViolated:
		c.Failure = cause
	case result.StatusNotJudged:
		cause.Type = "" // a skipped test has none
		c.Skipped = cause
	default:
		c.Error = cause
	}
	var lines []string
	for _, line := range cellOf(lang.English(), r, violationOf([]result.Row{r})).Lines {
		lines = append(lines, line.Name+": "+line.Value)
	}
	c.Out = strings.Join(lines, "\n")
	return c
}

func causeOf(kind, why string) *junitCause {
	return &junitCause{Message: why, Type: kind, Text: why}
}

func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64) }
