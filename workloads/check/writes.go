package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"locklab/internal/sentence"
	"locklab/workloads/history"
)

// writes is the part of the workload whose holders write to a store.
type writes struct {
	acquisitions
	accesses []access
	ordered  [][]*access // those of each resource, by position
}

// access is what a store did for a holder.
type access struct {
	at, err              int64
	node, by, resource   int32 // by: the holder's master
	hold                 string
	token, version, base uint64
	what                 accessKind
	after                *acquire // of a write: the newest hold that the store had served before
}

type accessKind uint8

const (
	didRead accessKind = iota
	didWrite
	didRefuse   // a write
	didTurnAway // a reader
	untold      // its writer was not told what became of the write
)

// FencedWrite is the workload in which holders write to a store that checks fencing tokens.
func FencedWrite() Workload {
	return Workload{Name: history.FencedWrite, begin: func(c *Checker) part { return &writes{acquisitions: acquisitions{c}} }}
}

func (c *writes) add(e *history.Event) {
	a := access{
		at: e.AtNS, err: e.ErrNS, node: c.names.id(e.Node), by: c.names.id(e.Client), resource: c.names.id(e.Resource),
		hold: e.Hold, token: e.Token, version: e.Version, base: e.Base,
	}
	switch {
	case e.Kind == history.KindRead && e.State == history.WriteRefused:
		a.what = didTurnAway
	case e.Kind == history.KindRead:
	case e.Kind != history.KindWrite:
		return
	case e.State == history.WriteAccepted:
		a.what = didWrite
	case e.State == history.WriteRefused:
		a.what = didRefuse
	default:
		a.what = untold
	}
	c.accesses = push(c.accesses, a)
}

func (c *writes) records(do func(err *int64, node int32)) {
	for i := range c.accesses {
		do(&c.accesses[i].err, c.accesses[i].node)
	}
}

// whole wants nothing of that in the history of another workload.
func (c *writes) whole(own bool) {
	if n := len(c.accesses); !own && n > 0 {
		c.flaws.add(misfit, int64(n), sentence.Of("reads and writes in the workload %s", c.run.Workload))
	}
}

// fit compares what the store did with the holds that it was done under. A write may come
// later than the end of its hold, but not before the beginning.
func (c *writes) fit() {
	for i := range c.accesses {
		a := &c.accesses[i]
		switch h := c.holds.get(holdKey{a.by, a.hold}); {
		case h == nil && c.complete():
			c.flaws.add(missing, 1, sentence.Of("the acquisition of hold %s, for which the store read or wrote", cmp.Or(brief(a.hold), noName)))
		case h == nil:
		case h.resource != a.resource:
			c.flaws.add(misfit, 1, sentence.Of("hold %s is of %s, and wrote to %s", brief(a.hold), c.name(h.resource), c.name(a.resource)))
		case a.at+a.err < h.at-h.err:
			c.flaws.add(misfit, 1, sentence.Of("hold %s read or wrote %s before it was granted", brief(a.hold), time.Duration(h.at-a.at)))
		case a.token > 0 && a.token != h.token:
			c.flaws.add(misfit, 1, sentence.Of("hold %s got token %d, and showed %d", brief(a.hold), h.token, a.token))
		}
		if a.what == didWrite && a.base >= a.version {
			c.flaws.add(misfit, 1, sentence.Of("version %d of %s was written by who had read %d", a.version, c.name(a.resource), a.base))
		}
	}
	c.order()
}

// order puts what the store did in the order of its versions, which needs no clock, and
// notes which hold was the newest that it had served before each write.
func (c *writes) order() {
	byResource := map[int32][]*access{}
	for i := range c.accesses {
		a := &c.accesses[i]
		byResource[a.resource] = append(byResource[a.resource], a)
	}
	for _, resource := range slices.Sorted(maps.Keys(byResource)) {
		all := byResource[resource]
		slices.SortStableFunc(all, func(a, b *access) int {
			return cmp.Or(cmp.Compare(a.position(), b.position()), cmp.Compare(a.at, b.at))
		})
		c.ordered = append(c.ordered, all)
		var newest *acquire
		next := 0
		serve := func(before uint64) {
			for ; next < len(all) && all[next].position() < before; next++ {
				if what := all[next].what; what != didRead && what != didWrite { // whether it was served is not known, and what its hold read is on record
					continue
				}
				if h := c.holdOf(all[next]); h != nil && (newest == nil || later(h, newest)) {
					newest = h
				}
			}
		}
		for i, a := range all {
			switch a.what {
			case didWrite:
				serve(a.position())
				if i > 0 && all[i-1].position() == a.position() {
					c.flaws.add(twice, 1, sentence.Of("version %d of %s", a.version, c.name(a.resource)))
				}
			case didRefuse, didTurnAway: // by who came for the version that it met, too
				serve(a.position() + 1)
				h := c.holdOf(a)
				// A lock's own store knows by itself that a lease is over.
				if own := a.node == a.by; !own && h != nil && (newest == nil || !later(newest, h)) {
					c.flaws.add(misfit, 1, sentence.Of("the store refused hold %s of %s, and nobody had come with a later one", brief(a.hold), c.name(a.resource)))
				}
			case didRead, untold:
			}
			a.after = newest
		}
	}
}

// holdOf is the hold that the store served; nil if it is not on record.
func (c *writes) holdOf(a *access) *acquire { return c.holds.get(holdKey{a.by, a.hold}) }

// since is when the hold was asked for that the store served; from the beginning on if that is not on
// record, so that any fault before may be to blame.
func (c *writes) since(a *access) int64 {
	if h := c.holdOf(a); h != nil {
		return h.asked()
	}
	return 0
}

