package plots_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/series"
)

// parse fails unless the drawing is well-formed; it returns what it says.
func parse(t *testing.T, svg []byte) (words string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return words
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		if text, ok := token.(xml.CharData); ok {
			words += string(text) + "\n"
		}
	}
}

func wave(bins int) series.Series {
	s := series.Series{Repeats: 1, DurationMS: float64(bins) * 100, BinMS: 100}
	for i := range bins {
		b := series.Bin{AtMS: float64(i) * 100, OKPerS: 100 + 20*math.Sin(float64(i)), P50MS: 2, P99MS: 9}
		if i > bins/3 && i < bins/2 {
			b = series.Bin{AtMS: b.AtMS, OtherPerS: 40, P50MS: math.NaN(), P99MS: math.NaN(), Violations: 1}
		}
		s.Bins = append(s.Bins, b)
	}
	s.Faults = []series.Window{{Kind: "latency", FromMS: -50, ToMS: 300}, {Kind: "kill", FromMS: 200, ToMS: 1e9}}
	return s
}

func all(lines []plots.Line) map[string][]byte {
	scale := plots.ScaleOf(lines)
	var points []plots.Point
	for i, l := range lines {
		points = append(points, plots.Point{Lock: l.Name, Scenario: "zone <a>", Ink: l.Ink, Mark: i, X: float64(10 * i), Y: float64(i), Href: "#a", Unsure: i > 0})
	}
	return map[string][]byte{
		"rate":     plots.Rate(lang.English(), "zone <a> & \"b\"", lines, scale),
		"latency":  plots.Latency(lang.English(), "zone <a> & \"b\"", lines, scale),
		"timeline": timeline(scene(lines)),
		"tradeoff": plots.Tradeoff(lang.English(), points),
	}
}

func timeline(s series.Scene) []byte {
	drawn, _ := plots.Timeline(lang.English(), "two <b>", s)
	return drawn
}

func scene(lines []plots.Line) (s series.Scene) {
	for i, l := range lines {
		s.Steps = append(s.Steps, series.Step{Who: l.Name, What: "hold", Begins: sentence.Name("<raft>"), FromMS: float64(-i), ToMS: math.Inf(1)})
	}
	return s
}

func TestDrawingsAreWellFormedAndThemed(t *testing.T) {
	lines := []plots.Line{
		{Name: "none", Ink: plots.LockInk(0), Offered: []plots.Offered{{PerS: 100}}, Series: wave(60)},
		{Name: `<b>&"redlock:order=sequential,retry=fixed"`, Ink: plots.LockInk(1), Series: wave(60)},
	}
	fixed := regexp.MustCompile(`#[0-9a-fA-F]{3,6}|rgb\(|font-family|style=`)
	for name, svg := range all(lines) {
		words := parse(t, svg)
		if !strings.Contains(words, "none") {
			t.Errorf("%s does not name its locks:\n%s", name, words)
		}
		if found := fixed.FindString(string(svg)); found != "" {
			t.Errorf("%s has %q of its own, which the page's style cannot change", name, found)
		}
		if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
			t.Errorf("%s has coordinates that are no numbers", name)
		}
		if strings.Contains(string(svg), "<b>") || strings.Contains(string(svg), "<raft>") {
			t.Errorf("%s does not escape names", name)
		}
	}
}

func TestDrawingsTakeAnything(t *testing.T) {
	odd := series.Series{DurationMS: 0.01, BinMS: 100, Bins: []series.Bin{{P50MS: math.NaN(), P99MS: math.NaN()}}}
	huge := wave(3)
	huge.Bins[0].OKPerS, huge.Bins[0].P99MS = 1e12, 1e12
	tiny := wave(3)
	tiny.Bins[0].P50MS = 1e-12
	for name, s := range map[string]series.Series{"empty": {}, "odd": odd, "huge": huge, "tiny": tiny} {
		t.Run(name, func(t *testing.T) {
			for figure, svg := range all([]plots.Line{{Name: "a", Series: s}}) {
				parse(t, svg)
				if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
					t.Errorf("%s has coordinates that are no numbers", figure)
				}
			}
		})
	}
	for _, svg := range all(nil) {
		parse(t, svg)
	}
}

func TestDrawingsStaySmall(t *testing.T) {
	var lines []plots.Line
	for i := range 12 {
		lines = append(lines, plots.Line{Name: fmt.Sprint("lock-", i), Ink: plots.LockInk(i), Offered: []plots.Offered{{PerS: 100}}, Series: wave(300)})
	}
	for name, svg := range all(lines) {
		if len(svg) > 160<<10 {
			t.Errorf("%s of 12 locks has %d bytes", name, len(svg))
		}
	}
}

