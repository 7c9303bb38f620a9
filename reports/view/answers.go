package view

import (
	"cmp"
	"slices"
	"strings"

	"locklab/reports/table"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// answers computes the four lines. Of a single lock the grid says the first three.
func (v *View) answers() {
	workload := v.workloads()[0]
	locks := v.names(func(k result.Key) string { return k.Lock })
	safe := v.always(locks, func(c *cell) bool { return c.mark != table.Violation })
	live := v.always(locks, func(c *cell) bool { return !c.outage })
	both := v.always(safe, func(c *cell) bool { return !c.outage })
	if len(locks) > 1 {
		never := v.say.Text("Never two at once")
		if workload == history.FencedWrite {
			never = v.say.Text("No stale write")
		}
		v.answer(never, v.shortList(safe))
		v.answer(v.say.Text("No outage of 1 s"), v.shortList(live))
		switch {
		case len(both) > 0 && len(both) == len(safe) && len(both) == len(live): // the lines above say it
		case v.minority():
			v.answer(v.say.Text("Both"), v.say.Text("no lock here: of two zones only one can have the majority"))
		default:
			v.answer(v.say.Text("Both"), v.shortList(both))
		}
	}
	if workload == history.Matchmaking {
		v.answer(v.say.Text("p99 of a request"), v.p99(workload, locks, "request_p99_ms"))
	} else {
		v.answer(v.say.Text("p99 to acquire"), v.p99(workload, locks, "acquire_p99_ms"))
	}
}

func (v *View) answer(label, text string) {
	if text != "" {
		v.Answers = append(v.Answers, Line{label, text})
	}
}

// always are the locks of which every cell is decided and fulfils it.
func (v *View) always(locks []string, is func(*cell) bool) (all []string) {
	for _, lock := range locks {
		fails := func(c cell) bool { return c.Lock == lock && (c.mark == table.Unknown || !is(&c)) }
		if !slices.ContainsFunc(v.cells, fails) {
			all = append(all, lock)
		}
	}
	return all
}

// minority says that of two zones only one can have the majority, and that no lock here that is safe
// goes on without it.
func (v *View) minority() bool {
	locks := v.names(func(k result.Key) string { return k.Lock })
	safe := v.always(locks, func(c *cell) bool { return c.mark != table.Violation })
	stopped := func(c cell) bool {
		return c.outage && slices.ContainsFunc(c.Rows, func(r *result.Row) bool { return len(r.Faults) > 0 })
	}
	for _, lock := range safe {
		if !slices.ContainsFunc(v.cells, func(c cell) bool { return c.Lock == lock && stopped(c) }) {
			return false
		}
	}
	return len(v.f.Run.Zones) == 2 && len(safe) > 0
}

// shortList is a list of locks for a line.
func (v *View) shortList(locks []string) string {
	if len(locks) == 0 {
		return v.say.Text("no lock here")
	}
	return strings.Join(locks, ", ")
}

// p99 is that of each lock where nothing is broken, the lowest first. Of the locks that are unsafe
// under everything one is enough, as the floor.
func (v *View) p99(workload string, locks []string, figure string) string {
	type value struct {
		lock string
		ms   float64
	}
	var values []value
	calm, floor := v.calm(workload), false
	for _, lock := range locks {
		ms, known := v.median(result.Key{Lock: lock, Scenario: calm, Workload: workload}, figure)
		control := !slices.ContainsFunc(v.cells, func(c cell) bool { return c.Lock == lock && c.mark != table.Violation })
		if !known || control && floor {
			continue
		}
		floor = floor || control
		values = append(values, value{lock, ms})
	}
	slices.SortStableFunc(values, func(a, b value) int { return cmp.Compare(a.ms, b.ms) })
	var told []string
	last := ""
	for _, x := range values {
		number, unit := table.Split(x.ms)
		text := v.short(x.lock) + " " + number
		if unit != last {
			text += " " + unit
		}
		last = unit
		told = append(told, text)
	}
	return strings.Join(told, ", ")
}

// short is a lock's name without its family, where that leaves no doubt: quorum.
func (v *View) short(lock string) string {
	_, variant, has := strings.Cut(lock, ":")
	if !has || strings.ContainsAny(variant, "=,") {
		return lock
	}
	for _, other := range v.names(func(k result.Key) string { return k.Lock }) {
		if other != lock && (other == variant || strings.HasSuffix(other, ":"+variant)) {
			return lock
		}
	}
	return variant
}