func (c *writes) judge(f *Findings, t timeline) {
	f.summary = aboutWrites{}
	for _, field := range []string{"writes", "checked_writes", "stale_writes", "fenced_writes", "lost_updates"} {
		f.Counts[field] = 0 // that there was none is a figure, too
	}
	for _, all := range c.ordered {
		for _, a := range all {
			c.count(f, t, a)
		}
		c.checkLost(f, t, all)
	}
}

// count counts a write, and whether it came when the store had already served a later holder.
func (c *writes) count(f *Findings, t timeline, a *access) {
	if a.what != didWrite && a.what != didRefuse {
		return
	}
	if a.token > 0 {
		f.Counts["checked_writes"]++
	}
	if a.what == didRefuse {
		f.Counts["fenced_writes"]++
		return
	}
	f.Counts["writes"]++
	if h := c.holdOf(a); h == nil || a.after == nil || !later(a.after, h) {
		return
	}
	f.Counts["stale_writes"]++
	c.untouched(f, "stale_writes_untouched", a.resource, min(c.since(a), a.after.asked()), a.at)
	if a.token > 0 { // it should have been refused
		f.Violated[staleWrite]++
		f.violation(t, a.at)
	}
	c.example(f, t, staleWrite, c.names.text(a.resource), a.at, func() sentence.Text {
		return sentence.Of("%s on %s wrote version %d of %s after %s on %s, which was granted later, had been there",
			brief(a.hold), c.name(a.by), a.version, c.name(a.resource), brief(a.after.hold), c.name(a.after.node))
	})
}

// position orders what a store did: a write lies between its version and the one before,
// all else at the version that it met.
func (a *access) position() uint64 {
	if a.what == didWrite {
		return 2 * a.version
	}
	return 2*a.version + 1
}

// later says whether a hold was surely granted after another one: by their tokens if they
// have some, else by when their clients were told.
func later(a, b *acquire) bool {
	if a.token > 0 && b.token > 0 && a.token != b.token {
		return a.token > b.token
	}
	return a.at-a.err > b.at+b.err
}

// checkLost counts the versions that were overwritten by who had not read them.
func (c *writes) checkLost(f *Findings, t timeline, all []*access) {
	knows := ^uint64(0) // the least that a later writer had read
	var by *access
	for _, a := range slices.Backward(all) { // sorted by position
		if a.what != didWrite {
			continue
		}
		if knows < a.version {
			f.Counts["lost_updates"]++
			c.untouched(f, "lost_updates_untouched", a.resource, min(c.since(a), c.since(by)), by.at)
			if a.token > 0 && by.token > 0 {
				f.Violated[lostUpdate]++
				f.violation(t, by.at)
			}
			over := by
			c.example(f, t, lostUpdate, c.names.text(a.resource), over.at, func() sentence.Text {
				return sentence.Of("%s on %s overwrote version %d of %s, by %s on %s, and had read version %d",
					brief(over.hold), c.name(over.by), a.version, c.name(a.resource), brief(a.hold), c.name(a.by), over.base)
			})
		}
		if a.base < knows {
			knows, by = a.base, a
		}
	}
}

func (c *writes) notes(resource string, note func(at int64, tag, state, details, color string)) {
	for i := range c.accesses {
		a := &c.accesses[i]
		state, color := "read", "#d9ead3"
		switch a.what {
		case didRead:
		case didWrite:
			state = "written"
		case didRefuse, didTurnAway:
			state, color = "refused", "#f4cccc"
		case untold:
			state = "not known"
		}
		if c.names.text(a.resource) == resource {
			note(a.at, "store on "+c.name(a.node), state, fmt.Sprintf("%s, version %d, token %d", brief(a.hold), a.version, a.token), color)
		}
	}
}

type aboutWrites struct{}

func (aboutWrites) lacks(f *Findings) sentence.Text {
	if f.Counts["writes"]+f.Counts["fenced_writes"] == 0 {
		return sentence.Of("no write reached the store, so nothing is known of what it would have taken")
	}
	return sentence.Text{}
}

// told is what the store did, and what it could check.
func (aboutWrites) told(f *Findings) sentence.Text {
	if f.Counts["writes"]+f.Counts["fenced_writes"] == 0 {
		return sentence.Text{}
	}
	writes := sentence.Count(f.Counts["writes"], "1 write", "%d writes")
	took := sentence.Of("%s, %d of which were stale", writes, f.Counts["stale_writes"])
	if n := f.Counts["lost_updates"]; n > 0 {
		took = sentence.Of("%s, and %s", took, sentence.Count(n, "1 update was lost", "%d updates were lost"))
	}
	switch {
	case f.Counts["checked_writes"] > 0:
		return sentence.Of("Fencing was on: the store refused %s and took %s", sentence.Count(f.Counts["fenced_writes"], "1 late write", "%d late writes"), took)
	case f.Tokens == 0 && f.AcquiredOK > 0:
		return sentence.Of("This lock has no fencing tokens, so there was nothing to check, with fencing as without: the store took %s", took)
	}
	return sentence.Of("Fencing was off: the store took %s", took)
}

// What a store may have to suffer of a lock.
const (
	staleWrite = "stale write"
	lostUpdate = "lost update"
)

// violated says how often there was what only one workload's lock should have prevented.
func violated(what string, n int64) sentence.Text {
	if what == staleWrite {
		return sentence.Count(n, "1 stale write", "%d stale writes")
	}
	return sentence.Count(n, "1 lost update", "%d lost updates")
}
