package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"locklab/internal/pdeathsig"
	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

const (
	// HelloTime is how long a program may take to say hello.
	HelloTime = 10 * time.Second
	// EndTime is how long it may take to end once its input has ended.
	EndTime = 2 * time.Second
	// writeTime is how long it may take to read when it has lines enough to read.
	writeTime = time.Second
)

// call is one acquisition that a program was asked for, and what became of it.
type call struct {
	process  *process
	resource string
	id       uint64
	askedAt  time.Time
	acquired chan Said // its answer; has room for it
	released chan Said

	answered, releasing bool   // by the program; by the lab
	lease               *lease // once it was granted
}

// process is one program that runs.
type process struct {
	cmd   *exec.Cmd
	input *os.File
	clock clock.Clock
	hello Hello

	dead chan struct{} // closed when nothing more is to be expected of it
	gone chan struct{} // closed when it has ended and all it said was read

	writing sync.Mutex
	mu      sync.Mutex
	why     error     // it is dead
	greeted chan Said // has room for hello; nil behind it
	last    uint64
	calls   map[uint64]*call
}

// start starts a program and asks it for hello, with the servers that it may dial. What it
// writes to its standard error goes to stderr.
func start(ctx context.Context, c Command, ask Ask, stderr io.Writer, clk clock.Clock) (_ *process, err error) {
	childIn, in, err := os.Pipe()
	out, childOut, err2 := os.Pipe()
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("start %s: %w", c, err)
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...) //nolint:noctx // it outlives the acquisition that needs it first
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, childIn, childOut, stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { // among them a secret
		return strings.HasPrefix(v, "LOCKLAB_")
	})
	// A child of its own may keep stderr: its own end is heard of in time.
	cmd.WaitDelay = EndTime / 2
	p := &process{
		cmd: cmd, input: in, clock: clk,
		dead: make(chan struct{}), gone: make(chan struct{}), greeted: make(chan Said, 1), calls: map[uint64]*call{},
	}
	ended, err := spawn(cmd)
	_, _ = childIn.Close(), childOut.Close() // the program has its own
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", c, err), in.Close(), out.Close())
	}
	greeted := p.greeted
	go p.listen(out, ended)
	ask.Op, ask.Version = OpHello, Version
	if err = p.send(ask); err == nil {
		_, err = p.answer(ctx, greeted, HelloTime)
	}
	if err != nil {
		p.fail(err)
		<-p.gone
		return nil, fmt.Errorf("ask %s for hello: %w", c, err)
	}
	return p, nil
}

// spawn starts the program such that it dies with this process: a lock that
// outlived its master would go on extending what its holder has lost.
func spawn(cmd *exec.Cmd) (ended <-chan error, started error) {
	begun, end := make(chan error), make(chan error, 1)
	go func() {
		defer pdeathsig.Set(cmd)()
		err := cmd.Start()
		begun <- err
		if err == nil {
			end <- cmd.Wait()
		}
	}()
	started = <-begun
	return end, started
}

// send writes one line. A program that reads nothing for long is killed: what it has read
// half would be no line.
func (p *process) send(a Ask) error {
	line, err := a.line()
	if err != nil {
		return err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	n := 0
	for range 2 { // the first time may be over because this process stood still
		_ = p.input.SetWriteDeadline(p.clock.Now().Add(writeTime)) // of a pipe it cannot fail
		if n, err = p.input.Write(line); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EPIPE) { // most likely it has ended: that says more
		clock.Await(p.clock, EndTime, p.dead)
	}
	p.fail(broken("it does not read what it is asked: %w", err))
	return p.reason()
}

// listen reads what the program says until it has said its last word, or a wrong one.
func (p *process) listen(out *os.File, ended <-chan error) {
	defer close(p.gone)
	var status error // once exited is closed
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		status = <-ended
		_ = out.SetReadDeadline(p.clock.Now().Add(EndTime)) // a child of its own may keep the pipe
	}()
	err := p.read(bufio.NewReaderSize(out, LineBytesMax))
	if errors.Is(err, errEnded) { // most likely it has ended, too: it is said how
		clock.Await(p.clock, EndTime, exited)
		if !signals.Closed(exited) {
			err = broken("its output has ended, and it did not within %v", EndTime)
		} else if status != nil {
			err = fmt.Errorf("%w: %w", err, status)
		}
	}
	p.fail(err)
	<-exited
	_, _ = out.Close(), p.input.Close() // closed before, if all went well
}

// read takes in lines up to the first that is wrong, or the last.
func (p *process) read(lines *bufio.Reader) error {
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return broken("a line of more than %d bytes begins with %s", LineBytesMax, shown(line[:64]))
		case err != nil:
			return errEnded
		}
		if err := p.hear(line[:len(line)-1]); err != nil {
			return err
		}
	}
}

var errEnded = errors.New("its output has ended")

