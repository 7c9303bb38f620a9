package why

import (
	"fmt"
	"slices"
	"strings"

	"locklab/reports/table"
	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

// violation tells one.
func (t *telling) violation(v *result.Violation) {
	say := t.say
	t.zero = t.ms(v.AtMS)
	all := t.row.Figures[strings.ReplaceAll(string(v.Code), "-", "_")]
	if v.Excused {
		all = t.row.Figures["unreachable"]
	}
	title := say.Sprintf("%s: %s, this one at %s", say.Term(v.Code.Title()), table.Count(max(all, 1)), t.since(t.zero))
	if v.Excused {
		title += say.Text(", not held against the lock")
	}
	t.title(title, t.means(v.Code, v.Resource))
	from, to := t.zero, t.zero
	for i, p := range []result.Party{v.First, v.Second} {
		which := say.Text("the first room")
		if i == 1 {
			which = say.Text("the second room")
		}
		client := "" // two clients of one master are told apart
		if v.First.Node == v.Second.Node {
			client = fmt.Sprintf(" #%d", i+1)
		}
		if a := t.hold(t.room(p, which, i == 1)); a != nil {
			t.held(a, i == 1 && p.Room == "", client)
			from = min(from, a.From)
		}
		if p.FromMS != result.Never {
			from = min(from, t.ms(p.FromMS))
		}
	}
	t.accesses(v)
	for i := range t.run.Grants {
		if g := &t.run.Grants[i]; t.run.Text(g.Resource) == v.Resource && g.At >= from && g.At <= to {
			t.add(g.At, false, t.run.Text(g.Node), say.Sprintf("the server grants it, token %d", g.Token))
		}
	}
	t.became(from, to, func(node, _ string) bool {
		return slices.Contains([]string{v.First.Node, v.Second.Node, v.First.Worker, v.Second.Worker}, node)
	})
	t.faults(from, to)
}

// means is what happened, in a line.
func (t *telling) means(code result.Code, resource string) string {
	say := t.say
	switch code {
	case result.Duplicates:
		return say.Sprintf("%s: a room began while another had a free seat or was starting", resource)
	case result.Overlaps:
		return say.Sprintf("%s: a second client held the lock before the first one had stopped", resource)
	case result.TokensBack:
		return say.Sprintf("%s: a later hold has no higher token", resource)
	case result.StaleWrites:
		return say.Sprintf("%s: the store took a write after it had served a later holder", resource)
	default:
		return say.Sprintf("%s: a writer overwrote a version that it had not read", resource)
	}
}

// room tells how a room came to be, and gives the hold under which it was ordered.
func (t *telling) room(p result.Party, which string, about bool) (hold string) {
	hold = p.Hold
	if p.Room == "" {
		return hold
	}
	say := t.say
	for i := range t.run.Orders {
		o := &t.run.Orders[i]
		if t.run.Text(o.Room) != p.Room {
			continue
		}
		text := say.Text("looks at the workers")
		if len(o.Unreachable) > 0 {
			var names []string
			for _, n := range o.Unreachable {
				names = append(names, t.run.Text(n))
			}
			text = say.Sprintf("looks at the workers; cannot reach %s", strings.Join(names, ", "))
		}
		t.add(o.From, about && len(o.Unreachable) > 0, t.run.Text(o.Node), text)
		if o.Sent > 0 {
			t.add(o.Sent, false, t.run.Text(o.Node), say.Sprintf("orders %s", which))
		}
		if hold == "" {
			hold = t.run.Text(o.Hold)
		}
	}
	over := false
	for i := range t.run.Rooms {
		e := &t.run.Rooms[i]
		if t.run.Text(e.Room) != p.Room || about && e.State != record.RoomStarting {
			continue
		}
		text := ""
		switch {
		case e.State == record.RoomStarting:
			text = say.Sprintf("%s begins, ordered by %s", which, t.run.Text(e.Client))
		case e.State == record.RoomOpen:
			text = say.Sprintf("%s is open", which)
		case over:
			continue
		case e.State == record.RoomFull:
			text, over = say.Sprintf("%s is full", which), true
		default:
			text, over = say.Sprintf("%s is closed", which), true
		}
		t.add(e.At, e.State == record.RoomStarting, t.run.Text(e.Worker), text)
	}
	return hold
}

// hold finds an acquisition by its hold.
func (t *telling) hold(name string) *record.Acquire {
	for i := range t.run.Acquires {
		if a := &t.run.Acquires[i]; a.Granted() && t.run.Text(a.Hold) == name {
			return a
		}
	}
	return nil
}

// held tells a hold from its asking to its end.
func (t *telling) held(a *record.Acquire, about bool, client string) {
	say, who := t.say, t.run.Text(a.Node)+client
	granted := say.Sprintf("gets the lock after %s", table.Duration(float64(a.At-a.From)/1e6))
	if a.Token > 0 {
		granted += say.Sprintf(", token %d", a.Token)
	}
	t.add(a.At, true, who, granted)
	if !a.Granted() { // a canary's, of which nothing more is recorded
		return
	}
	ends := say.Text("stops, to release the lock")
	switch a.Until {
	case a.Killed:
		ends = say.Text("is killed while it holds the lock")
	case a.Lost:
		ends = say.Text("notices that it lost the lock")
	}
	t.add(a.Until, !about, who, ends)
}

// accesses tell what the store did for the two holds.
func (t *telling) accesses(v *result.Violation) {
	say := t.say
	for i := range t.run.Accesses {
		a := &t.run.Accesses[i]
		if hold := t.run.Text(a.Hold); hold == "" || hold != v.First.Hold && hold != v.Second.Hold {
			continue
		}
		text, by := "", t.run.Text(a.By)
		switch a.Kind {
		case record.DidRead:
			text = say.Sprintf("%s reads version %d", by, a.Version)
		case record.DidWrite:
			text = say.Sprintf("%s writes version %d, having read %d", by, a.Version, a.Base)
		case record.RefusedWrite:
			text = say.Sprintf("%s may not write: refused by token %d", by, a.Token)
		case record.RefusedRead:
			text = say.Sprintf("%s may not read: refused by token %d", by, a.Token)
		case record.Untold:
			text = say.Sprintf("%s writes, and is not told whether", by)
		}
		t.add(a.At, a.At == t.zero, t.run.Text(a.Node), text)
	}
}
