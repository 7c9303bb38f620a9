package check

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

// judgeLiveness puts the word, the outages and the shares of what was served into the row of the run.
func judgeLiveness(r *record.Run, row *result.Row) {
	row.Verdict.Word = result.NotJudged
	row.Verdict.Liveness = result.Statement{State: result.Unknown, Code: result.NothingToJudge}
	if len(r.Acquires)+len(r.Canaries) == 0 {
		return
	}
	j := liveness{
		Run: r, row: row, measured: record.Span{From: r.Measure, To: r.Drain},
		second: int64(r.Head.Limit(time.Second)), least: int64(r.Head.Limit(1500 * time.Millisecond)),
		away: map[string][]record.Span{}, deaf: map[string][]record.Span{}, granted: map[string][]int64{},
	}
	for name, n := range r.Nodes {
		j.away[name] = n.Away
	}
	j.faults()
	if j.masters(); len(j.granted) > 0 {
		j.canaries()
	}
	j.resources()
	j.tell()
	j.share("served", "served_in_fault", r.Workload.Players)
	j.share("acquired", "", false)
}

// liveness judges how long clients went without the lock, in the measured part of a run.
//
//	lock       between two grants to canaries                     judged
//	zone       the same of the canaries of its masters,           only a dead one is judged
//	           while any of these runs
//	resource   wanted by a master whose canary is served, not    judged
//	           held, between two grants
//
// One rule holds for all locks and workloads. Without canaries only resources are judged.
type liveness struct {
	*record.Run
	row       *result.Row
	measured  record.Span
	second    int64
	least     int64                    // that a fault must last to show that the lock is down
	away      map[string][]record.Span // of each node, by its name
	deaf      map[string][]record.Span // away, or its canary was not granted for a second
	granted   map[string][]int64       // to each master's canary; first comes the beginning of the measured part
	spells    []record.Span            // the faults' times
	settling  []record.Span            // until they settled
	healed    bool                     // an order to heal came in the measured part
	recovered int64                    // the longest time that an outage went on after that
	rank      int                      // of the word
	decides   outage
	outages   []outage // the longest of the lock, of one resource and of each zone
}

// outage is a time without the lock: for all, for a zone, or of one resource. See [result.Outage].
type outage struct {
	record.Span
	of string
}

// zonePrefix stands before the name of a zone.
const zonePrefix = "zone "

// The ranks of the words.
const (
	stalls = 1 + iota
	down
	dead
)

// faults notes when faults were in force, and when they explain an outage.
func (j *liveness) faults() {
	settles := max(int64(j.Head.Limit(1500*time.Millisecond)), j.Head.LeaseNS+int64(j.Head.Limit(500*time.Millisecond)))
	known := func(at, otherwise int64) int64 {
		if at == record.Never {
			return otherwise
		}
		return at
	}
	for _, f := range j.Faults {
		asked := f.First()
		began, heal, ended := known(f.Began, asked), known(f.Heal, known(f.Ended, j.Drain)), known(f.Ended, 0)
		if f.HealsItself() {
			heal = max(heal, ended)
		}
		j.spells = append(j.spells, record.Span{From: began, To: heal})
		j.settling = append(j.settling, record.Span{From: asked, To: max(known(f.Heal, j.Drain), ended) + settles})
	}
	j.spells, j.settling = union(j.spells), union(j.settling)
	for _, s := range j.spells {
		j.healed = j.healed || s.To >= j.Measure && s.To < j.Drain
	}
}

// masters notes when each master's canary was granted, and when it was not for a second. That is an outage of the
// lock or of its zone, so the master's requests then say nothing about a resource: one that only a cut-off zone
// wants would seem down.
func (j *liveness) masters() {
	maps.Copy(j.deaf, j.away)
	for _, a := range j.Canaries { // sorted by At
		if j.granted[a.Node] == nil {
			j.granted[a.Node] = []int64{j.Measure}
		}
		if a.Outcome == record.OK {
			j.granted[a.Node] = append(j.granted[a.Node], max(a.At, j.Measure))
		}
	}
	for node, times := range j.granted {
		deaf := slices.Clone(j.away[node])
		for i, at := range append(times[1:], j.Drain) {
			if at-times[i] >= j.second {
				deaf = append(deaf, record.Span{From: times[i], To: at})
			}
		}
		j.deaf[node] = union(deaf)
	}
}

// resources judges each resource. It is wanted while a request is pending, and from a refusal until the
// next request if that comes within a second.
func (j *liveness) resources() {
	worst := outage{}
	var wanted, held []record.Span
	var grants []int64
	for own := range j.ByResource() {
		wanted, held, grants = wanted[:0], held[:0], grants[:0]
		for i, a := range own {
			until := a.At
			switch a.Outcome {
			case record.OK:
				grants = append(grants, a.At)
				if a.Granted() {
					held = outside(held, j.away[a.Node], record.Span{From: a.At, To: a.Until})
				}
			case record.Failed, record.Unknown, record.Unsent:
				next := i + sort.Search(len(own)-i, func(n int) bool { return own[i+n].From > a.At })
				if next < len(own) && own[next].From-a.At < j.second {
					until = own[next].From
				}
			case record.CalledOff:
			}
			wanted = outside(wanted, j.deaf[a.Node], record.Span{From: a.From, To: until})
		}
		slices.Sort(grants)
		o := j.between(own[0].Resource, j.Head.LeaseNS+j.second, grants, without(union(wanted), union(held)))
		if o.Len() > worst.Len() {
			worst = o
		}
	}
	if len(j.Acquires) > 0 {
		j.row.Figures["resource_outage_ms"] = record.MS(worst.Len())
	}
	if worst.Len() > 0 {
		j.outages = slices.Insert(j.outages, min(1, len(j.outages)), worst)
	}
}

