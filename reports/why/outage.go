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
func (t *telling) outage(o result.Outage) {
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
			r := refused[a.Node]
			if r == nil {
				r = &refusals{node: a.Node, first: a.At, kinds: map[string]int{}}
				refused[a.Node] = r
			}
			r.first = min(r.first, a.At)
			r.kinds[cmp.Or(t.run.Text(a.ErrorKind), "unknown")]++
		}
	}
	if before != nil {
		t.held(before, true)
	}
	for _, r := range slices.SortedFunc(maps.Values(refused), func(a, b *refusals) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.node, b.node)) }) {
		t.add(r.first, true, t.run.Text(r.node), say.Sprintf("does not get it: %s", r.text()))
	}
	switch {
	case after != nil && !o.Open:
		t.add(after.At, true, t.run.Text(after.Node), say.Sprintf("gets the lock after %s", table.Duration(float64(after.At-after.From)/1e6)))
	default:
		t.add(to, true, "", say.Text("the measured part ends without a grant"))
	}
	t.unasked(from-int64(1e9), to)
	if !t.broken(from, to) {
		t.note(say.Text("fault"), say.Text("none in force or settling"))
	}
	if v, known := t.row.Of("recovery_ms"); known {
		t.note(say.Text("recovery"), table.Duration(v))
	}
	if v, known := t.row.Of("served_in_fault"); known {
		t.note(say.Text("served"), say.Sprintf("%s of the requests in the fault's time", table.Share(v)))
	}
}

// refusals are those of one client.
type refusals struct {
	node  record.Name
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

// selfHealing is how soon, in ns, the order to heal comes of a fault that needs none.
const selfHealing = 1e6

// broken are the moments of the faults in a time; false if there was none.
func (t *telling) broken(from, to int64) (some bool) {
	say := t.say
	for i := range t.run.Faults {
		f := &t.run.Faults[i]
		if !t.touches(f, from, to) {
			continue
		}
		some = true
		name := say.Tell(history.FaultText(f.Kind, f.Target))
		if f.Ended >= from {
			t.add(f.Began, true, say.Text("fault"), say.Sprintf("%s begins", name))
		}
		if f.Ended >= from && f.Heal-f.Began > selfHealing {
			t.add(f.Heal, true, say.Text("fault"), say.Sprintf("%s: order to heal", name))
		}
		if f.Ended <= to {
			t.add(f.Ended, true, say.Text("fault"), say.Sprintf("%s has ended", name))
		}
	}
	return some
}

// lives are what became of some processes in a time.
func (t *telling) lives(from, to int64, names ...string) {
	for i := range t.run.Nodes {
		n := &t.run.Nodes[i]
		for _, e := range n.Events {
			if name := t.run.Text(n.Name); e.At >= from && e.At <= to && slices.Contains(names, name) {
				t.add(e.At, true, name, t.say.Tell(series.NodeText(e.State)))
			}
		}
	}
}

// unasked are processes that ended or stood still although no fault asked for it.
func (t *telling) unasked(from, to int64) {
	for i := range t.run.Nodes {
		n := &t.run.Nodes[i]
		for _, e := range n.Events {
			if e.At >= from && e.At <= to && slices.Contains([]string{history.NodeExited, history.NodeSuspended, history.NodeContinued, history.NodeLost}, e.State) {
				t.add(e.At, true, t.run.Text(n.Name), t.say.Tell(series.NodeText(e.State)))
			}
		}
	}
}