// TestLoneBinIsSeen: what was served between two times in which nothing was has a line, however short.
func TestLoneBinIsSeen(t *testing.T) {
	nan := math.NaN()
	lone := series.Series{Repeats: 1, DurationMS: 300, BinMS: 100, Bins: []series.Bin{
		{OtherPerS: 10, P50MS: nan, P99MS: nan},
		{AtMS: 100, OKPerS: 10, P50MS: 5, P99MS: 50},
		{AtMS: 200, P50MS: nan, P99MS: nan},
	}}
	lines := []plots.Line{{Name: "l", Ink: "k0", Series: lone}}
	for name, drawn := range map[string][]byte{
		"latency": plots.Latency(lang.English(), "x", lines, plots.ScaleOf(lines)),
		"rate":    plots.Rate(lang.English(), "x", lines, plots.ScaleOf(lines)),
	} {
		pieces := regexp.MustCompile(`class="st k0"[^>]* d="M[\d.]+ [\d.]+l([\d.]+)`).FindAllSubmatch(drawn, -1)
		if len(pieces) == 0 {
			t.Errorf("%s draws nothing:\n%s", name, drawn)
		}
		for _, p := range pieces {
			if long, err := strconv.ParseFloat(string(p[1]), 64); err != nil || long < 3 {
				t.Errorf("%s draws a bin by itself %q long", name, p[1])
			}
		}
	}
}

// TestTimelineWordsStandFree: the word behind a bar is not below the next one.
func TestTimelineWordsStandFree(t *testing.T) {
	drawn := string(timeline(series.Scene{Steps: []series.Step{
		{Who: "m", What: "wait", Begins: sentence.Name("waits"), FromMS: -90, ToMS: -10},
		{Who: "m", What: "hold", Begins: sentence.Name("holds"), FromMS: -10, ToMS: 40},
	}}))
	var heights []string
	for _, word := range regexp.MustCompile(`<text x="[^"]*" y="([^"]*)" class="small">`).FindAllStringSubmatch(drawn, -1) {
		heights = append(heights, word[1])
	}
	if len(heights) != 2 || heights[0] == heights[1] {
		t.Errorf("wait and hold, one after the other, have their words at %v", heights)
	}
}

// TestTimelineSaysWhatGoesOn beyond its edge, and has room for how long two believe at once.
func TestTimelineSaysWhatGoesOn(t *testing.T) {
	s := series.Scene{Steps: []series.Step{
		{Who: "master-a", What: "hold", Begins: sentence.Name("older"), FromMS: -400, ToMS: 210},
		{Who: "master-c", What: "hold", Begins: sentence.Name("newer"), FromMS: 0, ToMS: 900},
	}}
	words := parse(t, timeline(s))
	if strings.Count(words, "\nhold\n") != 1 || strings.Count(words, "\nhold →\n") != 1 || !strings.Contains(words, "older, -400.0 … +210.0 ms") {
		t.Errorf("it says\n%s", words)
	}
}

// TestTimelineShadesFaults only while they were in force, and says whether there is any.
func TestTimelineShadesFaults(t *testing.T) {
	hold := series.Step{Who: "m", What: "hold", Begins: sentence.Name("holds"), FromMS: -90, ToMS: 40}
	fault := func(from, to float64) series.Step {
		return series.Step{Who: "faults", What: "fault", Begins: sentence.Name("cut"), FromMS: from, ToMS: to}
	}
	for name, tt := range map[string]struct {
		steps []series.Step
		want  bool
	}{
		"no fault":            {[]series.Step{hold}, false},
		"in force":            {[]series.Step{fault(-500, math.Inf(1)), hold}, true},
		"ended in the scene":  {[]series.Step{hold, fault(-80, -10)}, true},
		"ended long before":   {[]series.Step{fault(-500, -99), hold}, false},
		"begins long after":   {[]series.Step{hold, fault(45, 90)}, false},
		"of a failed request": {[]series.Step{{Who: "players", What: "match", Begins: sentence.Name("fails"), FromMS: 0, ToMS: 9}}, false},
	} {
		drawn, shaded := plots.Timeline(lang.English(), name, series.Scene{Steps: tt.steps})
		if shaded != tt.want || strings.Contains(string(drawn), "k-fault") != tt.want {
			t.Errorf("%s: shaded is %v and drawn %v, want %v", name, shaded, strings.Contains(string(drawn), "k-fault"), tt.want)
		}
	}
}