// hear takes in one line.
func (p *process) hear(line []byte) error {
	s, err := ParseSaid(line)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why != nil { // a lease that is granted from now on would never be lost
		return p.why
	}
	if s.Op == OpHello {
		h, err := s.hello()
		if err != nil {
			return err
		}
		if p.greeted == nil {
			return broken("it said hello twice")
		}
		p.hello = h
		p.greeted <- s
		p.greeted = nil
		return nil
	}
	c := p.calls[s.ID]
	wrong := func(what string) error { return broken("%s %d: %s", s.Op, s.ID, what) }
	switch {
	case s.ID > p.last:
		return wrong("no such acquisition was asked for")
	case s.Op == OpAcquire && (c == nil || c.answered), s.Op == OpRelease && (c == nil || !c.releasing):
		return wrong("it has an answer, or was never asked")
	case s.Op == OpRelease && !c.answered:
		return wrong("it is answered before the acquire is")
	case s.Op == OpExtended && p.hello.Lease == 0:
		return wrong("hello said that leases do not end")
	case c == nil: // it was released at the same time
		return nil
	case c.lease == nil && (s.Op == OpLost || s.Op == OpExtended):
		return wrong("it was not granted")
	}
	switch s.Op {
	case OpAcquire:
		if s.Outcome == locks.OutcomeOK {
			if err := p.hello.grants(s); err != nil {
				return err
			}
			c.lease = newLease(p, c, s)
		}
		c.answered = true
		c.acquired <- s
		if c.lease == nil && !c.releasing {
			delete(p.calls, s.ID)
		}
	case OpRelease:
		delete(p.calls, s.ID)
		c.released <- s
	case OpLost:
		c.lease.Lose()
	case OpExtended:
		c.lease.Extend(c.until(s))
	case OpHello:
	}
	return nil
}

// acquire asks for a resource.
func (p *process) acquire(resource string, deadline time.Duration) (*call, error) {
	p.mu.Lock()
	p.last++
	c := &call{
		process: p, resource: resource, id: p.last, askedAt: p.clock.Now(),
		acquired: make(chan Said, 1), released: make(chan Said, 1),
	}
	p.calls[c.id] = c
	p.mu.Unlock()
	return c, p.send(Ask{Op: OpAcquire, ID: c.id, Resource: resource, DeadlineMS: deadline.Milliseconds()})
}

// release gives back what a call was granted, or gives up to wait for it. It is asked for
// once.
func (p *process) release(c *call, deadline time.Duration) error {
	p.mu.Lock()
	already := c.releasing
	c.releasing = true
	p.calls[c.id] = c
	p.mu.Unlock()
	if already {
		return nil
	}
	return p.send(Ask{Op: OpRelease, ID: c.id, DeadlineMS: deadline.Milliseconds()})
}

// fail kills the program and ends everything that was expected of it. The first reason
// counts.
func (p *process) fail(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why != nil {
		return
	}
	p.why = why
	close(p.dead)
	_ = p.cmd.Process.Kill() // it may have ended by now
	for _, c := range p.calls {
		if c.lease != nil {
			c.lease.Lose()
		}
	}
}

// reason is why the program is dead.
func (p *process) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// end ends the input, and kills the program if that does not end it in time. It says
// whether the program ended by itself.
func (p *process) end(within time.Duration) (byItself bool) {
	p.writing.Lock()
	_ = p.input.Close() // it is closed once more when the program is gone
	p.writing.Unlock()
	if _, gone := clock.Await(p.clock, within, p.gone); gone {
		return errors.Is(p.reason(), errEnded)
	}
	p.fail(broken("it did not end within %v of the end of its input", within))
	<-p.gone
	return false
}

// answer waits for an answer, for a time at most. A program that is dead may have given it before.
func (p *process) answer(ctx context.Context, c <-chan Said, limit time.Duration) (s Said, err error) {
	late, stop := clock.After(p.clock, limit)
	defer stop()
	select {
	case s = <-c:
		return s, nil
	case <-p.dead:
		err = fmt.Errorf("%w: %w", locks.ErrUnavailable, p.reason())
	case <-late:
		err = fmt.Errorf("no answer within %v", limit)
	case <-ctx.Done():
		err = ctx.Err()
	}
	select {
	case s = <-c:
		return s, nil
	default:
		return s, err
	}
}

// giveBack releases what a call was granted and waits for the answer.
func (p *process) giveBack(ctx context.Context, c *call) error {
	limit := releaseTime
	if end, has := ctx.Deadline(); has {
		limit = max(end.Sub(p.clock.Now()), time.Millisecond)
	}
	if err := p.release(c, limit); err != nil {
		return fmt.Errorf("%w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, err)
	}
	s, err := p.answer(ctx, c.released, limit)
	if err != nil {
		return fmt.Errorf("%w: %w", locks.ErrUnknown, err)
	}
	return s.err("the program says", locks.ErrNotHeld)
}

// quit has everything given back that is held or asked for, and ends the program.
func (p *process) quit() {
	p.mu.Lock()
	var left []*call
	for _, c := range p.calls {
		if !c.releasing {
			left = append(left, c)
		}
		if c.lease != nil {
			c.lease.Lose()
		}
	}
	p.mu.Unlock()
	for _, c := range left {
		if p.release(c, EndTime) != nil {
			break
		}
	}
	p.end(EndTime)
}
