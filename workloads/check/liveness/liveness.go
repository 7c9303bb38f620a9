// Package liveness judges how long clients went without the lock, in the measured part of a run.
//
//	lock       between two grants to canaries                     judged
//	zone       the same of the canaries of its masters,           only a dead one is judged
//	           while any of these runs
//	resource   wanted by a master whose canary is served, not    judged
//	           held, between two grants
//
// One rule holds for all locks and workloads. Of a history without canaries only resources are judged.
package liveness

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Findings are how the lock fared.
type Findings struct {
	Word string
	// Lock, Zone and Resource are the longest outages of the lock, of the worst zone and of the
	// worst resource; one that was not judged, or never was, has no length.
	Lock, Zone, Resource Outage
	// Outages are the longest of the lock, of each zone and of the worst resource, and before
	// them the one that decides the word.
	Outages []Outage
	// Healed says that an order to heal came in the measured part. RecoveryNS is how long after
	// it an outage went on.
	Healed     bool
	RecoveryNS int64
	// Served is of requests; in workloads without any, of acquisitions.
	Served, ServedInFault, Acquired Share
	Statement                       result.Statement
}

// Outage is a time without the lock. Of is empty for the lock, "zone c" for a zone, else the name
// of a resource. An open one reached the end of the measured part.
type Outage struct {
	record.Span
	Of   string
	Open bool
}

// zone stands before the name of a zone.
const zone = "zone "

// Share is how many of the operations that were due ended well.
type Share struct{ OK, Due int64 }

// Of is the share, 0 to 1; false if nothing was due.
func (s Share) Of() (float64, bool) {
	if s.Due == 0 {
		return 0, false
	}
	return float64(s.OK) / float64(s.Due), true
}

func (s *Share) add(outcome record.Outcome, n uint32) {
	s.Due += int64(n)
	if outcome == record.OK {
		s.OK += int64(n)
	}
}

// Judge looks at a run.
func Judge(r *record.Run) Findings {
	j := judge{
		Run: r, measured: record.Span{From: r.Measure, To: r.Drain},
		second: int64(r.Head.Limit(time.Second)), least: int64(r.Head.Limit(1500 * time.Millisecond)),
		away: make([][]record.Span, len(r.Names)), deaf: make([][]record.Span, len(r.Names)),
	}
	for i := range r.Nodes {
		j.away[r.Nodes[i].Name] = r.Nodes[i].Away
	}
	j.faults()
	j.cutOff()
	j.resources()
	if len(r.Canaries) > 0 {
		j.canaries()
	}
	j.tell()
	j.shares()
	return j.f
}

type judge struct {
	*record.Run
	f        Findings
	measured record.Span
	second   int64
	least    int64           // that a fault lasts to show that the lock is down
	away     [][]record.Span // of each node, by its name
	deaf     [][]record.Span // that time, and when its canary was not granted for a second
	spells   []record.Span   // the faults' times
	settling []record.Span   // these, and until they settled
	rank     int             // of the word
	decides  Outage
}

// The ranks of the words.
const (
	live = iota
	stalls
	down
	dead
)

// faults notes in which time faults were in force, and in which they explain an outage.
func (j *judge) faults() {
	settles := max(int64(j.Head.Limit(1500*time.Millisecond)), j.Head.LeaseNS+int64(j.Head.Limit(500*time.Millisecond)))
	known := func(at, otherwise int64) int64 {
		if at == record.Never {
			return otherwise
		}
		return at
	}
	for _, f := range j.Faults {
		asked := min(f.Asked, f.Began)
		began, heal, ended := known(f.Began, asked), known(f.Heal, known(f.Ended, j.Drain)), known(f.Ended, 0)
		if f.Heal == record.Never || f.Heal-began >= int64(time.Millisecond) {
			j.spells = append(j.spells, record.Span{From: began, To: heal})
		} else { // it heals itself
			j.spells = append(j.spells, record.Span{From: began, To: max(heal, ended)})
		}
		j.settling = append(j.settling, record.Span{From: asked, To: max(known(f.Heal, j.Drain), ended) + settles})
	}
	j.spells, j.settling = union(j.spells), union(j.settling)
	for _, s := range j.spells {
		j.f.Healed = j.f.Healed || s.To >= j.Measure && s.To < j.Drain
	}
}

