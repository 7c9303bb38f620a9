package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
)

// Subject is a program whose manners are looked at.
type Subject struct {
	Command Command
	// Serve starts the servers that the program's hello asks for; nil starts none.
	Serve  func(context.Context, Hello) (Access, error)
	Stderr io.Writer // of the program; nil is nowhere
}

// Access is what a program has of its servers.
type Access struct {
	Servers []Server // that it may dial
	// Cut keeps the program's clients from their servers until heal is called; nil if
	// nothing can.
	Cut func(context.Context) (heal func() error, err error)
}

// Finding is what came of one rule.
type Finding struct {
	Rule   string // a few words
	Demand string // what a program has to do
	Err    error  // what is wrong with this one; nil if nothing was found
	// Unchecked is why the rule could not be looked at, "" if it was.
	Unchecked string
	// Died says that the program ended by itself: Err says how, and the rule is not judged.
	Died bool
}

// rule is one thing that a program has to do.
type rule struct {
	name, demand string
	look         func(context.Context, *trial)
}

// Conform looks at one rule after the other, with programs that it starts for each, and
// tells what came of each. It goes no further after a program that cannot say hello, or that
// ends by itself. The error is the context's, or that of Serve.
func Conform(ctx context.Context, s Subject, told func(Finding)) error {
	var access Access
	for _, r := range rules() {
		t := &trial{Subject: s, Access: access, rule: r.name, said: map[*process]*tail{}}
		err := t.run(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f := Finding{Rule: r.name, Demand: r.demand, Err: err, Unchecked: t.unchecked, Died: errors.Is(err, errDied)}
		told(f)
		if f.Died || err != nil && r.name == ruleHello {
			return nil
		}
		if ctx.Err() != nil { // no further program is started
			return ctx.Err()
		}
		if r.name == ruleHello && s.Serve != nil {
			if access, err = s.Serve(ctx, t.programs[0].hello); err != nil {
				return err
			}
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
	Access
	rule      string
	programs  []*process
	said      map[*process]*tail
	unchecked string
	resources int
	wrong     error // what was found
}

// errDied is wrapped by what is told of a program that ended although nothing had asked it to.
var errDied = errors.New("the program ended by itself")

func (t *trial) run(ctx context.Context, r rule) error {
	defer func() {
		for _, p := range t.programs {
			p.quit()
		}
	}()
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		r.look(ctx, t)
	}()
	<-looked
	err := t.wrong
	for _, p := range t.programs {
		if err != nil { // perhaps because of a death that is not known yet
			clock.Await(clock.System(), brief, p.dead)
		}
		switch why := p.reason(); {
		case errors.Is(why, errEnded):
			return fmt.Errorf("%w: %w; %s", errDied, why, t.said[p])
		case err == nil && errors.Is(why, errProtocol): // what it said last is looked at, too
			err = why
		}
	}
	return err
}

// fail ends the look at the rule, in its goroutine.
func (t *trial) fail(format string, args ...any) {
	t.wrong = fmt.Errorf(format, args...)
	runtime.Goexit()
}

// program starts one more, with a name that no other one has.
func (t *trial) program(ctx context.Context) *process {
	name := fmt.Sprintf("conform-%s-%d", t.rule, len(t.programs)+1)
	said := &tail{to: cmp.Or[io.Writer](t.Stderr, io.Discard)}
	p, err := start(ctx, t.Command, Ask{Client: name, Servers: t.Servers}, said, clock.System())
	if errors.Is(err, errEnded) {
		err = fmt.Errorf("%w: %w; %s", errDied, err, said)
	}
	if err != nil {
		t.fail("%w", err)
	}
	t.programs = append(t.programs, p)
	t.said[p] = said
	return p
}

// tail keeps the end of what a program writes to its standard error, and passes all of it on.
type tail struct {
	to   io.Writer
	mu   sync.Mutex
	text []byte
}

// Write implements [io.Writer].
func (t *tail) Write(text []byte) (int, error) {
	const most = 2 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	t.text = t.text[max(len(t.text)-most, 0):]
	return t.to.Write(text) //nolint:wrapcheck // it stands for that writer
}

// String tells the last lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "?"))
	if text == "" {
		return "it wrote nothing to its standard error"
	}
	return "its standard error ends with\n" + text
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
	s, err := p.answer(ctx, c, deadline+late)
	if err != nil {
		t.fail("%s with a deadline of %v: %w", what, deadline, err)
	}
	return s
}

// take acquires what is free.
func (t *trial) take(ctx context.Context, p *process, resource string) *call {
	c := t.ask(p, resource, ample)
	t.granted(ctx, p, "acquire of what is free", c)
	return c
}

// granted waits until an acquisition is granted.
func (t *trial) granted(ctx context.Context, p *process, what string, c *call) {
	if s := t.answer(ctx, p, what, c.acquired, ample); s.Outcome != locks.OutcomeOK {
		t.fail("%s: %s: %s", what, s.Outcome, s.Error)
	}
}

// again tries what a busy machine can spoil.
func (t *trial) again(try func() error) {
	for n := 1; ; n++ {
		err := try()
		if err == nil {
			return
		}
		if n == tries {
			t.fail("%w, %d times of %d", err, n, tries)
		}
	}
}

// promptly wants something to be done within a second, at least once.
func (t *trial) promptly(complaint string, do func() (took time.Duration)) {
	t.again(func() error {
		if took := do(); took > time.Second {
			return fmt.Errorf(complaint+", and more than 1s", took.Round(time.Millisecond))
		}
		return nil
	})
}

// mustWait asks for what another one holds, and says how long the answer took.
func (t *trial) mustWait(ctx context.Context, p *process, resource string, holder *call) time.Duration {
	began := clock.Mono()
	c := t.ask(p, resource, brief)
	s := t.answer(ctx, p, "acquire of what another one holds", c.acquired, brief)
	took := time.Duration(clock.Mono() - began)
	if s.Outcome == locks.OutcomeOK {
		if !holder.lease.IsLost() {
			t.fail("acquire of what another one holds: granted")
		}
		t.back(ctx, p, c) // this took longer than the lease: nothing can be said
	}
	return took
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
	over := c.lease.IsLost()
	if s := t.giveBack(ctx, p, c); s.Outcome != locks.OutcomeOK && !over && !c.lease.IsLost() {
		t.fail("release of what is held: %s: %s", s.Outcome, s.Error)
	}
}
