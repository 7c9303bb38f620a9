package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/verify/sim"
)

// compared is a figure of a sweep of which less is better.
type compared struct {
	name string
	of   func(sim.Point) (value float64, has bool)
	less func(a, b float64) bool
}

// lessInAll says that the figure is less in each round of p than in any of o: both differ by chance from
// round to round.
func (f *compared) lessInAll(p, o sim.Point) bool {
	for _, mine := range rounds(p) {
		for _, others := range rounds(o) {
			a, _ := f.of(mine)
			b, _ := f.of(others)
			if !f.less(a, b) {
				return false
			}
		}
	}
	return true
}

// rounds of a point that is computed are that point.
func rounds(p sim.Point) []sim.Point {
	if len(p.Rounds) == 0 {
		return []sim.Point{p}
	}
	return p.Rounds
}

// comparedFigures are those of the tables.
func comparedFigures() []compared {
	// A time is clearly less if it is below this part of the other. Messages are counted, not timed: one
	// fewer of those that the table shows is fewer.
	const clearly = 0.95
	shorter := func(a, b float64) bool { return a < clearly*b }
	fewer := func(a, b float64) bool { return math.Round(10*a) < math.Round(10*b) }
	always := func(of func(sim.Point) float64) func(sim.Point) (float64, bool) {
		return func(p sim.Point) (float64, bool) { return of(p), true }
	}
	queued := func(of func(sim.Point) float64) func(sim.Point) (float64, bool) { // the computed service has no queue
		return func(p sim.Point) (float64, bool) { return of(p), p.Contended.Max > 0 }
	}
	return []compared{
		{"messages where nobody else wants it", always(func(p sim.Point) float64 { return p.Messages }), fewer},
		{"messages where up to ten want it", always(func(p sim.Point) float64 { return p.MessagesContended }), fewer},
		{"acquire p50 where nobody else wants it", always(func(p sim.Point) float64 { return float64(p.Acquire.P50) }), shorter},
		{"acquire p99 where nobody else wants it", always(func(p sim.Point) float64 { return float64(p.Acquire.P99) }), shorter},
		{"acquire p50 where up to ten want it", queued(func(p sim.Point) float64 { return float64(p.Contended.P50) }), shorter},
		{"acquire p99 where up to ten want it", queued(func(p sim.Point) float64 { return float64(p.Contended.P99) }), shorter},
		{"mean handoff", always(func(p sim.Point) float64 { return float64(p.Handoff.Mean) }), shorter},
		{"handoff p99", always(func(p sim.Point) float64 { return float64(p.Handoff.P99) }), shorter},
	}
}

// crossings say of each of the others in what it needs less than the lock and in what more, and with
// how many peers.
func crossings(points []sim.Point, lock string, zones int) (texts []string) {
	own, others, theirs := map[int]sim.Point{}, []string(nil), map[string][]sim.Point{}
	for _, p := range points {
		switch {
		case p.Zones != zones:
		case p.Lock == lock:
			own[p.Peers] = p
		default:
			if len(theirs[p.Lock]) == 0 {
				others = append(others, p.Lock)
			}
			theirs[p.Lock] = append(theirs[p.Lock], p)
		}
	}
	for _, other := range others {
		var less, more places
		for _, f := range comparedFigures() {
			var sizes, below, above []int
			for _, p := range theirs[other] {
				_, has := f.of(p)
				_, had := f.of(own[p.Peers])
				if !has || !had {
					continue
				}
				sizes = append(sizes, p.Peers)
				switch {
				case f.lessInAll(p, own[p.Peers]):
					below = append(below, p.Peers)
				case f.lessInAll(own[p.Peers], p):
					above = append(above, p.Peers)
				}
			}
			less.add(f.name, below, sizes)
			more.add(f.name, above, sizes)
		}
		texts = append(texts,
			fmt.Sprintf("%s needs less than %s %s", other, lock, less.text()),
			fmt.Sprintf("%s needs more than %s %s", other, lock, more.text()))
	}
	return texts
}

// places are the figures of which something is so, by the numbers of peers with which it is.
type places []place

type place struct {
	where string
	names []string
}

func (p *places) add(name string, so, all []int) {
	if len(so) == 0 {
		return
	}
	where := withPeers(so, all)
	i := slices.IndexFunc(*p, func(at place) bool { return at.where == where })
	if i < 0 {
		i, *p = len(*p), append(*p, place{where: where})
	}
	(*p)[i].names = append((*p)[i].names, name)
}

func (p places) text() string {
	if len(p) == 0 {
		return "nowhere"
	}
	parts := make([]string, len(p))
	for i, at := range p {
		parts[i] = at.where + ": " + strings.Join(at.names, ", ")
	}
	return strings.Join(parts, "; ")
}

// withPeers says with how many peers something is so, of all numbers of them that were measured.
func withPeers(so, all []int) string {
	from := so[0]
	rest := all[slices.Index(all, from):]
	if !slices.Equal(so, rest) {
		words := make([]string, len(so))
		for i, n := range so {
			words[i] = strconv.Itoa(n)
		}
		return fmt.Sprintf("with %s peers", strings.Join(words, ", "))
	}
	if before := len(all) - len(rest) - 1; before >= 0 && all[before] < from-1 { // nobody looked between
		return fmt.Sprintf("from %d peers on (not shown with %d)", from, all[before])
	}
	return fmt.Sprintf("from %d peers on", from)
}

// clearlyText says what is told apart.
func clearlyText() string {
	return fmt.Sprintf("Each point is measured in %d rounds, which differ by chance; the tables have all together. Told apart is what differs in each round of the one from every round of the other: times where one is below 95 %% of the other, messages where they are different numbers. The computed service is a lower bound, without queues, disks or jitter; it has no times where up to ten want it, and is compared in none of them.", sim.Rounds)
}
