package reports_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/internal/testfile"
	"locklab/reports"
	"locklab/reports/result"
)

// junitFile is what a CI server reads of JUnit's XML.
type junitFile struct {
	XMLName xml.Name `xml:"testsuites"`
	Tests   int      `xml:"tests,attr"`
	Suites  []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Cases    []struct {
			Class   string   `xml:"classname,attr"`
			Name    string   `xml:"name,attr"`
			Seconds *float64 `xml:"time,attr"`
			Failure *said    `xml:"failure"`
			Error   *said    `xml:"error"`
			Skipped *said    `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

type said struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func writeJUnit(t *testing.T, f result.File, stopped error) (file junitFile) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "junit.xml")
	if err := reports.WriteJUnit(path, f, stopped); err != nil {
		t.Fatal(err)
	}
	data := testfile.Read(t, path)
	if !strings.HasPrefix(string(data), xml.Header) {
		t.Errorf("no XML declaration: %.60q", data)
	}
	if err := xml.Unmarshal(data, &file); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	checkJenkins(t, data)
	return file
}

// jenkins is what Jenkins' xUnit plugin takes: its junit-10.xsd in short. An attribute with a !
// must be there.
var jenkins = map[string]struct{ in, attributes string }{
	"testsuites": {"", "name time tests failures errors"},
	"testsuite":  {"testsuites testsuite", "name! tests! failures! errors! group time skipped timestamp hostname id package file log url"},
	"properties": {"testsuite", ""},
	"property":   {"properties", "name! value!"},
	"testcase":   {"testsuite", "name! time classname group"},
	"failure":    {"testcase", "type message"},
	"error":      {"testcase", "type message"},
	"skipped":    {"testcase", "type message"},
	"system-out": {"testsuite testcase", ""},
}

// jenkinsTime is its type of the times of suites.
var jenkinsTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)

func checkJenkins(t *testing.T, data []byte) {
	t.Helper()
	decoder, within := xml.NewDecoder(bytes.NewReader(data)), []string{""}
	for {
		token, err := decoder.Token()
		if err != nil { // the end: the file was read before
			return
		}
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			is, known := jenkins[name]
			if parent := within[len(within)-1]; !known || parent != is.in && !slices.Contains(strings.Fields(is.in), parent) {
				t.Errorf("Jenkins knows no element %s in %q", name, parent)
			}
			have := map[string]bool{}
			for _, a := range e.Attr {
				have[a.Name.Local] = true
				if !slices.Contains(strings.Fields(strings.ReplaceAll(is.attributes, "!", "")), a.Name.Local) {
					t.Errorf("Jenkins knows no attribute %s of %s", a.Name.Local, name)
				}
				if a.Name.Local == "time" && name != "testcase" && !jenkinsTime.MatchString(a.Value) {
					t.Errorf("Jenkins refuses the time %q of %s", a.Value, name)
				}
			}
			for a := range strings.FieldsSeq(is.attributes) {
				if must, needed := strings.CutSuffix(a, "!"); needed && !have[must] {
					t.Errorf("%s lacks %s, which Jenkins needs", name, must)
				}
			}
			within = append(within, name)
		case xml.EndElement:
			within = within[:len(within)-1]
		}
	}
}

// TestJUnitHasEveryVerdict: a CI server that fails on failures and errors, and passes
// the rest, comes to what the exit code says.
func TestJUnitHasEveryVerdict(t *testing.T) {
	var f result.File
	want := map[string]string{
		result.StatusExpected: "passed", result.StatusViolated: "failure violated", result.StatusControlSilent: "error control-silent",
		result.StatusInconclusive: "error inconclusive", result.StatusNotJudged: "skipped ", "": "error no-verdict",
	}
	for status := range want {
		f.Results = append(f.Results, result.Row{Lock: "raft", Scenario: "s-" + status, Workload: "mutex", MeasuredMS: 8000, Verdict: result.Verdict{Status: status, Why: "why " + status}})
	}
	f.Results = append(f.Results, result.Row{Lock: hostile, Scenario: hostile, Workload: hostile, Verdict: result.Verdict{Status: result.StatusViolated, Why: hostile}})
	file := writeJUnit(t, f, nil)
	if len(file.Suites) != 1 {
		t.Fatalf("%d suites", len(file.Suites))
	}
	suite := file.Suites[0]
	if n := len(suite.Cases); n != 7 || suite.Tests != n || file.Tests != n || suite.Failures != 2 || suite.Errors != 3 || suite.Skipped != 1 {
		t.Errorf("%d cases; the suite says %+v", n, suite)
	}
	have, names := map[string]string{}, map[string]bool{}
	for _, c := range suite.Cases {
		if c.Seconds == nil {
			t.Errorf("%s has no time", c.Name)
		}
		names[c.Class+" "+c.Name] = true
		outcome := "passed"
		for kind, s := range map[string]*said{"failure": c.Failure, "error": c.Error, "skipped": c.Skipped} {
			if s == nil {
				continue
			}
			outcome = kind + " " + s.Type
			if s.Message == "" || s.Text != s.Message {
				t.Errorf("%s gives the reason %q and %q", c.Name, s.Message, s.Text)
			}
		}
		if status, ours := strings.CutPrefix(strings.TrimSuffix(c.Name, " (mutex)"), "s-"); ours {
			have[status] = outcome
		}
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Error(d)
	}
	if len(names) != len(suite.Cases) {
		t.Error("two cases have the same name: a CI server would drop one")
	}
}

// TestJUnitOfHalfAComparison is never all green.
func TestJUnitOfHalfAComparison(t *testing.T) {
	row := result.Row{Lock: "raft", Scenario: "baseline", Workload: "mutex", Verdict: result.Verdict{Status: result.StatusExpected}}
	for name, tt := range map[string]struct {
		run     result.Run
		stopped error
		want    string
	}{
		"interrupted": {run: result.Run{Interrupted: true}, want: "was interrupted"},
		"unfinished":  {run: result.Run{Unfinished: true}, want: "has not come to the end"},
		"stopped":     {stopped: errors.New("disk full"), want: "disk full"},
	} {
		suite := writeJUnit(t, result.File{Run: tt.run, Results: []result.Row{row}}, tt.stopped).Suites[0]
		last := suite.Cases[len(suite.Cases)-1]
		if suite.Tests != 2 || suite.Errors != 1 || last.Error == nil || !strings.Contains(last.Error.Message, tt.want) {
			t.Errorf("%s: %+v", name, suite)
		}
	}
}
