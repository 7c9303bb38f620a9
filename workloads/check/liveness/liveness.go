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

// Judge puts the word, the outages and the shares of what was served into the row of the run.
func Judge(r *record.Run, row *result.Row) {
	row.Verdict.Word, row.Verdict.Liveness = result.NotJudged, result.Statement{State: result.Unknown, Code: result.NothingToJudge}
	if len(r.Acquires)+len(r.Canaries) == 0 {
		return
	}
	j := judge{
		Run: r, row: row, measured: record.Span{From: r.Measure, To: r.Drain},
		second: int64(r.Head.Limit(time.Second)), least: int64(r.Head.Limit(1500 * time.Millisecond)),
		away: make([][]record.Span, len(r.Names)), deaf: make([][]record.Span, len(r.Names)),
	}
	for i := range r.Nodes {
		j.away[r.Nodes[i].Name] = r.Nodes[i].Away
	}
	j.faults()
	j.cutOff()
	outages := j.resources()
	if len(r.Canaries) > 0 {
		outages = slices.Concat(j.canaries(), outages, j.zones())
	}
	j.tell(outages)
	j.share("served", "served_in_fault", r.Head.Workload == history.Matchmaking)
	j.share("acquired", "", false)
}

type judge struct {
	*record.Run
	row       *result.Row
	measured  record.Span
	second    int64
	least     int64           // that a fault lasts to show that the lock is down
	away      [][]record.Span // of each node, by its name
	deaf      [][]record.Span // that time, and when its canary was not granted for a second
	spells    []record.Span   // the faults' times
	settling  []record.Span   // these, and until they settled
	healed    bool            // an order to heal came in the measured part
	recovered int64           // how long after it an outage went on, at most
	rank      int             // of the word
	decides   outage
}

// outage is a time without the lock, of a zone, or of a resource: see [result.Outage].
type outage struct {
	record.Span
	of string
}

// zone stands before the name of a zone.
const zone = "zone "

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
		j.healed = j.healed || s.To >= j.Measure && s.To < j.Drain
	}
}

// cutOff notes when the canary of each master was not granted for a second: then the lock or its zone
// has the outage, and what its clients want says nothing of a resource. Otherwise a resource that only a
// zone that is cut off wants for a while would be down.
func (j *judge) cutOff() {
	copy(j.deaf, j.away)
	grants := map[record.Name][]int64{} // to each canary, after the beginning of the measured part
	for _, a := range j.Canaries {      // sorted by At
		if grants[a.Node] == nil {
			grants[a.Node] = []int64{j.Measure}
		}
		if a.Outcome == record.OK {
			grants[a.Node] = append(grants[a.Node], max(a.At, j.Measure))
		}
	}
	for node, times := range grants {
		deaf := slices.Clone(j.away[node])
		for i, at := range append(times[1:], j.Drain) {
			if at-times[i] >= j.second {
				deaf = append(deaf, record.Span{From: times[i], To: at})
			}
		}
		j.deaf[node] = union(deaf)
	}
}

// resources judges each resource, and returns the longest outage.
func (j *judge) resources() (longest []outage) {
	worst := outage{}
	for own := range j.ByResource() {
		free := without(j.wanted(own), j.held(own))
		if o := j.between(j.Text(own[0].Resource), j.Head.LeaseNS+j.second, grants(own), free); o.Len() > worst.Len() {
			worst = o
		}
	}
	if len(j.Acquires) > 0 {
		j.row.Figures["resource_outage_ms"] = ms(worst.Len())
	}
	if worst.Len() == 0 {
		return nil
	}
	return []outage{worst}
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

// canaries judges the lock.
func (j *judge) canaries() []outage {
	o := j.between("", j.second, grants(j.Canaries), []record.Span{j.measured})
	j.row.Figures["outage_ms"] = ms(o.Len())
	return []outage{o}
}

// zones judges each zone, and returns its longest outage.
func (j *judge) zones() (longest []outage) {
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
	figures := j.row.Figures
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		z := zones[name]
		o := j.between(zone+name, j.second, grants(z.canaries), union(z.up))
		longest = append(longest, o)
		figures["zone_outage_ms"] = max(figures["zone_outage_ms"], ms(o.Len()))
	}
	return longest
}

