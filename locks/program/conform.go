package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// Subject is a program whose manners are looked at.
type Subject struct {
	Command Command
	Servers []Server // that it may dial
	// Cut keeps the program's clients from their servers until heal is called; nil if
	// nothing can.
	Cut    func(context.Context) (heal func() error, err error)
	Stderr io.Writer // of the program; nil is nowhere
}

// Finding is what came of one rule.
type Finding struct {
	Rule   string // a few words
	Demand string // what a program has to do
	Err    error  // what is wrong with this one; nil if nothing was found
	// Unchecked is why the rule could not be looked at, "" if it was.
	Unchecked string
}

// rule is one thing that a program has to do.
type rule struct {
	name, demand string
	look         func(context.Context, *trial)
}

// Conform looks at one rule after the other, with programs that it starts for each, and
// tells what came of each. After a program that cannot even say hello it goes no further.
// The error is the context's.
func Conform(ctx context.Context, s Subject, told func(Finding)) error {
	for _, r := range rules() {
		f := Finding{Rule: r.name, Demand: r.demand}
		t := &trial{Subject: s, rule: r.name}
		f.Err = t.run(ctx, r)
		f.Unchecked = t.unchecked
		if ctx.Err() != nil {
			return ctx.Err()
		}
		told(f)
		if f.Err != nil && r.name == ruleHello {
			return nil
		}
	}
	return nil
}

const (
	// ample is a deadline that nothing reaches that works: it is not waited for.
	ample = 20 * time.Second
	// brief is a deadline that is meant to pass.
	brief = 300 * time.Millisecond
	// late is by how much an answer may miss its deadline on a busy machine.
	late = 5 * time.Second
	// tries is how often something is tried that a busy machine can spoil.
	tries = 3
)

// trial is one look at a rule.
type trial struct {
	Subject
	rule      string
	programs  []*process
	unchecked string
	resources int
}

// wrong ends a trial with what was found.
type wrong struct{ err error }

func (t *trial) run(ctx context.Context, r rule) (err error) {
	defer func() {
		for _, p := range t.programs {
			p.quit()
		}
		if found := recover(); found != nil {
			w, is := found.(wrong)
			if !is {
				panic(found)
			}
			err = w.err
		}
	}()
	r.look(ctx, t)
	for _, p := range t.programs { // what it said last is looked at, too
		if why := p.reason(); why != nil && errors.Is(why, errProtocol) {
			return why
		}
	}
	return nil
}

func (t *trial) fail(format string, args ...any) { panic(wrong{fmt.Errorf(format, args...)}) }

// program starts one more.
func (t *trial) program(ctx context.Context) *process {
	name := fmt.Sprintf("conform-%d", len(t.programs)+1)
	p, err := start(ctx, t.Command, Ask{Client: name, Servers: t.Servers}, t.Stderr, clock.System())
	if err != nil {
		t.fail("%w", err)
	}
	t.programs = append(t.programs, p)
	return p
}

// resource is a name that nobody has used before.
func (t *trial) resource() string {
	t.resources++
	return fmt.Sprintf("conform/%s/%d/%d", t.rule, t.resources, clock.Mono())
}

// ask asks for a resource and does not wait.
func (t *trial) ask(p *process, resource string, deadline time.Duration) *call {
	c, err := p.acquire(resource, deadline)
	if err != nil {
		t.fail("acquire %q: %w", resource, err)
	}
	return c
}

// answer waits for the answer to an acquisition or a release.
func (t *trial) answer(ctx context.Context, p *process, what string, c <-chan Said, deadline time.Duration) Said {
	patience := clock.System().NewTimer(deadline + late)
	defer patience.Stop()
	select {
	case s := <-c:
		return s
	case <-p.dead:
		if s, has := lastWord(c); has {
			return s
		}
		t.fail("%s: %w", what, p.reason())
	case <-patience.C():
		t.fail("%s has no answer %v behind its deadline of %v", what, late, deadline)
	case <-ctx.Done():
		t.fail("%w", ctx.Err())
	}
	return Said{}
}

// take acquires what is free.
func (t *trial) take(ctx context.Context, p *process, resource string) *call {
	c := t.ask(p, resource, ample)
	if s := t.answer(ctx, p, "acquire of what is free", c.acquired, ample); s.Outcome != locks.OutcomeOK {
		t.fail("acquire of what is free: %s: %s", s.Outcome, s.Error)
	}
	return c
}

// mustWait asks for what another one holds, and says how long the answer took.
func (t *trial) mustWait(ctx context.Context, p *process, resource string, holder *call) time.Duration {
	began := clock.Mono()
	c := t.ask(p, resource, brief)
	s := t.answer(ctx, p, "acquire of what another one holds", c.acquired, brief)
	took := time.Duration(clock.Mono() - began)
	if s.Outcome == locks.OutcomeOK {
		if !holder.over() {
			t.fail("acquire of what another one holds: granted")
		}
		t.back(ctx, p, c) // this took longer than the lease: nothing can be said
	}
	return took
}

// over says whether the holder may not believe any more that it holds.
func (c *call) over() bool {
	if signals.Closed(c.lease.lost) {
		return true
	}
	until, ends := c.lease.Expires()
	return ends && !c.lease.process.clock.Now().Before(until)
}

// giveBack releases and gives the answer.
func (t *trial) giveBack(ctx context.Context, p *process, c *call) Said {
	if err := p.release(c, ample); err != nil {
		t.fail("release: %w", err)
	}
	return t.answer(ctx, p, "release", c.released, ample)
}

// back releases what may have ended by now.
func (t *trial) back(ctx context.Context, p *process, c *call) {
	over := c.over()
	if s := t.giveBack(ctx, p, c); s.Outcome != locks.OutcomeOK && !over && !c.over() {
		t.fail("release of what is held: %s: %s", s.Outcome, s.Error)
	}
}
