// Package measure computes the figures of a run that are neither of safety nor of liveness:
// latencies, rates, contention, capacity and cost. It is a pure function of the record. A figure
// that was not measured has no entry.
package measure

import (
	"cmp"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Measures are those of one run.
type Measures struct {
	Figures map[string]float64
	Errors  map[string]int64 // of requests, by kind
	Peers   []result.Peer    // of raw workloads, by name
	Nodes   []result.Node    // by name
	Curve   []result.Point   // by rate
}

// Of measures a run.
func Of(r *record.Run) Measures {
	m := Measures{Figures: map[string]float64{}, Errors: map[string]int64{}}
	m.requests(r)
	m.acquires(r)
	m.messages(r)
	if r.Head.Workload != history.Matchmaking {
		m.handoffs(r)
		m.peers(r)
	}
	m.fairness(r)
	m.capacity(r)
	m.throughput(r)
	m.usage(r)
	return m
}

// set adds a ratio if it has a denominator.
func (m *Measures) set(name string, over, under float64) {
	if under > 0 {
		m.Figures[name] = over / under
	}
}

// requests measures the requests of players; in raw workloads, the acquisitions.
func (m *Measures) requests(r *record.Run) {
	var took, late dist
	due, ok := int64(0), 0
	players := r.Head.Workload == history.Matchmaking
	for o := range r.Due(players) {
		due += int64(o.Count)
		if o.Sent > 0 && o.Outcome != record.Unsent {
			late.add(o.Sent - o.From)
		}
		if o.Outcome == record.OK {
			ok++
			took.add(o.At - o.From)
			continue
		}
		m.Errors[cmp.Or(r.Text(o.ErrorKind), "other")] += int64(o.Count)
	}
	if players {
		m.rooms(r)
	}
	took.into(m, "request_p50_ms", "request_p99_ms", "request_max_ms")
	late.into(m, "", "late_p99_ms", "")
	m.Figures["requests"] = float64(due)
	seconds := time.Duration(r.Drain - r.Measure).Seconds()
	m.set("achieved_per_s", float64(ok), seconds)
	if n := r.Offered(); n > 0 {
		m.set("offered_per_s", n, seconds)
	}
}

func (m *Measures) rooms(r *record.Run) {
	n := 0
	for i := range r.Rooms {
		if e := &r.Rooms[i]; e.State == record.RoomStarting && e.At >= r.Measure && e.At < r.Drain {
			n++
		}
	}
	m.Figures["rooms"] = float64(n)
}

// acquires measures the acquisitions that were due in the measured part, and their holds.
func (m *Measures) acquires(r *record.Run) {
	var took, held dist
	for i := range r.Acquires {
		a := &r.Acquires[i]
		if a.From < r.Measure || a.From >= r.Drain || a.Outcome != record.OK {
			continue
		}
		took.add(a.At - asked(a))
		if a.Granted() && a.Until != record.Never {
			held.add(a.Until - a.At)
		}
	}
	took.into(m, "acquire_p50_ms", "acquire_p99_ms", "acquire_max_ms")
	held.into(m, "hold_p50_ms", "", "")
	if p50, known := m.Figures["acquire_p50_ms"]; known {
		m.set("acquire_rtts", p50, ms(r.Head.RTTNS))
	}
}

// asked is when the client asked for the lock: later than it was due if the client was busy.
func asked(a *record.Acquire) int64 { return max(a.From, a.Sent) }

func ms(ns int64) float64 { return float64(ns) / float64(time.Millisecond) }

// dist is a distribution of times with three significant digits, up to an hour.
type dist struct{ h *hdrhistogram.Histogram }

func (d *dist) add(ns int64) {
	if d.h == nil {
		d.h = hdrhistogram.New(1, int64(time.Hour), 3)
	}
	_ = d.h.RecordValue(min(max(ns, 0), int64(time.Hour))) // within its bounds
}

// into adds the named quantiles to the figures; none of no values.
func (d *dist) into(m *Measures, p50, p99, longest string) {
	for i, name := range []string{p50, p99, longest} {
		if d.h != nil && name != "" {
			m.Figures[name] = ms(d.quantile([]float64{0.5, 0.99, 1}[i]))
		}
	}
}

// quantile is the time that a share q of all did not exceed. The histogram's own takes the
// nearest rank, above which there may be more than one in 100. It is 0 of no values.
func (d *dist) quantile(q float64) int64 {
	if d.h == nil {
		return 0
	}
	n := float64(d.h.TotalCount())
	return d.h.ValueAtQuantile(100 * math.Ceil(q*n-1e-6) / n)
}