// between cuts the measured part of some time at each grant, judges the pieces that last as long
// as is asked, and returns the longest.
func (j *judge) between(of string, least int64, grants []int64, spans []record.Span) (longest outage) {
	longest.of = of
	for _, s := range spans {
		for from, end := max(s.From, j.Measure), min(s.To, j.Drain); from < end; {
			for len(grants) > 0 && grants[0] <= from {
				grants = grants[1:]
			}
			o := outage{record.Span{From: from, To: end}, of}
			if len(grants) > 0 {
				o.To = min(end, grants[0])
			}
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
func (j *judge) recovery(o outage) {
	first := sort.Search(len(j.spells), func(i int) bool { return j.spells[i].To >= o.From })
	for _, s := range j.spells[first:] {
		if s.To >= o.To {
			return
		}
		j.recovered = max(j.recovered, o.To-s.To)
	}
}

// word judges one outage.
func (j *judge) word(o outage) {
	rank := stalls
	lastsToHeal := func(s record.Span) bool {
		return o.From < s.To && s.To <= o.To && s.Len() >= j.least && s.To-max(o.From, s.From) >= s.Len()/2
	}
	switch {
	case slices.ContainsFunc(without([]record.Span{o.Span}, j.settling), func(s record.Span) bool { return s.Len() >= j.second }):
		rank = dead
	case strings.HasPrefix(o.of, zone):
		return // told, not judged
	case slices.ContainsFunc(j.spells, lastsToHeal):
		rank = down
	}
	// The worst word decides, of the lock rather than of a resource that it kept, by the longest outage.
	own := func(o outage) int { return strings.Compare("", o.of) } // 0: the lock's, else -1
	if cmp.Or(cmp.Compare(rank, j.rank), cmp.Compare(own(o), own(j.decides)), cmp.Compare(o.Len(), j.decides.Len())) > 0 {
		j.rank, j.decides = rank, o
	}
}

// tell puts the word and the outages into the row: first the one that decides.
func (j *judge) tell(outages []outage) {
	v := &j.row.Verdict
	v.Word, v.Liveness = result.Live, result.Statement{State: result.OK}
	if j.rank > live {
		v.Word = [...]string{stalls: result.Stalls, down: result.Down, dead: result.Dead}[j.rank]
		v.Liveness = result.Statement{State: result.Failed, Code: result.Code(v.Word), N: ms(j.decides.Len()), Of: j.decides.of}
		outages = slices.Concat([]outage{j.decides}, slices.DeleteFunc(outages, func(o outage) bool { return o == j.decides }))
	}
	for _, o := range outages {
		j.row.Outages = append(j.row.Outages, result.Outage{Of: o.of, FromMS: j.MS(o.From), ToMS: j.MS(o.To), Open: o.To == j.Drain})
	}
	if j.healed {
		j.row.Figures["recovery_ms"] = ms(j.recovered)
	}
}

// share is how many of the operations that were due in the measured part ended well, and of those in
// the faults' time.
func (j *judge) share(all, inFault string, players bool) {
	var ok, due [2]float64
	for o := range j.Due(players) {
		count := func(k int) {
			if due[k] += float64(o.Count); o.Outcome == record.OK {
				ok[k] += float64(o.Count)
			}
		}
		count(0)
		i := sort.Search(len(j.spells), func(i int) bool { return j.spells[i].To > o.From })
		if i < len(j.spells) && j.spells[i].From <= o.From {
			count(1)
		}
	}
	for k, name := range []string{all, inFault} {
		if name != "" && due[k] > 0 {
			j.row.Figures[name] = ok[k] / due[k]
		}
	}
}

// ms is a time in milliseconds.
func ms(ns int64) float64 { return float64(ns) / 1e6 }

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
