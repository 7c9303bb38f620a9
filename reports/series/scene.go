package series

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Step is an event, or a state that lasted. Its times are milliseconds since the violation or the outage began; an
// unknown end is +Inf.
type Step struct {
	Who, What    string        // What is wait, hold, order, room, write, node or fault
	Begins, Ends sentence.Text // Ends may be empty
	FromMS, ToMS float64
}

// scene collects the steps that explain a violation or an outage.
type scene struct {
	run     *record.Run
	atMS    float64 // of the violation, or of the beginning of the outage, since the measured part began
	lastsMS float64 // of an outage
	steps   []Step
}

// OfViolation returns the holds, orders, rooms and accesses of the two parties, and the causes.
func OfViolation(run *record.Run, v result.Violation) []Step {
	s := scene{run: run, atMS: v.AtMS}
	which := []sentence.Text{sentence.Of("the first room"), sentence.Of("the second room")}
	for i, p := range []result.Party{v.First, v.Second} {
		client := "" // tells two clients of one master apart
		if v.First.Node == v.Second.Node {
			client = []string{" #1", " #2"}[i]
		}
		hold := s.room(p, which[i])
		for _, a := range run.Acquires {
			if a.Granted() && a.Hold == hold {
				s.hold(a, client)
			}
		}
	}
	s.accesses(v.First.Hold, v.Second.Hold)
	from := 0.0
	for _, step := range s.steps {
		from = min(from, step.FromMS)
	}
	parties := []string{v.First.Node, v.Second.Node, v.First.Worker, v.Second.Worker}
	s.causes(from, func(node, _ string) bool { return slices.Contains(parties, node) })
	return s.sorted()
}

// OfOutage returns the grants before and after an outage, the refusals in it, and its causes. The clients are
// canaries, or those of the resource.
func OfOutage(run *record.Run, o result.Outage) []Step {
	s := scene{run: run, atMS: o.FromMS, lastsMS: o.MS()}
	asks, ours := run.Canaries, func(*record.Acquire) bool { return true }
	if zone, is := strings.CutPrefix(o.Of, "zone "); is {
		ours = func(a *record.Acquire) bool { n := run.Nodes[a.Node]; return n != nil && n.Zone == zone }
	} else if o.Of != "" {
		asks, ours = run.Acquires, func(a *record.Acquire) bool { return a.Resource == o.Of }
	}
	const slack = 1e-3 // ms: the row's times are rounded
	var before, after *record.Acquire
	refused := map[string][]*record.Acquire{}
	for _, a := range asks {
		switch at := s.at(a.At); {
		case !ours(a) || a.Outcome == record.CalledOff:
		case a.Outcome != record.OK && at > 0 && at <= s.lastsMS+slack:
			refused[a.Node] = append(refused[a.Node], a)
		case a.Outcome == record.OK && at <= slack && (before == nil || a.At > before.At):
			before = a
		case a.Outcome == record.OK && at >= s.lastsMS-slack && (after == nil || a.At < after.At):
			after = a
		}
	}
	for _, a := range []*record.Acquire{before, after} {
		if a != nil && (a == before || !o.Open) {
			s.hold(a, "")
		}
	}
	for node, all := range refused {
		kinds, from, to := map[string]int{}, all[0].From, all[0].At
		for _, a := range all {
			kinds[cmp.Or(a.ErrorKind, "unknown")]++
			from, to = min(from, a.From), max(to, a.At)
		}
		var counts []string
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			counts = append(counts, kind+" x "+table.Count(float64(kinds[kind])))
		}
		s.add(node, lang.Key("wait"), sentence.Of("does not get it: %s", strings.Join(counts, ", ")), sentence.Text{}, from,
			to)
	}
	unasked := []string{history.NodeExited, history.NodeLost}
	s.causes(-1000, func(_, state string) bool { return slices.Contains(unasked, state) })
	return s.sorted()
}

func (s *scene) sorted() []Step {
	slices.SortStableFunc(s.steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.FromMS, b.FromMS), strings.Compare(a.Who, b.Who))
	})
	return s.steps
}

// at converts a time of the record to milliseconds since the violation or the outage began.
func (s *scene) at(ns int64) float64 {
	if ns == record.Never {
		return math.Inf(1)
	}
	return float64(ns-s.run.Measure)/1e6 - s.atMS
}

func (s *scene) add(who, what string, begins, ends sentence.Text, from, to int64) {
	s.steps = append(s.steps, Step{who, what, begins, ends, s.at(from), s.at(to)})
}

func (s *scene) moment(who, what string, is sentence.Text, at int64) {
	s.add(who, what, is, sentence.Text{}, at, at)
}

