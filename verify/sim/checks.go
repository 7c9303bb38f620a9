package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/peers"
)

// hold notes that a client of peer i believes from now on that it holds, and looks whether another one
// does, and what a resource that checks tokens would say.
func (r *run[S, M, P]) hold(i int) {
	p := &r.peers[i]
	r.res.Grants++
	if peers.Stale(p.token, r.seen) {
		r.violate(Finding{Kind: Token, A: i, B: i})
	}
	r.seen = max(r.seen, p.token)
	for _, h := range r.holders {
		o := &r.peers[h]
		kind := Overlap
		if p.token != 0 && o.token != 0 && p.token > o.token && r.leaseIsOver(h) {
			kind = Fenced // whatever the earlier one still writes is refused
		}
		r.violate(Finding{Kind: kind, A: h, B: i, Since: time.Duration(o.since)})
	}
	r.holders = append(r.holders, i)
}

// endHold notes that it does not believe so any more.
func (r *run[S, M, P]) endHold(i int) {
	if at := slices.Index(r.holders, i); at >= 0 {
		r.holders = slices.Delete(r.holders, at, at+1)
	}
}

// leaseIsOver says that leases do not rule out that another peer than the holder h holds now: its
// lease is over by its own clock, which it has not noticed because its process stands still, or a
// vote that was given for the lease, at its begin at the earliest, is over by the clock of another
// peer, which then runs wrong. What happened at another time or peer excuses nothing.
func (r *run[S, M, P]) leaseIsOver(h int) bool {
	d := &r.peers[h].timers[peercore.Lease]
	if !d.running {
		return false
	}
	over := d.at <= r.now
	for i := range r.peers {
		over = over || i != h && r.cfg.due(i, d.from, r.lock.Lease.Takes(peercore.Vote)) <= r.now
	}
	return over
}

// violate notes a finding: the first of each name in full.
func (r *run[S, M, P]) violate(f Finding) {
	f.At = time.Duration(r.now)
	f.Under = r.under(f)
	r.trace("**** %v", f)
	r.res.Counts[f.Name()]++
	if r.res.Counts[f.Name()] == 1 {
		r.res.Findings = append(r.res.Findings, f)
	}
}

// under is the kinds of faults around the finding: of two holds from a little before the first of them
// began, for what was broken then may be felt later; of anything else since the begin of the run.
func (r *run[S, M, P]) under(f Finding) string {
	const after = time.Second
	if f.Kind == Stuck {
		f.Since = 0
	}
	var kinds []string
	for _, o := range r.cfg.Faults {
		if o.From <= f.At && o.Until+after >= f.Since {
			kinds = append(kinds, string(o.Kind))
		}
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), "+")
}

// finish looks which peers still wait.
func (r *run[S, M, P]) finish() {
	r.res.Virtual = time.Duration(r.now)
	for i := range r.peers {
		if p := &r.peers[i]; p.waiting {
			r.violate(Finding{Kind: Stuck, A: i, B: i, Since: time.Duration(p.waitsSince)})
		}
	}
}

// FindingKind is what was found.
type FindingKind string

// What can be found.
const (
	// Overlap: two clients believed at once that they hold.
	Overlap FindingKind = "overlap"
	// Fenced is the same where the tokens grew and the earlier hold was older than its lease when the
	// later one began: a resource that checks tokens refuses the earlier one. No violation.
	Fenced FindingKind = "fenced-overlap"
	// Token: a grant whose token is not above one that was used before.
	Token FindingKind = "token"
	// Stuck: all was healed and no other client asked any more, and yet a peer waited on.
	Stuck FindingKind = "stuck"
	// Untold: a core held, or had ceased to, and its client was told something else.
	Untold FindingKind = "untold"
)

// Bad says that it violates what a lock promises.
func (k FindingKind) Bad() bool { return k != Fenced }

// Finding is something that should not have happened.
type Finding struct {
	Kind  FindingKind
	At    time.Duration
	Since time.Duration // when the earlier hold, or the wait, began
	A     int           // the rank concerned; of two, the one that held first
	B     int           // the other one
	Under string        // kinds of faults around it, such as crash+pause; "" if there were none
}

// Name is its kind and what was broken.
func (f Finding) Name() string {
	if f.Under == "" {
		return string(f.Kind) + " without a fault"
	}
	return string(f.Kind) + " under " + f.Under
}

func (f Finding) String() string {
	switch f.Kind {
	case Overlap, Fenced:
		return fmt.Sprintf("%s: p%d holds since %v, and from %v so does p%d", f.Kind, f.A, f.Since, f.At, f.B)
	case Token:
		return fmt.Sprintf("%s: at %v p%d holds with a token that is not above all that were used", f.Kind, f.At, f.A)
	case Stuck:
		return fmt.Sprintf("stuck: p%d waits since %v", f.A, f.Since)
	default:
		return fmt.Sprintf("untold: at %v p%d and its client do not agree on whether it holds", f.At, f.A)
	}
}
