package why

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"locklab/reports/series"
	"locklab/reports/table"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// outage tells of a time without the lock.
func (t *telling) outage(o *result.Outage) {
	say := t.say
	from, to := t.ms(o.FromMS), t.ms(o.ToMS)
	t.zero = from
	lasted, asks, ours := table.Duration(o.MS()), t.run.Canaries, func(*record.Acquire) bool { return true }
	switch zone, ofZone := strings.CutPrefix(o.Of, "zone "); {
	case o.Of == "":
		t.title(say.Sprintf("outage of the lock: %s from %s on", lasted, t.since(from)),
			say.Text("no canary got it; each master has one, with a resource of its own"))
	case ofZone:
		t.title(say.Sprintf("outage of zone %s: %s from %s on", zone, lasted, t.since(from)),
			say.Text("no canary of its masters got the lock"))
		ours = func(a *record.Acquire) bool { n := t.run.Node(a.Node); return n != nil && n.Zone == zone }
	default:
		t.title(say.Sprintf("outage of %s: %s from %s on", o.Of, lasted, t.since(from)),
			say.Text("it was wanted, and neither held nor granted"))
		asks = t.run.Acquires
		ours = func(a *record.Acquire) bool { return t.run.Text(a.Resource) == o.Of }
	}
	const slack = 1000 // ns: milliseconds of the row are rounded
	var before, after *record.Acquire
	refused := map[record.Name]*refusals{}
	for i := range asks {
		a := &asks[i]
		switch {
		case !ours(a):
		case a.Outcome == record.OK && a.At <= from+slack && (before == nil || a.At > before.At):
			before = a
		case a.Outcome == record.OK && a.At >= to-slack && (after == nil || a.At < after.At):
			after = a
		case a.Outcome != record.OK && a.Outcome != record.CalledOff && a.At > from && a.At <= to+slack:
			if refused[a.Node] == nil {
				refused[a.Node] = &refusals{a.At, map[string]int{}}
			}
			r := refused[a.Node]
			r.first = min(r.first, a.At)
			r.kinds[cmp.Or(t.run.Text(a.ErrorKind), "unknown")]++
		}
	}
	if before != nil {
		t.held(before, true, "")
	}
	for _, node := range slices.Sorted(maps.Keys(refused)) {
		t.add(refused[node].first, true, t.run.Text(node), say.Sprintf("does not get it: %s", refused[node].text()))
	}
	if after != nil && !o.Open {
		t.add(after.At, true, t.run.Text(after.Node), say.Sprintf("gets the lock after %s", table.Duration(float64(after.At-after.From)/1e6)))
	} else {
		t.add(to, true, "", say.Text("the measured part ends without a grant"))
	}
	t.became(from-int64(1e9), to, func(_, state string) bool { // what no fault asked for
		return slices.Contains([]string{history.NodeExited, history.NodeSuspended, history.NodeContinued, history.NodeLost}, state)
	})
	healed := false // within the outage
	for _, f := range t.broken(from, to) {
		healed = healed || f.Heal > from && f.Heal < to
		name, label := say.Tell(history.FaultText(f.Kind, f.Target)), say.Text("fault")
		if f.Ended >= from {
			t.add(f.Began, true, label, say.Sprintf("%s begins", name))
			if f.Heal-f.Began > selfHealing {
				t.add(f.Heal, true, label, say.Sprintf("%s: order to heal", name))
			}
		}
		if f.Ended <= to {
			t.add(f.Ended, true, label, say.Sprintf("%s has ended", name))
		}
	}
	if v, known := t.row.Of("recovery_ms"); known && healed && o.Open {
		t.note(say.Text("recovery"), say.Sprintf("not within %s", table.Duration(v)))
	} else if known && healed {
		t.note(say.Text("recovery"), table.Duration(v))
	}
	if v, known := t.row.Of("served_in_fault"); known {
		t.note(say.Text("served"), say.Sprintf("%s of the requests in the fault's time", table.Share(v)))
	}
}

// refusals are those of one client.
type refusals struct {
	first int64
	kinds map[string]int
}

// text is how often which error came.
func (r *refusals) text() string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(r.kinds)) {
		all = append(all, table.Plain(kind)+" x "+table.Count(float64(r.kinds[kind])))
	}
	return strings.Join(all, ", ")
}

// became is what became of processes in a time, as far as it is to be told.
func (t *telling) became(from, to int64, told func(node, state string) bool) {
	for i := range t.run.Nodes {
		name := t.run.Text(t.run.Nodes[i].Name)
		for _, e := range t.run.Nodes[i].Events {
			if e.At >= from && e.At <= to && told(name, e.State) {
				t.add(e.At, true, name, t.say.Tell(series.NodeText(e.State)))
			}
		}
	}
}