// cutOff notes when the canary of each master was not granted for a second: then the lock or its zone
// has the outage, and what its clients want says nothing of a resource.
func (j *judge) cutOff() {
	last := make([]int64, len(j.Names))
	note := func(node record.Name, at int64) {
		if from := max(last[node], j.Measure); at-from >= j.second {
			j.deaf[node] = append(j.deaf[node], record.Span{From: from, To: at})
		}
		last[node] = at
	}
	for _, a := range j.Canaries { // sorted by At
		if a.Outcome == record.OK {
			note(a.Node, a.At)
		}
		last[a.Node] = max(last[a.Node], 1) // it has one
	}
	for i := range j.Nodes {
		node := j.Nodes[i].Name
		if last[node] > 0 {
			note(node, j.Drain)
		}
		j.deaf[node] = union(slices.Concat(j.deaf[node], j.away[node]))
	}
}

// resources judges each resource.
func (j *judge) resources() {
	for own := range j.ByResource() {
		free := without(j.wanted(own), j.held(own))
		o := j.between(j.Text(own[0].Resource), j.Head.LeaseNS+j.second, grants(own), free)
		if o.Len() > j.f.Resource.Len() {
			j.f.Resource = o
		}
	}
	if j.f.Resource.Len() > 0 {
		j.f.Outages = append(j.f.Outages, j.f.Resource)
	}
}

// wanted is when a request for a resource was pending, and from a refusal until the next
// request if that came within a second.
func (j *judge) wanted(own []record.Acquire) []record.Span {
	spans := make([]record.Span, 0, len(own))
	for i := range own {
		a := &own[i]
		until := a.At
		if a.Outcome != record.OK && a.Outcome != record.CalledOff {
			next := i + sort.Search(len(own)-i, func(n int) bool { return own[i+n].From > a.At })
			if next < len(own) && own[next].From-a.At < j.second {
				until = own[next].From
			}
		}
		spans = outside(spans, j.deaf[a.Node], record.Span{From: a.From, To: until})
	}
	return union(spans)
}

// held is when clients held a resource.
func (j *judge) held(own []record.Acquire) []record.Span {
	spans := make([]record.Span, 0, len(own))
	for i := range own {
		if a := &own[i]; a.Granted() {
			spans = outside(spans, j.away[a.Node], record.Span{From: a.At, To: a.Until})
		}
	}
	return union(spans)
}

// outside appends the parts of a time that lie in no hole.
func outside(spans, holes []record.Span, s record.Span) []record.Span {
	if len(holes) == 0 {
		return append(spans, s)
	}
	return append(spans, without([]record.Span{s}, holes)...)
}

// canaries judges the lock and each zone.
func (j *judge) canaries() {
	j.f.Lock = j.between("", j.second, grants(j.Canaries), []record.Span{j.measured})
	j.f.Outages = append([]Outage{j.f.Lock}, j.f.Outages...)
	type masters struct {
		canaries []record.Acquire
		up       []record.Span
	}
	zones, seen := map[string]*masters{}, map[record.Name]bool{}
	for _, a := range j.Canaries {
		name := j.Head.HostZones[j.Head.NodeHosts[j.Text(a.Node)]]
		z := zones[name]
		if z == nil {
			z = &masters{}
			zones[name] = z
		}
		z.canaries = append(z.canaries, a)
		if !seen[a.Node] {
			seen[a.Node] = true
			z.up = outside(z.up, j.away[a.Node], j.measured)
		}
	}
	delete(zones, "")
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		z := zones[name]
		o := j.between(zone+name, j.second, grants(z.canaries), union(z.up))
		j.f.Outages = append(j.f.Outages, o)
		if o.Len() > j.f.Zone.Len() {
			j.f.Zone = o
		}
	}
}

// between cuts the measured part of some time at each grant, judges the pieces that last as long
// as is asked, and returns the longest.
func (j *judge) between(of string, least int64, grants []int64, spans []record.Span) (longest Outage) {
	longest.Of = of
	for _, s := range spans {
		for from, end := max(s.From, j.Measure), min(s.To, j.Drain); from < end; {
			for len(grants) > 0 && grants[0] <= from {
				grants = grants[1:]
			}
			o := Outage{record.Span{From: from, To: end}, of, false}
			if len(grants) > 0 {
				o.To = min(end, grants[0])
			}
			o.Open = o.To == j.Drain
			j.recovery(o)
			if o.Len() > longest.Len() {
				longest = o
			}
			if o.Len() >= least {
				j.word(o)
			}
			from = o.To
		}
	}
	return longest
}

