package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/peers"
)

// checks are what is watched during a run.
type checks struct {
	waiting int   // peers
	holders []int // who believes that it holds
	freed   int64 // when the last hold ended while somebody waited; -1 otherwise
	seen    uint64
	forgot  bool // a majority had lost its memory at once since seen was set
}

// hold notes that a client of peer i believes from now on that it holds, and looks
// whether another one does, and what a resource that checks tokens would say.
func (s *simulator[S, M, P]) hold(i int) {
	c, p := &s.checks, &s.peers[i]
	s.res.Grants++
	if c.freed >= 0 {
		s.res.Handoff.Add(time.Duration(s.now - c.freed))
		c.freed = -1
	}
	switch stale := peers.Stale(p.token, c.seen); {
	case stale && c.forgot: // from here on they must grow again
		c.seen, c.forgot = p.token, false
		s.violate(Finding{Kind: Forgot, A: i, B: i, Since: time.Duration(s.now)})
	case stale:
		s.violate(Finding{Kind: Token, A: i, B: i, Since: time.Duration(s.now)})
	default:
		c.seen = max(c.seen, p.token)
	}
	for _, h := range c.holders {
		o := &s.peers[h]
		kind := Overlap
		if p.token != 0 && o.token != 0 && p.token > o.token && s.leaseIsOver(h) {
			kind = Fenced // whatever the earlier one still writes is refused
		}
		s.violate(Finding{Kind: kind, A: h, B: i, Since: time.Duration(o.since)})
	}
	c.holders = append(c.holders, i)
}

// forget is called when a process has died. A core that keeps votes in memory promises
// that tokens grow while less than a majority has lost its memory and not recovered yet.
func (s *simulator[S, M, P]) forget(died int) {
	if peercore.Stores[S, M, P](&s.peers[died].State) {
		return
	}
	without := 0
	for i := range s.peers {
		p := &s.peers[i]
		if !s.procs[i].alive || !P(&p.State).Bootstrapped() {
			without++
		}
	}
	s.checks.forgot = s.checks.forgot || without > s.n/2
}

// leaseIsOver says that leases do not rule out that somebody else than the holder h
// holds now: its lease is over by its own clock, which it has not noticed because its
// process stands still, or a vote that was given for the lease, at its begin at the
// earliest, is over by the clock of another peer, which then runs wrong. What stood still
// or ran wrong at another time, or at another peer, excuses nothing.
func (s *simulator[S, M, P]) leaseIsOver(h int) bool {
	d := &s.peers[h].timers[peercore.Lease]
	if !d.running {
		return false
	}
	if d.at <= s.now {
		return true
	}
	for i := range s.peers {
		if i != h && s.due(i, d.from, s.shell.Lease.Takes(peercore.Vote)) <= s.now {
			return true
		}
	}
	return false
}

// endHold notes that it does not believe so any more.
func (s *simulator[S, M, P]) endHold(i int) {
	c := &s.checks
	if at := slices.Index(c.holders, i); at >= 0 {
		c.holders = slices.Delete(c.holders, at, at+1)
	}
	if len(c.holders) == 0 && c.waiting > 0 {
		c.freed = s.now
	}
}

// violate notes a finding: the first of each name in full.
func (s *simulator[S, M, P]) violate(f Finding) {
	f.At = time.Duration(s.now)
	f.Under = s.under(f)
	if s.trace != nil {
		s.trace.finding(f)
	}
	s.res.Counts[f.Name()]++
	if s.res.Counts[f.Name()] == 1 {
		s.res.Findings = append(s.res.Findings, f)
	}
	if s.cfg.StopAtFirst && f.Kind.Bad() {
		s.stopped = true
	}
}

// under is the kinds of faults around the finding: from a little before the first of
// two holds began, for what was broken then may be felt later.
func (s *simulator[S, M, P]) under(f Finding) string {
	const after = time.Second
	if f.Kind == Stuck || f.Kind == Token || f.Kind == Forgot { // their cause may be long ago
		f.Since = 0
	}
	var kinds []string
	for _, o := range s.cfg.Faults {
		if o.From <= f.At && o.Until+after >= f.Since {
			kinds = append(kinds, string(o.Kind))
		}
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), "+")
}

// finish looks at who still waits.
func (s *simulator[S, M, P]) finish() {
	s.res.Virtual = time.Duration(s.now)
	if s.res.Truncated == 0 && !s.stopped {
		for i := range s.peers {
			if p := &s.peers[i]; p.waiting || p.early > 0 {
				s.violate(Finding{Kind: Stuck, A: i, B: i, Since: time.Duration(p.waitsSince)})
			}
		}
	}
}

// FindingKind is what was found.
type FindingKind string

// What can be found.
const (
	// Overlap: two clients believed at once that they hold.
	Overlap FindingKind = "overlap"
	// Fenced is the same where the tokens grew and the earlier hold was older than its lease
	// when the later one began, by the holder's clock or by another peer's: a resource that
	// checks tokens refuses the earlier one from the moment it has seen the later one. No
	// violation.
	Fenced FindingKind = "fenced-overlap"
	// Token: a grant whose token is not above one that was used before: a resource that
	// checks tokens takes a stale one for good or refuses a good one.
	Token FindingKind = "token"
	// Forgot is the same after a majority of peers that keep their votes in memory had lost
	// it within one recovery. They do not promise more. No violation.
	Forgot FindingKind = "forgotten-tokens"
	// Stuck: all was healed and nobody else asked any more, and yet a peer waited on.
	Stuck FindingKind = "stuck"
	// Untold: a core held, or had ceased to, and its client was told something else.
	Untold FindingKind = "untold"
)

// Bad says that it violates what a lock promises.
func (k FindingKind) Bad() bool { return k != Fenced && k != Forgot }

// Finding is something that should not have happened.
type Finding struct {
	Kind  FindingKind   `json:"kind"`
	At    time.Duration `json:"at_ns"`
	Since time.Duration `json:"since_ns"` // when the earlier hold, or the wait, began
	A     int           `json:"a"`        // the rank concerned; of two, the one that held first
	B     int           `json:"b"`        // the other one
	Under string        `json:"under"`    // kinds of faults around it, such as crash+pause; "" if there were none
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
		return fmt.Sprintf("token: at %v p%d holds with a token that is not above all that were used", f.At, f.A)
	case Untold:
		return fmt.Sprintf("untold: at %v p%d and its client do not agree on whether it holds", f.At, f.A)
	case Forgot:
		return fmt.Sprintf("forgotten-tokens: at %v p%d holds with a token that is not above all that were used; a majority had lost its memory", f.At, f.A)
	case Stuck:
		return fmt.Sprintf("stuck: p%d waits since %v", f.A, f.Since)
	default:
		return fmt.Sprintf("%s: p%d at %v", f.Kind, f.A, f.At)
	}
}
