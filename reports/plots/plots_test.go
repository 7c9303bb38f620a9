package plots_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

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
		"tradeoff": plots.Tradeoff(lang.English(), points),
	}
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
		if strings.Contains(string(svg), "<b>") {
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
