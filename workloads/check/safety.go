package check

import (
	"cmp"
	"math"
	"slices"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Violations are all violations of a run, excused ones last.
func Violations(r *record.Run) []result.Violation {
	row := result.Row{Figures: map[string]float64{}}
	judgeSafety(r, &row, math.MaxInt)
	return row.Violations
}

// safety counts what a lock must prevent, in the whole run, warm-up included: rooms created in vain, overlapping
// holds, fencing tokens that go back, and writes that a store took too late.
//
// Times of different hosts are right within their error bounds. A violation counts if it is one for all clocks
// within the bounds; if it is one only for some, as by the clocks that were read, it is in doubt.
type safety struct {
	*record.Run
	row     *result.Row
	checked bool // a writer showed a token; else stale writes and lost updates violate nothing
	found   []result.Violation
}

// judgeSafety puts the violations, at most most, and what they say about the lock into the row of the run.
func judgeSafety(r *record.Run, row *result.Row, most int) {
	j := safety{Run: r, row: row}
	row.Figures["overlaps"], row.Figures["in_doubt"] = 0, 0
	for _, name := range r.Workload.Counts {
		row.Figures[name] = 0
	}
	j.rooms()
	j.holds()
	j.writes()
	j.first(most)
	row.Verdict.Safety = j.statement()
}

func (j *safety) statement() result.Statement {
	codes := []result.Code{result.Duplicates, result.Overlaps, result.TokensBack}
	if j.checked {
		codes = append(codes, result.StaleWrites, result.LostUpdates)
	}
	for _, code := range codes {
		if n := j.row.Figures[code.Figure()]; n > 0 {
			return result.Statement{State: result.Failed, Code: code, N: n}
		}
	}
	if n := j.row.Figures["in_doubt"]; n > 0 {
		return result.Statement{State: result.Unknown, Code: result.InDoubt, N: n}
	}
	return result.Statement{State: result.OK}
}

// violation counts and keeps a violation.
func (j *safety) violation(code result.Code, at int64, resource string, was, came result.Party) {
	j.row.Figures[code.Figure()]++
	j.found = append(j.found, result.Violation{Code: code, AtMS: j.MS(at), Resource: resource, First: was, Second: came})
}

// first lists violations in order of time, an equal share for each code, then as many excused ones as fit.
func (j *safety) first(most int) {
	slices.SortStableFunc(j.found, func(a, b result.Violation) int { return cmp.Compare(a.AtMS, b.AtMS) })
	told := map[result.Code]int{}
	for _, v := range j.found {
		if !v.Excused {
			told[v.Code] = 0
		}
	}
	share, list := most/max(len(told), 1), &j.row.Violations
	for _, excused := range []bool{false, true} {
		for _, v := range j.found {
			if v.Excused == excused && (excused || told[v.Code] < share) && len(*list) < most {
				told[v.Code]++
				*list = append(*list, v)
			}
		}
	}
}

// holder describes a hold for results.
func (j *safety) holder(a *record.Acquire) result.Party {
	return result.Party{Node: a.Node, Hold: a.Hold, Token: a.Token, FromMS: j.MS(a.At), ToMS: j.MS(a.Until)}
}

// holds checks the holds of each resource.
func (j *safety) holds() {
	var holds []*record.Acquire
	var zombie int64
	for own := range j.ByResource() {
		holds = holds[:0]
		for _, a := range own {
			if a.Granted() {
				holds = append(holds, a)
			}
		}
		j.overlaps(holds)
		zombie = max(zombie, j.zombie(holds))
		j.tokens(slices.DeleteFunc(holds, func(a *record.Acquire) bool { return a.Token == 0 }))
	}
	j.row.Figures["zombie_ms"] = record.MS(zombie)
}

// overlaps counts the holds that surely were not over when another one began, and that surely were there before it
// ended: bounds of clocks can hide which of two short holds was the first.
func (j *safety) overlaps(holds []*record.Acquire) {
	slices.SortFunc(holds, func(a, b *record.Acquire) int {
		return cmp.Or(cmp.Compare(a.At+a.Err, b.At+b.Err), cmp.Compare(b.Until-b.Err, a.Until-a.Err))
	})
	var bound int64
	for _, h := range holds {
		bound = max(bound, h.Err)
	}
	for i, h := range holds {
		doubt := 0.
		for _, next := range holds[i+1:] {
			switch {
			case next.At+next.Err < h.Until-h.Err && h.At+h.Err < next.Until-next.Err:
				j.violation(result.Overlaps, next.At, h.Resource, j.holder(h), j.holder(next))
				doubt = 0
			case next.At+next.Err < h.Until+bound: // so may others be, whose bounds are larger
				if next.At < h.Until && h.At < next.Until {
					doubt = 1
				}
				continue
			}
			break
		}
		j.row.Figures["in_doubt"] += doubt
	}
}

// tokens counts the holds whose token is not higher than that of each hold that surely ended before they began.
func (j *safety) tokens(holds []*record.Acquire) {
	if len(holds) > 0 {
		j.row.Figures["tokens_back"] += 0
	}
	slices.SortFunc(holds, func(a, b *record.Acquire) int { return cmp.Compare(a.At-a.Err, b.At-b.Err) })
	ended := slices.Clone(holds)
	slices.SortFunc(ended, func(a, b *record.Acquire) int { return cmp.Compare(surelyOver(a), surelyOver(b)) })
	var highest *record.Acquire
	for _, h := range holds {
		for len(ended) > 0 && ended[0] != h && surelyOver(ended[0]) <= h.At-h.Err {
			if highest == nil || ended[0].Token > highest.Token {
				highest = ended[0]
			}
			ended = ended[1:]
		}
		if highest != nil && h.Token <= highest.Token {
			j.violation(result.TokensBack, h.At, h.Resource, j.holder(highest), j.holder(h))
		}
	}
}

func surelyOver(a *record.Acquire) int64 {
	if a.Until == record.Never {
		return record.Never
	}
	return a.Until + a.Err
}

// zombie is the longest time that a holder surely went on to believe that it holds after a surely later grant.
func (j *safety) zombie(holds []*record.Acquire) (longest int64) {
	slices.SortFunc(holds, func(a, b *record.Acquire) int { return cmp.Compare(a.At-a.Err, b.At-b.Err) })
	begun := slices.SortedFunc(slices.Values(holds), func(a, b *record.Acquire) int {
		return cmp.Compare(a.At+a.Err, b.At+b.Err)
	})
	var believed int64 // earlier holders surely believed until then
	for _, h := range holds {
		for ; begun[0].At+begun[0].Err < h.At-h.Err; begun = begun[1:] {
			believed = max(believed, min(begun[0].Until, j.End)-begun[0].Err)
		}
		longest = max(longest, believed-h.At-h.Err)
	}
	return longest
}

// room is a room from its creation until it was full, closed or lost.
type room struct {
	*record.Room
	start, until int64
	order        *history.Event // nil: not on record
}

// rooms finds the duplicates: rooms whose creation began while another one of their group was
// starting or had a free seat.
func (j *safety) rooms() {
	for group := range record.Groups(j.buildRooms(), func(r room) string { return r.Resource }) {
		free := make([]*room, 0, len(group))
		for i := range group {
			free = append(j.compare(&group[i], free), &group[i])
		}
	}
}

// buildRooms sorts rooms by group and creation.
func (j *safety) buildRooms() (rooms []room) {
	orders := make(map[string]*history.Event, len(j.Orders))
	for i := range j.Orders {
		orders[j.Orders[i].Order] = &j.Orders[i]
	}
	delete(orders, "")
	for i := range j.Rooms {
		r := &j.Rooms[i]
		start := r.Begun()
		until := min(r.Over(), j.Nodes[r.Worker].Next(start).At)
		rooms = append(rooms, room{r, start, until, orders[r.Order]})
	}
	slices.SortFunc(rooms, func(a, b room) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.start, b.start), cmp.Compare(a.ID, b.ID))
	})
	return rooms
}