// hold adds a hold from its grant to its end. Of a canary only the grant is on record.
func (s *scene) hold(a *record.Acquire, client string) {
	who, granted := a.Node+client, sentence.Of("gets the lock after %s", table.Duration(float64(a.At-a.From)/1e6))
	if a.Token > 0 {
		granted = sentence.Of("%s, token %d", granted, a.Token)
	}
	if !a.Granted() {
		s.moment(who, lang.Key("hold"), granted, a.At)
		return
	}
	ends := sentence.Of("stops, to release the lock")
	switch a.Until {
	case a.Killed:
		ends = sentence.Of("is killed while it holds the lock")
	case a.Lost:
		ends = sentence.Of("notices that it lost the lock")
	}
	s.add(who, lang.Key("hold"), granted, ends, a.At, a.Until)
}

// room adds the steps of a party's room, and finds the hold under which it was ordered.
func (s *scene) room(p result.Party, which sentence.Text) (hold string) {
	hold = p.Hold
	if p.Room == "" {
		return hold
	}
	for i := range s.run.Orders {
		o := &s.run.Orders[i]
		if o.Room != p.Room {
			continue
		}
		looks, orders, until := sentence.Of("looks at the workers"), sentence.Text{}, o.AtNS
		if len(o.Unreachable) > 0 {
			looks = sentence.Of("looks at the workers; cannot reach %s", strings.Join(o.Unreachable, ", "))
		}
		if o.SentNS > 0 {
			orders, until = sentence.Of("orders %s", which), o.SentNS
		}
		s.add(o.Node, lang.Key("order"), looks, orders, o.FromNS, until)
		hold = cmp.Or(hold, o.Hold)
	}
	for i := range s.run.Rooms {
		r, ends := &s.run.Rooms[i], sentence.Of("%s is closed", which)
		if r.ID != p.Room || r.At[record.RoomStarting] == record.Never {
			continue
		}
		if r.At[record.RoomFull] <= r.At[record.RoomClosed] {
			ends = sentence.Of("%s is full", which)
		}
		s.add(r.Worker, lang.Key("room"), sentence.Of("%s begins, ordered by %s", which, r.Master), ends,
			r.At[record.RoomStarting], r.Over())
	}
	return hold
}

// accesses adds the reads and writes of two holds at the store.
func (s *scene) accesses(first, second string) {
	for i := range s.run.Accesses {
		a := &s.run.Accesses[i]
		if hold := a.Hold; hold == "" || hold != first && hold != second {
			continue
		}
		did := sentence.Of("%s writes, and is not told whether", a.Client)
		switch reads := a.Kind == history.KindRead; {
		case reads && a.State == history.WriteRefused:
			did = sentence.Of("%s may not read: refused by token %d", a.Client, a.Token)
		case reads:
			did = sentence.Of("%s reads version %d", a.Client, a.Version)
		case a.State == history.WriteAccepted:
			did = sentence.Of("%s writes version %d, having read %d", a.Client, a.Version, a.Base)
		case a.State == history.WriteRefused:
			did = sentence.Of("%s may not write: refused by token %d", a.Client, a.Token)
		}
		s.moment(a.Node, lang.Key("write"), did, a.AtNS)
	}
}

// causes adds the proven faults that were in force or settling, and the changes of processes that told selects,
// between from and the end of the scene.
func (s *scene) causes(from float64, told func(node, state string) bool) {
	for i := range s.run.Faults {
		f := &s.run.Faults[i]
		settled := s.at(f.Ended) + max(1500, float64(s.run.Head.LeaseNS)/1e6+500)
		if !f.Proven || s.at(f.Began) > s.lastsMS || settled < min(from, 0) {
			continue
		}
		name, who := history.FaultText(f.Kind, f.Target), lang.Key("fault")
		s.add(who, who, sentence.Of("%s begins", name), sentence.Of("%s has ended", name), f.Began, f.Ended)
		if f.Heal != record.Never && !f.HealsItself() {
			s.moment(who, who, sentence.Of("%s: order to heal", name), f.Heal)
		}
	}
	for _, n := range s.run.Nodes {
		for _, e := range n.Events {
			if at := s.at(e.AtNS); at >= from && at <= s.lastsMS && told(n.Name, e.State) {
				s.moment(n.Name, lang.Key("node"), NodeText(e.State), e.AtNS)
			}
		}
	}
}

// NodeText is the new state of a process in words.
func NodeText(state string) sentence.Text {
	switch state {
	case history.NodeStarted:
		return sentence.Of("was started")
	case history.NodeReady:
		return sentence.Of("is ready")
	case history.NodeKilled:
		return sentence.Of("was killed")
	case history.NodePaused:
		return sentence.Of("was stopped")
	case history.NodeResumed:
		return sentence.Of("goes on")
	case history.NodeStopped:
		return sentence.Of("was stopped in order")
	case history.NodeExited:
		return sentence.Of("ended unasked")
	default:
		return sentence.Of("went with its host")
	}
}