// canaries judges the lock and each zone.
func (j *liveness) canaries() {
	type zone struct {
		grants []int64
		up     []record.Span // when any of its masters ran
	}
	zones, lock := map[string]*zone{}, zone{up: []record.Span{j.measured}}
	for node, times := range j.granted {
		name := j.Head.HostZones[j.Head.NodeHosts[node]]
		if zones[name] == nil {
			zones[name] = &zone{}
		}
		z := zones[name]
		lock.grants, z.grants = append(lock.grants, times...), append(z.grants, times...)
		z.up = outside(z.up, j.away[node], j.measured)
	}
	delete(zones, "")
	judge := func(of, figure string, z *zone) {
		slices.Sort(z.grants)
		o := j.between(of, j.second, z.grants, union(z.up))
		j.outages = append(j.outages, o)
		j.row.Figures[figure] = max(j.row.Figures[figure], record.MS(o.Len()))
	}
	judge("", "outage_ms", &lock)
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		judge(zonePrefix+name, "zone_outage_ms", zones[name])
	}
}

// between cuts the spans at each grant, judges the pieces of at least least, and returns the longest.
func (j *liveness) between(of string, least int64, grants []int64, spans []record.Span) (longest outage) {
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
			for _, s := range j.spells {
				if o.From <= s.To && s.To < o.To {
					j.recovered = max(j.recovered, o.To-s.To)
				}
			}
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

// word judges one outage.
func (j *liveness) word(o outage) {
	rank := stalls
	lastsToHeal := func(s record.Span) bool {
		return o.From < s.To && s.To <= o.To && s.Len() >= j.least && s.To-max(o.From, s.From) >= s.Len()/2
	}
	switch {
	case slices.ContainsFunc(without([]record.Span{o.Span}, j.settling),
		func(s record.Span) bool { return s.Len() >= j.second }):
		rank = dead
	case strings.HasPrefix(o.of, zonePrefix):
		return // told, not judged
	case slices.ContainsFunc(j.spells, lastsToHeal):
		rank = down
	}
	// The worst word decides, then the lock rather than a resource, then the longest outage.
	own := func(o outage) int { return strings.Compare("", o.of) } // 0: the lock's, else -1
	if cmp.Or(cmp.Compare(rank, j.rank), cmp.Compare(own(o), own(j.decides)), cmp.Compare(o.Len(), j.decides.Len())) > 0 {
		j.rank, j.decides = rank, o
	}
}

// tell puts the word and the outages into the row: first the one that decides.
func (j *liveness) tell() {
	v := &j.row.Verdict
	v.Word, v.Liveness = result.Live, result.Statement{State: result.OK}
	if j.rank > 0 {
		v.Word = [...]string{stalls: result.Stalls, down: result.Down, dead: result.Dead}[j.rank]
		lasts := record.MS(j.decides.Len())
		v.Liveness = result.Statement{State: result.Failed, Code: result.Code(v.Word), N: lasts, Of: j.decides.of}
		j.outages = slices.Concat([]outage{j.decides},
			slices.DeleteFunc(j.outages, func(o outage) bool { return o == j.decides }))
	}
	for _, o := range j.outages {
		told := result.Outage{Of: o.of, FromMS: j.MS(o.From), ToMS: j.MS(o.To), Open: o.To == j.Drain}
		j.row.Outages = append(j.row.Outages, told)
	}
	if j.healed {
		j.row.Figures["recovery_ms"] = record.MS(j.recovered)
	}
}

// share sets the share of the operations due in the measured part that ended well, and the same for those due in
// the faults' time.
func (j *liveness) share(all, inFault string, players bool) {
	var ok, due [2]float64
	for o := range j.Due(players) {
		times := 1
		if slices.ContainsFunc(j.spells, func(s record.Span) bool { return s.From <= o.From && o.From < s.To }) {
			times = 2
		}
		for k := range times {
			if due[k] += float64(o.Count); o.Outcome == record.OK {
				ok[k] += float64(o.Count)
			}
		}
	}
	for k, name := range []string{all, inFault} {
		if name != "" && due[k] > 0 {
			j.row.Figures[name] = ok[k] / due[k]
		}
	}
}

// union sorts spans and joins those that touch, in place.
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

// without returns the parts of spans outside of all holes; both are sorted and do not touch.
func without(spans, holes []record.Span) (out []record.Span) {
	for _, s := range spans {
		out = outside(out, holes, s)
	}
	return out
}

// outside appends the parts of a time that lie in no hole.
func outside(out, holes []record.Span, s record.Span) []record.Span {
	first := sort.Search(len(holes), func(i int) bool { return holes[i].To > s.From })
	for _, h := range holes[first:] {
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
	return out
}