// compare judges a room by the earlier ones of its group, newest first, up to one that makes a violation. It
// returns those that may still be free.
func (j *safety) compare(r *room, earlier []*room) (left []*room) {
	doubt, excused, keep := false, (*room)(nil), len(earlier)
	for i, o := range slices.Backward(earlier) {
		if o.until <= r.start {
			continue
		}
		keep--
		earlier[keep] = o
		switch {
		case j.arrivedLate(r) || j.arrivedLate(o) && r.order != nil && r.order.FromNS < o.start || j.apart(r, o):
			excused = cmp.Or(excused, o)
		case o.until-o.Err <= r.start+r.Err || r.until-r.Err <= o.start+o.Err:
			doubt = true
		default:
			j.violation(result.Duplicates, r.start, r.Resource, j.ordered(o), j.ordered(r))
			return append(earlier[:i], earlier[keep:]...)
		}
	}
	switch {
	case doubt:
		j.row.Figures["in_doubt"]++
	case excused != nil:
		j.row.Figures["unreachable"]++
		j.found = append(j.found, result.Violation{
			Code: result.Duplicates, AtMS: j.MS(r.start), Resource: r.Resource,
			First: j.ordered(excused), Second: j.ordered(r), Excused: true,
		})
	}
	return append(earlier[:0], earlier[keep:]...)
}

