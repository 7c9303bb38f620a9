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
	// HelloTime bounds the time until a program says hello.
	HelloTime = 10 * time.Second
	// EndTime bounds the time until a program ends after its input has ended.
	EndTime = 2 * time.Second
	// writeTime bounds the wait for a program to read when the pipe is full.
	writeTime = time.Second
)

// call is one acquisition of a program.
type call struct {
	process  *process
	resource string
	id       uint64
	askedAt  time.Time
	acquired chan Said // the answer to acquire; of capacity 1
	released chan Said // the answer to release; of capacity 1

	answered, releasing bool   // the program has answered acquire; the lab has sent release
	lease               *lease // set when granted
}

// process is one running program.
type process struct {
	cmd   *exec.Cmd
	input *os.File
	clock clock.Clock
	hello Hello

	dead chan struct{} // closed when its lines no longer count
	gone chan struct{} // closed when it has ended and its output was read

	writing sync.Mutex
	mu      sync.Mutex
	why     error     // why it is dead
	greeted chan Said // receives hello; nil after that
	last    uint64
	calls   map[uint64]*call
}

// start starts a program and asks it for hello, with the servers that it may dial.
func start(ctx context.Context, c Command, ask Ask, stderr io.Writer, clk clock.Clock) (_ *process, err error) {
	childIn, in, err := os.Pipe()
	out, childOut, err2 := os.Pipe()
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("start %s: %w", c, err)
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...) //nolint:noctx // outlives the call that starts it
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, childIn, childOut, stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { // one of these variables is a secret
		return strings.HasPrefix(v, "LOCKLAB_")
	})
	// A child of the program may keep stderr open; Wait must not wait for it.
	cmd.WaitDelay = EndTime / 2
	p := &process{
		cmd: cmd, input: in, clock: clk,
		dead: make(chan struct{}), gone: make(chan struct{}), greeted: make(chan Said, 1), calls: map[uint64]*call{},
	}
	ended, err := spawn(cmd)
	_, _ = childIn.Close(), childOut.Close() // the program has copies
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

// spawn starts the program so that it dies with this process: otherwise it could
// extend leases whose holders are dead.
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

// send writes one line. If the program does not read for too long, send kills it, since half a line
// may be written.
func (p *process) send(a Ask) error {
	line, err := a.line()
	if err != nil {
		return err
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	n := 0
	for range 2 { // the first deadline may have passed while this process was paused
		_ = p.input.SetWriteDeadline(p.clock.Now().Add(writeTime)) // cannot fail for a pipe
		if n, err = p.input.Write(line); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EPIPE) { // most likely it has ended: wait for that reason
		clock.Await(p.clock, EndTime, p.dead)
	}
	p.fail(broken("it does not read its input: %w", err))
	return p.reason()
}

// listen reads the program's lines up to the last or the first wrong one.
func (p *process) listen(out *os.File, ended <-chan error) {
	defer close(p.gone)
	var status error // once exited is closed
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		status = <-ended
		_ = out.SetReadDeadline(p.clock.Now().Add(EndTime)) // a child of the program may keep the pipe open
	}()
	err := p.read(bufio.NewReaderSize(out, LineBytesMax))
	if errors.Is(err, errEnded) { // most likely the program has ended, too: wait for its exit status
		clock.Await(p.clock, EndTime, exited)
		if !signals.Closed(exited) {
			err = broken("its output has ended, and it did not within %v", EndTime)
		} else if status != nil {
			err = fmt.Errorf("%w: %w", err, status)
		}
	}
	p.fail(err)
	<-exited
	_, _ = out.Close(), p.input.Close() // usually already closed
}

// read handles lines up to the last or the first wrong one.
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

// hear handles one line.
func (p *process) hear(line []byte) error {
	s, err := ParseSaid(line)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why != nil { // fail has ended all leases: a later one would never be lost
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

// acquire requests a resource.
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

// release sends the release of a grant, or of a waiting call. Only the first call sends it.
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

// fail kills the program and ends its leases. The first reason counts.
func (p *process) fail(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why != nil {
		return
	}
	p.why = why
	close(p.dead)
	_ = p.cmd.Process.Kill() // fails if it has ended
	for _, c := range p.calls {
		if c.lease != nil {
			c.lease.Lose()
		}
	}
}

// reason returns why the program is dead.
func (p *process) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// end closes the input, and kills the program if it does not end in time. It reports
// whether the program ended by itself.
func (p *process) end(within time.Duration) (byItself bool) {
	p.writing.Lock()
	_ = p.input.Close() // listen closes it again
	p.writing.Unlock()
	if _, gone := clock.Await(p.clock, within, p.gone); gone {
		return errors.Is(p.reason(), errEnded)
	}
	p.fail(broken("it did not end within %v of the end of its input", within))
	<-p.gone
	return false
}

// answer waits for an answer up to a limit. A program may have given it before its death.
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

// giveBack releases a grant and waits for the answer.
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

// quit releases all calls and ends the program.
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
