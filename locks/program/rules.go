package program

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

const ruleHello = "hello"

func rules() []rule {
	return []rule{
		{ruleHello, "says hello with the version, and what its lock has, and nothing else before", sayHello},
		{"end", "ends by itself when its input ends", endWithInput},
		{"free", "grants what is free, and what was given back", grantFree},
		{
			"kept", "lets nothing that it granted be lost while nothing disturbs it, or not before half of its lease",
			keepGrants,
		},
		{"exclusive", "keeps the clients of other programs out", func(ctx context.Context, t *trial) {
			keepOut(ctx, t, t.program(ctx), t.program(ctx))
		}},
		{"exclusive-within", "keeps its own other callers out", func(ctx context.Context, t *trial) {
			p := t.program(ctx)
			keepOut(ctx, t, p, p)
		}},
		{"deadline", "answers an acquisition that it cannot grant by the deadline, not with ok", answerInTime},
		{"handover", "lets a waiter in when the holder releases, and not only when its lease ends", handOver},
		{"parallel", "serves others while one of its callers waits", serveOthers},
		{"give-up", "answers at once when a waiter releases, and leaves nothing behind", giveUpWaiting},
		{"tokens", "gives each grant a greater token than any before, if hello says that it has them", growTokens},
		{"lease", "says when a grant ends, and grants to nobody else before", endLeases},
		{"crash", "frees what a killed program held, but not before its lease had ended", freeCrashed},
		{"names", "takes every name of up to 255 bytes, and confuses no two", takeNames},
		{"cut-off", "answers by the deadline, not with ok, while its servers cannot be reached, and recovers", surviveCut},
	}
}

func sayHello(ctx context.Context, t *trial) { t.program(ctx) }

func endWithInput(ctx context.Context, t *trial) {
	p := t.program(ctx)
	t.programs = nil // run must not end it
	if !p.end(late) {
		t.fail("%w", p.reason())
	}
}

func grantFree(ctx context.Context, t *trial) {
	p, r := t.program(ctx), t.resource()
	for range 2 {
		t.back(ctx, p, t.take(ctx, p, r))
	}
}

// keepGrants checks that a grant is not lost within a moment.
func keepGrants(ctx context.Context, t *trial) {
	p := t.program(ctx)
	t.again(func() error {
		held := t.take(ctx, p, t.resource())
		pause(ctx, p.moment())
		lost, had := held.lease.IsLost(), clock.System().Now().Sub(held.askedAt)
		t.back(ctx, p, held)
		if !lost || p.hello.Lease > 0 && had >= p.hello.Lease/2 { // lost late, as on a busy machine
			return nil
		}
		return fmt.Errorf("lost %v after it was asked for", had.Round(time.Millisecond))
	})
}

// moment is a short time within which no lease ends.
func (p *process) moment() time.Duration {
	if p.hello.Lease > 0 {
		return min(brief, p.hello.Lease/4)
	}
	return brief
}

// keepOut lets b request a resource that a holds, and returns the duration until the answer.
func keepOut(ctx context.Context, t *trial, a, b *process) (waited time.Duration) {
	r := t.resource()
	held := t.take(ctx, a, r)
	waited = t.mustWait(ctx, b, r, held)
	t.back(ctx, a, held)
	return waited
}

func answerInTime(ctx context.Context, t *trial) {
	a, b := t.program(ctx), t.program(ctx)
	t.promptly("acquire is answered %v behind its deadline", func() time.Duration { return keepOut(ctx, t, a, b) - brief })
}

// handOver checks that a waiter is granted before the released lease would have expired.
func handOver(ctx context.Context, t *trial) {
	a, b := t.program(ctx), t.program(ctx)
	t.again(func() error {
		r := t.resource()
		held := t.take(ctx, a, r)
		waiter := t.ask(b, r, ample)
		pause(ctx, a.moment())
		t.back(ctx, a, held)
		t.granted(ctx, b, "acquire of a released resource", waiter)
		until, ends := held.lease.Expires()
		late := ends && !clock.System().Now().Before(until)
		t.back(ctx, b, waiter)
		if late {
			return errors.New("acquire of a released resource: granted only when the lease of the one before had ended")
		}
		return nil
	})
}