// arrivedLate says that the order of a room arrived after its master had been killed. The first room of a pair is
// excused by this only if it began after the second's master had looked at the workers.
func (j *safety) arrivedLate(r *room) bool {
	return r.order == nil && j.Nodes[r.Master].Life(r.start) > 0
}

// apart says that a fault of links kept the master of the later order from the worker of the other, and that the
// two orders did not overlap. The room of the earlier order may begin last: the fault held the order.
func (j *safety) apart(r, o *room) bool {
	if r.order != nil && o.order != nil && r.order.AtNS <= o.order.FromNS {
		r, o = o, r
	}
	if r.order == nil || !slices.Contains(r.order.Unreachable, o.Worker) {
		return false
	}
	if o.order != nil && o.order.FromNS < r.order.AtNS && r.order.FromNS < o.order.AtNS {
		return false
	}
	after := int64(j.Head.Limit(time.Second)) // the master looked before the heal
	return slices.ContainsFunc(j.Faults, func(f record.Fault) bool {
		return f.Cuts() && f.First() <= r.start && r.start-after <= f.Ended
	})
}

// ordered describes a room for results.
func (j *safety) ordered(r *room) result.Party {
	p := result.Party{Node: r.Master, Room: r.ID, Worker: r.Worker, FromMS: j.MS(r.start), ToMS: j.MS(r.until)}
	if r.order != nil {
		p.Hold = r.order.Hold
	}
	return p
}

// access is a read or write at the store of fenced-write, with its hold; nil if that is not on record.
type access struct {
	*history.Event
	hold *record.Acquire
}

func (a access) wrote() bool { return a.Kind == history.KindWrite && a.State == history.WriteAccepted }

// position orders accesses without any clock: a write comes between its version and the one before, any other
// access after the version that it met.
func (a access) position() uint64 {
	if a.wrote() {
		return 2 * a.Version
	}
	return 2*a.Version + 1
}

// writes checks what the store did for each resource.
func (j *safety) writes() {
	all := make([]access, len(j.Accesses))
	for i := range j.Accesses {
		a := &j.Accesses[i]
		all[i] = access{a, j.Hold(a.Hold)}
		if a.Kind == history.KindWrite && a.State == history.WriteRefused {
			j.row.Figures["fenced_writes"]++
		}
		j.checked = j.checked || a.Kind == history.KindWrite && a.State != history.WriteUnknown && a.Token > 0
	}
	slices.SortFunc(all, func(a, b access) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.position(), b.position()),
			cmp.Compare(a.AtNS, b.AtNS))
	})
	for own := range record.Groups(all, func(a access) string { return a.Resource }) {
		j.stale(own)
		j.lost(own)
	}
}

// stale counts the writes that the store took after it had served a later hold.
func (j *safety) stale(own []access) {
	var newest access
	for _, a := range own {
		if a.hold == nil || a.State == history.WriteRefused || a.State == history.WriteUnknown {
			continue
		}
		if a.wrote() && newest.hold != nil && later(newest.hold, a.hold) {
			j.late(result.StaleWrites, newest, a)
		}
		if newest.hold == nil || later(a.hold, newest.hold) {
			newest = a
		}
	}
}

// later says that a hold was surely granted after another one, by their tokens or else by the times of the grants.
func later(a, b *record.Acquire) bool {
	if a.Token > 0 && b.Token > 0 && a.Token != b.Token {
		return a.Token > b.Token
	}
	return a.At-a.Err > b.At+b.Err
}

// lost counts the versions that a later writer overwrote without having read them.
func (j *safety) lost(own []access) {
	var by access
	read := uint64(math.MaxUint64) // the oldest version that a later writer had read
	for _, a := range slices.Backward(own) {
		if !a.wrote() {
			continue
		}
		if read < a.Version {
			j.late(result.LostUpdates, a, by)
		}
		if a.Base < read {
			read, by = a.Base, a
		}
	}
}

// late counts a stale write or a lost update; it is a violation if the store checked tokens.
func (j *safety) late(code result.Code, was, came access) {
	if j.checked {
		j.violation(code, came.AtNS, came.Resource, j.writer(was), j.writer(came))
	} else {
		j.row.Figures[code.Figure()]++
	}
}

func (j *safety) writer(a access) result.Party {
	if a.hold != nil {
		return j.holder(a.hold)
	}
	return result.Party{Node: a.Client, Hold: a.Hold, Token: a.Token, FromMS: j.MS(a.AtNS), ToMS: j.MS(a.AtNS)}
}
