package view

import (
	"cmp"
	"slices"
	"strings"

	"locklab/reports/table"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// answers computes the four lines. With a single lock the grid already says the first three.
func (v *View) answers() {
	workload := v.workloads()[0]
	is, _ := history.WorkloadOf(workload) // nothing of one that this program does not know
	add := func(label, text string) {
		if text != "" {
			v.Answers = append(v.Answers, Line{label, text})
		}
	}
	list := func(locks []string, open bool) string {
		if len(locks) == 0 && !open {
			return v.say.Text("no lock here")
		}
		return strings.Join(locks, ", ")
	}
	if len(v.names(nil, "", (*cell).lock)) > 1 {
		never := v.say.Text("Never two at once")
		if is.Writes {
			never = v.say.Text("No stale write")
		}
		safe, openSafe := v.always(notViolated)
		alive, openAlive := v.always(func(c *cell) bool { return !c.outage })
		both, open := v.always(func(c *cell) bool { return notViolated(c) && !c.outage })
		add(never, list(safe, openSafe))
		add(v.say.Text("No outage of 1 s"), list(alive, openAlive))
		switch {
		case len(both) > 0 && len(both) == len(safe) && len(both) == len(alive): // the lines above say it
		case !open && v.minority():
			add(v.say.Text("Both"), v.say.Text("no lock here: of two zones only one can have the majority"))
		default:
			add(v.say.Text("Both"), list(both, open))
		}
	}
	if is.Players {
		add(v.say.Text("p99 of a request"), v.p99(workload, "request_p99_ms"))
	} else {
		add(v.say.Text("p99 to acquire"), v.p99(workload, "acquire_p99_ms"))
	}
}

func notViolated(c *cell) bool { return c.mark != table.Violation }

// always returns the locks whose cells are all decided and fulfil is. open: an undecided cell of another lock
// leaves the answer open.
func (v *View) always(is func(*cell) bool) (locks []string, open bool) {
	for _, lock := range v.names(nil, "", (*cell).lock) {
		of := func(c cell) bool { return c.Lock == lock }
		unknown := func(c cell) bool { return of(c) && c.mark == table.Unknown }
		switch {
		case slices.ContainsFunc(v.cells, func(c cell) bool { return of(c) && c.mark != table.Unknown && !is(&c) }):
		case slices.ContainsFunc(v.cells, unknown):
			open = true
		default:
			locks = append(locks, lock)
		}
	}
	return locks, open
}

// minority says that of two zones only one can have the majority, and that every safe lock here needs it and stops
// without it.
func (v *View) minority() bool {
	safe, _ := v.always(notViolated)
	goesOn := func(lock string) bool {
		return !slices.Contains(v.f.Run.Majority, lock) || !slices.ContainsFunc(v.cells, func(c cell) bool {
			return c.Lock == lock && c.outage && slices.ContainsFunc(c.Rows,
				func(r *result.Row) bool { return len(r.Faults) > 0 })
		})
	}
	return len(v.f.Run.Zones) == 2 && len(safe) > 0 && !slices.ContainsFunc(safe, goesOn)
}

// p99 lists the p99 of each lock where nothing is broken, lowest first. Of the locks that are always unsafe it
// lists one, as the floor.
func (v *View) p99(workload, figure string) string {
	type value struct {
		lock string
		ms   float64
	}
	var values []value
	calm, floor := v.calm(workload), false
	for _, lock := range v.locks(workload) {
		ms, known := v.decided(result.Key{Lock: lock, Scenario: calm, Workload: workload}, figure)
		control := !slices.ContainsFunc(v.cells, func(c cell) bool { return c.Lock == lock && notViolated(&c) })
		if known && (!control || !floor) {
			floor = floor || control
			values = append(values, value{lock, ms})
		}
	}
	slices.SortStableFunc(values, func(a, b value) int { return cmp.Compare(a.ms, b.ms) })
	var told []string
	last := ""
	for _, x := range values {
		number, unit := table.Split(x.ms)
		if unit != last {
			number += " " + unit
		}
		last = unit
		told = append(told, v.short(x.lock)+" "+number)
	}
	return strings.Join(told, ", ")
}

// short is a lock's name without its family, where that is unique: quorum.
func (v *View) short(lock string) string {
	_, variant, has := strings.Cut(lock, ":")
	doubt := func(other string) bool {
		return other != lock && (other == variant || strings.HasSuffix(other, ":"+variant))
	}
	if !has || strings.ContainsAny(variant, "=,") || slices.ContainsFunc(v.names(nil, "", (*cell).lock), doubt) {
		return lock
	}
	return variant
}