func serveOthers(ctx context.Context, t *trial) {
	a, b := t.program(ctx), t.program(ctx)
	t.again(func() error {
		r := t.resource()
		held := t.take(ctx, a, r)
		waiter := t.ask(b, r, ample)
		t.back(ctx, b, t.take(ctx, b, t.resource()))
		waits := len(waiter.acquired) == 0
		t.back(ctx, a, held)
		t.answer(ctx, b, "acquire of a released resource", waiter.acquired, ample)
		if waiter.lease != nil {
			t.back(ctx, b, waiter)
		}
		if !waits {
			return errors.New("nothing else is granted before a waiter has its answer")
		}
		return nil
	})
}

func giveUpWaiting(ctx context.Context, t *trial) {
	a, b, r := t.program(ctx), t.program(ctx), t.resource()
	t.promptly("acquire of a waiter that was released is answered %v later", func() time.Duration {
		held := t.take(ctx, a, r)
		waiter := t.ask(b, r, time.Hour)
		pause(ctx, brief)
		began := clock.Mono()
		if err := b.release(waiter, ample); err != nil {
			t.fail("release of a waiter: %w", err)
		}
		t.answer(ctx, b, "acquire of a waiter that was released", waiter.acquired, 0)
		took := time.Duration(clock.Mono() - began)
		t.answer(ctx, b, "release of a waiter", waiter.released, ample)
		t.back(ctx, a, held)
		t.back(ctx, a, t.take(ctx, a, r))
		return took
	})
	// A release of an acquisition that was refused must be answered, too.
	refused := t.take(ctx, a, r)
	other := t.ask(b, r, brief)
	if s := t.answer(ctx, b, "acquire of a held resource", other.acquired, brief); s.Outcome != locks.OutcomeOK {
		if s := t.giveBack(ctx, b, other); s.Outcome == locks.OutcomeOK && !refused.lease.IsLost() {
			t.fail("release of an acquisition that was not granted: ok: want failed or unknown")
		}
	} else {
		t.back(ctx, b, other)
	}
	t.back(ctx, a, refused)
}

// growTokens compares the tokens of consecutive holds while callers of two programs queue.
func growTokens(ctx context.Context, t *trial) {
	a, b, r := t.program(ctx), t.program(ctx), t.resource()
	if !a.hello.Tokens {
		t.unchecked = "hello says that it has none"
		return
	}
	last, right := uint64(0), 0
	for try := 1; right < 3; try++ {
		if try > 3*tries {
			t.unchecked = "this machine took longer than a lease, again and again"
			return
		}
		tokens, kept := t.queue(ctx, []*process{a, b}, r)
		if !kept {
			continue // holds may have overlapped, so their order is unknown
		}
		for _, token := range tokens {
			if token <= last {
				t.fail("a hold has token %d, and the one before had token %d", token, last)
			}
			last = token
		}
		right++
	}
}

// queue lets callers of each program queue behind a holder, and returns the tokens in the order
// of the holds. That order is certain if each hold was kept until its release.
func (t *trial) queue(ctx context.Context, programs []*process, resource string) (tokens []uint64, kept bool) {
	const callers = 4
	holder := t.take(ctx, programs[0], resource)
	var waiting []*call
	for range callers {
		for _, p := range programs {
			waiting = append(waiting, t.ask(p, resource, ample))
		}
	}
	pause(ctx, brief)
	patience := clock.Mono() + int64(ample+late)
	answered := func(c *call) bool { return len(c.acquired) > 0 || signals.Closed(c.process.dead) }
	for kept = true; ; {
		kept = kept && !holder.lease.IsLost()
		tokens = append(tokens, holder.lease.token)
		t.back(ctx, holder.process, holder)
		if len(waiting) == 0 {
			return tokens, kept
		}
		next := slices.IndexFunc(waiting, answered)
		for ; next < 0; next = slices.IndexFunc(waiting, answered) {
			if clock.Mono() > patience || clock.Sleep(ctx, time.Millisecond) != nil {
				t.fail("%d callers that queue have no answer %v behind their deadline of %v", len(waiting), late, ample)
			}
		}
		holder = waiting[next]
		waiting = slices.Delete(waiting, next, next+1)
		t.granted(ctx, holder.process, "acquire of a released resource", holder)
	}
}

