package sweep

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"time"
)

// Point is what was measured of one lock with so many peers and zones. A figure that
// does not exist is 0.
type Point struct {
	Lock              string
	Peers, Zones      int
	Messages          float64 // per acquisition while nobody else wants the lock
	MessagesContended float64
	Acquire           Spread
	Contended         Spread
	Handoff           Spread
}

// Spread is some figures of a distribution.
type Spread struct{ Mean, P50, P99, Max time.Duration }

// Figure is one of the plots.
type Figure struct {
	Title string
	Unit  string
	of    func(p Point) float64
}

// Figures are all plots, in the order in which one would read them.
func Figures() []Figure {
	inMS := func(d time.Duration) float64 { return float64(d) / 1e6 }
	return []Figure{
		{"messages per acquisition and release, nobody else wants the lock", "messages", func(p Point) float64 { return p.Messages }},
		{"messages per acquisition and release, ten (or all, if fewer) want the lock", "messages", func(p Point) float64 { return p.MessagesContended }},
		{"time to acquire, median, nobody else wants the lock", "ms", func(p Point) float64 { return inMS(p.Acquire.P50) }},
		{"time to acquire, median, ten (or all, if fewer) want the lock all the time", "ms", func(p Point) float64 { return inMS(p.Contended.P50) }},
		{"from a release to the next holder, mean", "ms", func(p Point) float64 { return inMS(p.Handoff.Mean) }},
	}
}

// CSV writes one line for each point, units in the names.
func CSV(points []Point) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	header := []string{"lock", "peers", "zones", "messages", "messages_contended"}
	for _, name := range []string{"acquire", "contended", "handoff"} {
		header = append(header, name+"_mean_ms", name+"_p50_ms", name+"_p99_ms", name+"_max_ms")
	}
	rows := [][]string{header}
	for _, p := range points {
		row := []string{p.Lock, strconv.Itoa(p.Peers), strconv.Itoa(p.Zones), number(p.Messages), number(p.MessagesContended)}
		for _, s := range []Spread{p.Acquire, p.Contended, p.Handoff} {
			for _, d := range []time.Duration{s.Mean, s.P50, s.P99, s.Max} {
				row = append(row, number(float64(d)/1e6))
			}
		}
		rows = append(rows, row)
	}
	err := w.WriteAll(rows)
	return out.Bytes(), err
}

// number is empty for a figure that does not exist.
func number(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// order is the locks and the numbers of zones as they come.
func order(points []Point) (locks []string, zones []int) {
	for _, p := range points {
		if !slices.Contains(locks, p.Lock) {
			locks = append(locks, p.Lock)
		}
		if !slices.Contains(zones, p.Zones) {
			zones = append(zones, p.Zones)
		}
	}
	return locks, zones
}
