package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"locklab/locks"
	"locklab/workloads/history"
)

const nsPerMS = 1e6

// Read reads the histories of all repeats of one lock under one scenario. A
// history that cannot be read is left out; what was wrong with each is in the
// error, beside the series of the others. A cancelled ctx ends with its error. The
// violations, in milliseconds since the measured part began, are the judge's.
func Read(ctx context.Context, paths []string, violationsMS []float64) (Series, error) {
	var (
		s       Series
		matches []op
		holds   []op
		grants  []float64
		failed  []error
	)
	for _, path := range paths {
		one, err := readOne(ctx, path)
		if ctx.Err() != nil {
			return Series{}, ctx.Err()
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		s.Repeats++
		s.Torn = s.Torn || one.torn
		s.DurationMS = max(s.DurationMS, one.durationMS())
		matches = one.shift(matches, one.matches)
		holds = one.shift(holds, one.acquires)
		if len(s.Faults) == 0 { // the repeats follow the same timeline; the first that has it speaks
			s.Faults = one.windows()
		}
	}
	for _, h := range holds {
		if h.ok {
			grants = append(grants, h.endMS)
		}
	}
	s.Subject = "matches"
	ops := matches
	if len(ops) == 0 {
		s.Subject, ops = "acquisitions", holds
	}
	s.BinMS, s.Bins = bins(s.DurationMS, s.Repeats, ops, grants, violationsMS)
	var latencies []float64
	for _, o := range ops {
		if o.ok && o.dueMS >= 0 && o.dueMS < s.DurationMS {
			latencies = append(latencies, o.endMS-o.dueMS)
		}
	}
	s.Quantiles = quantiles(latencies)
	return s, errors.Join(failed...)
}

// rawOp is an operation on the clock of the run.
type rawOp struct {
	fromNS, atNS int64
	ok           bool
}

// record is what is kept of one history.
type record struct {
	run               history.Run
	measureNS, endNS  int64 // phases; 0 if the history has none
	firstNS, lastNS   int64
	matches, acquires []rawOp
	faults            []history.Event
	torn              bool
}

func readOne(ctx context.Context, path string) (rec *record, err error) {
	r, err := history.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	rec = &record{firstNS: math.MaxInt64}
	for {
		var e history.Event
		err := r.Next(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		rec.add(e)
	}
	if rec.firstNS == math.MaxInt64 {
		return nil, fmt.Errorf("history %s: no events", path)
	}
	rec.torn = r.Torn()
	return rec, nil
}

func (rec *record) add(e history.Event) {
	if e.Kind == history.KindRun {
		if e.Run != nil {
			rec.run = *e.Run
		}
		return // written before anything is measured
	}
	rec.firstNS, rec.lastNS = min(rec.firstNS, e.AtNS), max(rec.lastNS, e.AtNS)
	switch e.Kind {
	case history.KindPhase:
		switch e.State {
		case "measure":
			rec.measureNS = e.AtNS
		case "drain", "end":
			if rec.endNS == 0 {
				rec.endNS = e.AtNS
			}
		}
	case history.KindMatch:
		rec.matches = append(rec.matches, rawOp{e.FromNS, e.AtNS, e.Outcome == string(locks.OutcomeOK)})
	case history.KindAcquire:
		rec.acquires = append(rec.acquires, rawOp{e.FromNS, e.AtNS, e.Outcome == string(locks.OutcomeOK)})
	case history.KindFault:
		rec.faults = append(rec.faults, e)
	case history.KindRun, history.KindRoom, history.KindNode, history.KindReleasing, history.KindRelease, history.KindLost, history.KindGrant, history.KindOrder, history.KindClock, history.KindMachine, history.KindGivenUp:
	}
}

// zeroNS is the beginning of the measured part.
func (rec *record) zeroNS() int64 {
	if rec.measureNS != 0 {
		return rec.measureNS
	}
	return rec.firstNS + rec.run.WarmupNS
}

func (rec *record) ms(atNS int64) float64 { return float64(atNS-rec.zeroNS()) / nsPerMS }

// durationMS is how long was really measured: an interrupted run ends early, and
// empty time after its end must not look like a stop.
func (rec *record) durationMS() float64 {
	end := rec.lastNS
	if rec.endNS != 0 {
		end = rec.endNS
	}
	measured := max(rec.ms(end), 0)
	if planned := float64(rec.run.DurationNS) / nsPerMS; planned > 0 {
		return min(measured, planned)
	}
	return measured
}

func (rec *record) shift(to []op, ops []rawOp) []op {
	to = slices.Grow(to, len(ops))
	for _, o := range ops {
		to = append(to, op{dueMS: rec.ms(o.fromNS), endMS: rec.ms(o.atNS), ok: o.ok})
	}
	return to
}

// windows joins the events of each fault: from its proven beginning to its proven
// end, or else from and to the moments when they were asked for.
func (rec *record) windows() []Window {
	type times struct {
		Window
		asked, began, healAsked, ended int64
		unproven                       bool
	}
	var order []*times
	byID := map[string]*times{}
	for _, e := range rec.faults {
		t := byID[e.ID]
		if t == nil {
			t = &times{Window: Window{Kind: e.Fault, Target: e.Target}}
			byID[e.ID] = t
			order = append(order, t)
		}
		switch e.State {
		case "asked":
			t.asked = e.AtNS
		case "began":
			if t.began == 0 || e.AtNS < t.began {
				t.began = e.AtNS
			}
		case "heal-asked":
			t.healAsked = e.AtNS
		case "ended":
			t.ended = max(t.ended, e.AtNS)
		case "unproven":
			t.unproven = true
		}
	}
	var out []Window
	for _, t := range order {
		from, to := first(t.began, t.asked), first(t.ended, t.healAsked)
		if from == 0 {
			continue
		}
		t.FromMS, t.ToMS = rec.ms(from), rec.durationMS()
		if to != 0 {
			t.ToMS = rec.ms(to)
		}
		t.Proven = t.began != 0 && !t.unproven
		out = append(out, t.Window)
	}
	slices.SortStableFunc(out, func(a, b Window) int { return cmp.Compare(a.FromMS, b.FromMS) })
	return out
}

func first(a, b int64) int64 {
	if a != 0 {
		return a
	}
	return b
}