// endLeases holds for longer than a lease, and checks when another client gets the resource.
func endLeases(ctx context.Context, t *trial) {
	a, b, r := t.program(ctx), t.program(ctx), t.resource()
	if a.hello.Lease == 0 {
		t.unchecked = "hello says that a grant lasts until its release"
		return
	}
	held := t.take(ctx, a, r)
	if until, _ := held.lease.Expires(); until.Sub(held.askedAt) > a.hello.Lease+ample {
		t.fail("a lease of %v ends %v after it was asked for", a.hello.Lease, until.Sub(held.askedAt))
	}
	deadline := a.hello.Lease + a.hello.Lease/2
	waiter := t.ask(b, r, deadline)
	s := t.answer(ctx, b, "acquire of a held resource", waiter.acquired, deadline)
	over := held.lease.IsLost()
	if s.Outcome == locks.OutcomeOK && !over {
		until, _ := held.lease.Expires()
		early := until.Sub(clock.System().Now()).Round(time.Millisecond)
		t.fail("granted %v before the end of which its holder was told", early)
	}
	if s := t.giveBack(ctx, a, held); s.Outcome == locks.OutcomeOK && waiter.lease != nil {
		t.fail("release of a lease that had ended while another client held: ok: want failed or unknown")
	}
	if waiter.lease != nil {
		t.back(ctx, b, waiter)
	}
}

func freeCrashed(ctx context.Context, t *trial) {
	a, b, r := t.program(ctx), t.program(ctx), t.resource()
	held := t.take(ctx, a, r)
	until, ends := held.lease.Expires()
	a.fail(errors.New("it was killed to see what becomes of what it held"))
	<-a.gone
	deadline := a.hello.Lease + ample/2
	waiter := t.ask(b, r, deadline)
	s := t.answer(ctx, b, "acquire of what a killed program held", waiter.acquired, deadline)
	switch now := clock.System().Now(); {
	case s.Outcome != locks.OutcomeOK:
		t.fail("acquire of what a killed program held, with a deadline of %v: %s: %s", deadline, s.Outcome, s.Error)
	case ends && now.Before(until):
		t.fail("granted %v before the end of which the killed holder was told", until.Sub(now).Round(time.Millisecond))
	}
	t.back(ctx, b, waiter)
}

func takeNames(ctx context.Context, t *trial) {
	p, unique := t.program(ctx), t.resource()
	longest := func(last string) string {
		return unique + strings.Repeat("x", locks.ResourceBytesMax-len(unique)-len(last)) + last
	}
	for _, pair := range [][2]string{
		{unique + "a b", unique + "a  b"},
		{unique + `"'\`, unique + `"'\\`},
		{unique + "é", unique + "e"},
		{unique + "/../x", unique + "/x"},
		{unique + "*", unique + "?"},
		{longest("1"), longest("2")},
	} {
		t.again(func() error {
			one := t.take(ctx, p, pair[0])
			other := t.ask(p, pair[1], ample)
			t.granted(ctx, p, fmt.Sprintf("acquire %.80q while %.80q is held", pair[1], pair[0]), other)
			until, ends := one.lease.Expires()
			late := ends && other.askedAt.Before(until) && !clock.System().Now().Before(until)
			t.back(ctx, p, other)
			t.back(ctx, p, one)
			if late {
				return fmt.Errorf("acquire %.80q while %.80q is held: granted only when that one's lease had ended",
					pair[1], pair[0])
			}
			return nil
		})
	}
}

func surviveCut(ctx context.Context, t *trial) {
	p := t.program(ctx)
	if len(t.Servers) == 0 || t.Cut == nil {
		t.unchecked = "it has no servers that could be cut off here"
		return
	}
	t.back(ctx, p, t.take(ctx, p, t.resource())) // so that it is connected
	heal, err := t.Cut(ctx)
	if err != nil {
		t.unchecked = fmt.Sprintf("its servers could not be cut off: %v", err)
		return
	}
	c := t.ask(p, t.resource(), brief)
	s := t.answer(ctx, p, "acquire while its servers cannot be reached", c.acquired, brief)
	if err := heal(); err != nil {
		t.unchecked = fmt.Sprintf("its servers could not be reconnected: %v", err)
		return
	}
	if s.Outcome == locks.OutcomeOK {
		t.fail("acquire while its servers cannot be reached: granted")
	}
	t.again(func() error { // broken connections may spoil the first attempt
		c = t.ask(p, t.resource(), ample)
		s := t.answer(ctx, p, "acquire after its servers came back", c.acquired, ample)
		if s.Outcome == locks.OutcomeOK {
			t.back(ctx, p, c)
			return nil
		}
		pause(ctx, brief)
		return fmt.Errorf("acquire after its servers came back: %s: %s", s.Outcome, s.Error)
	})
}

// pause gives a waiter time to begin to wait. If that takes longer, the check still holds.
func pause(ctx context.Context, d time.Duration) { _ = clock.Sleep(ctx, d) }
