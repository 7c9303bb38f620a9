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

// Subject is a program under test.
type Subject struct {
	Command Command
	// Serve starts the servers that the program's hello asks for; nil starts none.
	Serve  func(context.Context, Hello) (Access, error)
	Stderr io.Writer // of the program; nil discards
}

// Access is a program's access to its servers.
type Access struct {
	Servers []Server // that it may dial
	// Cut cuts the program's clients off from their servers until heal is called; nil if
	// that is impossible.
	Cut func(context.Context) (heal func() error, err error)
}

// Finding is the result of one rule.
type Finding struct {
	Rule   string // its name
	Demand string // the behavior that it demands
	Err    error  // the violation; nil if none was found
	// Unchecked is the reason why the rule could not be checked, "" if it was.
	Unchecked string
	// Died says that the program ended by itself: Err says how, and the rule is not judged.
	Died bool
}

// rule is one demand on a program.
type rule struct {
	name, demand string
	look         func(context.Context, *trial)
}

// Conform checks one rule after the other, with programs that it starts for each, and passes
// each finding to told. It stops after a program that cannot say hello, or that ends by itself.
// The error is the context's, or that of Serve.
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
	// ample is a deadline that a correct program never reaches.
	ample = 20 * time.Second
	// brief is a deadline that is meant to expire.
	brief = 300 * time.Millisecond
	// late is how late an answer may be on a busy machine.
	late = 5 * time.Second
	// tries is the number of attempts at a check that a busy machine can spoil.
	tries = 3
)

// trial is one check of a rule.
type trial struct {
	Subject
	Access
	rule      string
	programs  []*process
	said      map[*process]*tail
	unchecked string
	resources int
	wrong     error // the violation
}

// errDied is wrapped by the error of a program that ended unasked.
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
		if err != nil { // perhaps because the program has died
			clock.Await(clock.System(), brief, p.dead)
		}
		switch why := p.reason(); {
		case errors.Is(why, errEnded):
			return fmt.Errorf("%w: %w; %s", errDied, why, t.said[p])
		case err == nil && errors.Is(why, errProtocol): // its last lines must be correct, too
			err = why
		}
	}
	return err
}

// fail ends the check. It must be called in the check's own goroutine.
func (t *trial) fail(format string, args ...any) {
	t.wrong = fmt.Errorf(format, args...)
	runtime.Goexit()
}

// program starts one more program, with a unique name.
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

// tail passes on a program's standard error, and keeps its end.
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
	return t.to.Write(text) //nolint:wrapcheck // acts as that writer
}

// String returns the last lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), "?"))
	if text == "" {
		return "it wrote nothing to its standard error"
	}
	return "its standard error ends with\n" + text
}

// resource returns a new name.
func (t *trial) resource() string {
	t.resources++
	return fmt.Sprintf("conform/%s/%d/%d", t.rule, t.resources, clock.Mono())
}

// ask requests a resource without waiting.
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

// take acquires a free resource.
func (t *trial) take(ctx context.Context, p *process, resource string) *call {
	c := t.ask(p, resource, ample)
	t.granted(ctx, p, "acquire of a free resource", c)
	return c
}

// granted waits until an acquisition is granted.
func (t *trial) granted(ctx context.Context, p *process, what string, c *call) {
	if s := t.answer(ctx, p, what, c.acquired, ample); s.Outcome != locks.OutcomeOK {
		t.fail("%s: %s: %s", what, s.Outcome, s.Error)
	}
}

// again repeats a check that a busy machine can spoil.
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

// promptly demands that do takes at most a second, at least once.
func (t *trial) promptly(complaint string, do func() (took time.Duration)) {
	t.again(func() error {
		if took := do(); took > time.Second {
			return fmt.Errorf(complaint+", and more than 1s", took.Round(time.Millisecond))
		}
		return nil
	})
}

// mustWait requests a held resource, which must not be granted, and returns the duration until the answer.
func (t *trial) mustWait(ctx context.Context, p *process, resource string, holder *call) time.Duration {
	began := clock.Mono()
	c := t.ask(p, resource, brief)
	s := t.answer(ctx, p, "acquire of a held resource", c.acquired, brief)
	took := time.Duration(clock.Mono() - began)
	if s.Outcome == locks.OutcomeOK {
		if !holder.lease.IsLost() {
			t.fail("acquire of a held resource: granted")
		}
		t.back(ctx, p, c) // this took longer than the lease: inconclusive
	}
	return took
}

// giveBack releases and returns the answer.
func (t *trial) giveBack(ctx context.Context, p *process, c *call) Said {
	if err := p.release(c, ample); err != nil {
		t.fail("release: %w", err)
	}
	return t.answer(ctx, p, "release", c.released, ample)
}

// back releases a grant whose lease may have ended.
func (t *trial) back(ctx context.Context, p *process, c *call) {
	over := c.lease.IsLost()
	if s := t.giveBack(ctx, p, c); s.Outcome != locks.OutcomeOK && !over && !c.lease.IsLost() {
		t.fail("release of a held resource: %s: %s", s.Outcome, s.Error)
	}
}