// recovery measures how long an outage went on after an order to heal.
func (j *judge) recovery(o Outage) {
	first := sort.Search(len(j.spells), func(i int) bool { return j.spells[i].To >= o.From })
	for _, s := range j.spells[first:] {
		if s.To >= o.To {
			return
		}
		j.f.RecoveryNS = max(j.f.RecoveryNS, o.To-s.To)
	}
}

// word judges one outage.
func (j *judge) word(o Outage) {
	rank := stalls
	lastsToHeal := func(s record.Span) bool {
		return o.From < s.To && s.To <= o.To && s.Len() >= j.least && s.To-max(o.From, s.From) >= s.Len()/2
	}
	switch {
	case slices.ContainsFunc(without([]record.Span{o.Span}, j.settling), func(s record.Span) bool { return s.Len() >= j.second }):
		rank = dead
	case strings.HasPrefix(o.Of, zone):
		return // told, not judged
	case slices.ContainsFunc(j.spells, lastsToHeal):
		rank = down
	}
	// The worst word decides, of the lock rather than of a resource that it kept, by the longest outage.
	own := func(o Outage) int { return strings.Compare("", o.Of) } // 0: the lock's, else -1
	if cmp.Or(cmp.Compare(rank, j.rank), cmp.Compare(own(o), own(j.decides)), cmp.Compare(o.Len(), j.decides.Len())) > 0 {
		j.rank, j.decides = rank, o
	}
}

// tell puts the word into the findings.
func (j *judge) tell() {
	asked := len(j.Acquires)+len(j.Canaries) > 0
	switch {
	case j.rank > live:
		j.f.Word = [...]string{stalls: result.Stalls, down: result.Down, dead: result.Dead}[j.rank]
		j.f.Statement = result.Statement{State: result.Failed, Code: result.Code(j.f.Word), N: float64(j.decides.Len()) / 1e6, Of: j.decides.Of}
		j.f.Outages = slices.DeleteFunc(j.f.Outages, func(o Outage) bool { return o == j.decides })
		j.f.Outages = append([]Outage{j.decides}, j.f.Outages...)
	case asked:
		j.f.Word, j.f.Statement = result.Live, result.Statement{State: result.OK}
	default:
		j.f.Word, j.f.Statement = result.NotJudged, result.Statement{State: result.Unknown, Code: result.NothingToJudge}
	}
}

// shares counts the operations that were due in the measured part.
func (j *judge) shares() {
	due := func(players bool) (all, inFault Share) {
		for o := range j.Due(players) {
			all.add(o.Outcome, o.Count)
			i := sort.Search(len(j.spells), func(i int) bool { return j.spells[i].To > o.From })
			if i < len(j.spells) && j.spells[i].From <= o.From {
				inFault.add(o.Outcome, o.Count)
			}
		}
		return all, inFault
	}
	j.f.Served, j.f.ServedInFault = due(j.Head.Workload == history.Matchmaking)
	j.f.Acquired, _ = due(false)
}

// union sorts spans, and joins those that touch, in their place.
func union(spans []record.Span) []record.Span {
	slices.SortFunc(spans, func(a, b record.Span) int { return cmp.Compare(a.From, b.From) })
	out := spans[:0]
	for _, s := range spans {
		switch last := len(out) - 1; {
		case s.From >= s.To:
		case last >= 0 && s.From <= out[last].To:
			out[last].To = max(out[last].To, s.To)
		default:
			out = append(out, s)
		}
	}
	return out
}

// without has what is left of spans outside of holes; both are sorted and do not touch.
func without(spans, holes []record.Span) []record.Span {
	out := make([]record.Span, 0, len(spans))
	for _, s := range spans {
		for len(holes) > 0 && holes[0].To <= s.From {
			holes = holes[1:]
		}
		for _, h := range holes {
			if h.From >= s.To {
				break
			}
			if h.From > s.From {
				out = append(out, record.Span{From: s.From, To: h.From})
			}
			s.From = h.To
		}
		if s.From < s.To {
			out = append(out, s)
		}
	}
	return out
}

// grants has the times of the grants, sorted.
func grants(acquires []record.Acquire) []int64 {
	times := make([]int64, 0, len(acquires))
	for i := range acquires {
		if acquires[i].Outcome == record.OK {
			times = append(times, acquires[i].At)
		}
	}
	slices.Sort(times)
	return times
}
