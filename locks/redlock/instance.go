package redlock

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"locklab/internal/signals"
	"locklab/locks/clock"
)

// lanesPerInstance is how many pipelines may be under way to one instance. With
// more than one, an instance works on the next batch while the answers of the last
// are read; with many, the batches get small.
const lanesPerInstance = 2

// batchMax bounds a pipeline, so that the first of its commands need not wait
// until thousands of answers have come.
const batchMax = 256

// keptMax bounds the deletions that wait for an instance that is away. What is
// dropped beyond it ends with its lease time.
const keptMax = 4096

// command is one command for one instance.
type command struct {
	script *script // nil for a plain command, whose args are complete
	args   []any
	// deadline, on the clock of the instance's owner: it is not sent after that. A
	// deletion is repeated until then, as a lost one leaves the resource blocked.
	deadline time.Duration
	repeat   bool
	repeated bool  // it was sent before, and had no answer
	why      error // for the receiver: why there is no answer

	to       receiver
	kind     effectKind // for the receiver
	instance int
	assisted bool // who sends it calls lane.assist next
}

// receiver takes the answers. It must not block.
type receiver interface {
	receive(c *command, value any, a answer)
}

// receiverFunc takes the value of an answer, nil if there is none.
type receiverFunc func(value any)

func (f receiverFunc) receive(_ *command, value any, _ answer) { f(value) }

// instance is one Redis server with its lanes. All commands of all clients of the
// process share them; the commands of one resource go through one lane, so that
// they arrive in the order in which they were given.
type instance struct{ lanes []*lane }

func (in *instance) send(lane int, c *command) { in.lanes[lane%len(in.lanes)].send(c) }

// laneOf picks the lane of a resource.
func laneOf(s maphash.Seed, resource string) int {
	return int(maphash.String(s, resource) % lanesPerInstance)
}

// link is what all lanes of a client have in common.
type link struct {
	log      *slog.Logger
	clock    clock.Clock
	now      func() time.Duration
	timeout  time.Duration
	dialer   Dialer
	messages *atomic.Uint64
	closed   chan struct{}
}

// lane is one connection to one instance with the commands that wait for it. Its
// goroutine takes whatever waits and sends it as one pipeline.
type lane struct {
	*link
	addr   string
	client *redis.Client

	mu    sync.Mutex
	queue []*command
	spare []*command // the other buffer, see take

	wake chan struct{} // holds one value while queue may be non-empty

	turn     sync.Mutex // held by who sends; guards what follows
	busy     bool       // the last batch was of several commands
	kept     []*command // deletions to be repeated
	failures int        // in a row
	last     error      // the last of them
	retryAt  time.Duration

	conn   atomic.Pointer[watchedConn] // the last one dialed
	dialed error                       // why a dial of this batch failed
}

// watchedConn is a connection that notes whether a command was ever written to it.
type watchedConn struct {
	net.Conn
	live   atomic.Bool // go-redis's own greeting is over
	wrote  atomic.Bool // since the last reset, while live
	closed atomic.Bool
}

func (t *watchedConn) Write(b []byte) (int, error) {
	if t.live.Load() {
		t.wrote.Store(true)
	}
	return t.Conn.Write(b)
}

func (t *watchedConn) Close() error {
	t.closed.Store(true)
	return t.Conn.Close()
}

// plainConn is a watchedConn that go-redis can ask whether the other end has hung up.
type plainConn struct {
	*watchedConn
	syscall.Conn
}

// forRedis is the connection as go-redis gets it.
func (t *watchedConn) forRedis() net.Conn {
	if raw, ok := t.Conn.(syscall.Conn); ok {
		return plainConn{t, raw}
	}
	return t
}

func newLane(l *link, addr string) *lane {
	ln := &lane{link: l, addr: addr, wake: make(chan struct{}, 1)}
	ln.client = redis.NewClient(ln.options())
	return ln
}

func (ln *lane) options() *redis.Options {
	o := clientOptions(ln.addr, ln.timeout)
	o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := ln.dialer(ctx, ln.addr, ln.timeout)
		if err != nil {
			ln.dialed = fmt.Errorf("dial: %w", err)
			c = brokenConn()
			ln.conn.Store(&watchedConn{Conn: c}) // to which nothing is ever written
			return c, nil
		}
		t := &watchedConn{Conn: c}
		ln.conn.Store(t)
		return t.forRedis(), nil
	}
	o.OnConnect = func(context.Context, *redis.Conn) error {
		ln.conn.Load().live.Store(true)
		return nil
	}
	o.PipelinePoolSize = -1 // the lane has one connection
	return o
}

// clientOptions turns off what go-redis would do on its own: a command that is
// sent twice could answer no to a SET that had succeeded.
func clientOptions(addr string, timeout time.Duration) *redis.Options {
	return &redis.Options{
		Addr:            addr,
		Protocol:        2,
		DisableIdentity: true,
		MaxRetries:      -1,
		DialerRetries:   1,
		DialTimeout:     timeout,
		ReadTimeout:     2 * timeout, // an answer that is late is still of use: it tells what to delete
		WriteTimeout:    2 * timeout,
		PoolSize:        4,
		ConnMaxIdleTime: -1,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
}

// brokenConn is a connection on which everything fails. It takes the place of an error, after
// which go-redis's pool would go on dialing, and logging, on its own for as long as an instance
// is down.
func brokenConn() net.Conn {
	here, there := net.Pipe()
	_ = there.Close()
	return here
}

// send puts the command into the lane.
func (ln *lane) send(c *command) {
	ln.mu.Lock()
	first := len(ln.queue) == 0
	ln.queue = append(ln.queue, c)
	ln.mu.Unlock()
	if first && !c.assisted {
		ln.rouse()
	}
}

func (ln *lane) rouse() {
	signals.Wake(ln.wake)
}

// assist sends what waits, in the caller's goroutine: that spares two hand-overs between
// goroutines, which cost as much as the way to a near instance. Where the lane is at work,
// or has no connection, its own goroutine does it.
func (ln *lane) assist() {
	if !ln.turn.TryLock() {
		return // see pass
	}
	if t := ln.conn.Load(); t != nil && !t.closed.Load() && len(ln.kept) == 0 {
		if ln.busy {
			runtime.Gosched() // as run does: those who were answered together ask again together
		}
		batch := ln.take()
		ln.inBatches(batch)
	}
	kept := len(ln.kept) > 0
	ln.pass()
	if kept {
		ln.rouse()
	}
}

// pass gives up the turn. What came meanwhile is for the lane's goroutine: who found the
// turn taken does not wake it, or it would wait for the turn only to find nothing to do.
func (ln *lane) pass() {
	ln.turn.Unlock()
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if len(ln.queue) > 0 {
		ln.rouse()
	}
}

// take swaps the queue for an empty one.
func (ln *lane) take() []*command {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	batch := ln.queue
	ln.queue, ln.spare = ln.spare[:0], batch
	return batch
}

// run is the lane's goroutine. It ends when the client closes.
func (ln *lane) run() {
	for {
		var retry <-chan time.Time
		var timer clock.Timer
		ln.turn.Lock()
		if len(ln.kept) > 0 {
			timer = ln.clock.NewTimer(max(ln.retryAt-ln.now(), 0))
			retry = timer.C()
		}
		ln.pass()
		select {
		case <-ln.wake:
		case <-retry:
		case <-ln.closed:
			ln.turn.Lock()
			defer ln.turn.Unlock()
			ln.fail(append(ln.kept, ln.take()...))
			return
		}
		if timer != nil {
			timer.Stop()
		}
		runtime.Gosched() // lets callers that are ready add theirs: fewer, larger batches
		ln.turn.Lock()
		batch := ln.take()
		if len(ln.kept) > 0 {
			batch = append(ln.kept, batch...)
			ln.kept = nil
		}
		ln.inBatches(batch)
		ln.pass()
	}
}

func (ln *lane) inBatches(all []*command) {
	if len(all) > 0 {
		ln.busy = len(all) > 1
	}
	for rest := all; len(rest) > 0; {
		n := min(len(rest), batchMax)
		ln.process(rest[:n])
		rest = rest[n:]
	}
	clear(all) // the buffer is used again
}

// fail answers commands that will not be sent any more.
func (ln *lane) fail(batch []*command) {
	for _, c := range batch {
		c.to.receive(c, nil, unsent)
	}
}

// process sends a batch and hands out the answers.
func (ln *lane) process(batch []*command) {
	now := ln.now()
	due := batch[:0]
	for _, c := range batch {
		if now > c.deadline {
			c.to.receive(c, nil, unsent)
			continue
		}
		due = append(due, c)
	}
	if len(due) == 0 {
		return
	}
	if now < ln.retryAt {
		for _, c := range due {
			ln.notSent(c, ln.last)
		}
		return
	}
	ln.exec(due, false)
}

// notSent keeps a deletion for later and reports everything else, and why.
func (ln *lane) notSent(c *command, why error) {
	c.why = why
	if c.repeat && len(ln.kept) < keptMax {
		ln.kept = append(ln.kept, c)
		return
	}
	c.to.receive(c, nil, unsent)
}

// failed spaces out the next tries: at once after the first failure, as a server
// that restarted has closed its old connections.
func (ln *lane) failed(err error) {
	ln.last = err
	ln.failures++
	if ln.failures == 1 {
		return
	}
	pause := min(10*time.Millisecond<<min(ln.failures-2, 5), 200*time.Millisecond)
	ln.retryAt = ln.now() + pause
	if ln.failures == 2 {
		ln.log.Warn("redis instance does not serve", "addr", ln.addr, "error", err)
	}
}

// exec runs the batch as one pipeline. Scripts that the instance does not know yet
// are sent again in full.
func (ln *lane) exec(batch []*command, inFull bool) {
	ctx := context.Background() // Close ends a pipeline by closing its connection
	pipe := ln.client.Pipeline()
	cmds := make([]redis.Cmd, len(batch))
	for i, c := range batch {
		args := c.args
		if inFull {
			args = c.script.inFull(args)
		}
		cmds[i] = *redis.NewCmd(ctx, args...)
		_ = pipe.Process(ctx, &cmds[i]) // only queues
	}
	t := ln.conn.Load()
	if t != nil {
		t.wrote.Store(false)
	}
	ln.dialed = nil
	_, _ = pipe.Exec(ctx) // every command has its own error, looked at below
	t = ln.conn.Load()    // go-redis may have dialed another one
	wrote := t != nil && t.wrote.Load()
	if wrote {
		ln.messages.Add(uint64(len(batch)))
	}

	answered := 0
	var again []*command
	var why error // the last one that was not an answer
	broken := false
	for i, c := range batch {
		value, err := cmds[i].Result()
		switch {
		case err == nil || err == redis.Nil: //nolint:errorlint // go-redis returns it bare; this is the hot path
			answered++
			c.to.receive(c, value, verdict(c.kind, value))
		case isScriptUnknown(err) && c.script != nil && !inFull:
			answered++
			again = append(again, c)
		case isServerError(err):
			// The server refused to run it, as it does while it loads its data.
			answered++
			why = err
			ln.notSent(c, err)
		default:
			if ln.dialed != nil {
				err = ln.dialed
			}
			broken, why = true, err
			switch {
			case c.repeat:
				c.repeated = c.repeated || wrote
				ln.notSent(c, err)
			case wrote:
				c.why = err
				c.to.receive(c, nil, unknown)
			default:
				c.why = err
				c.to.receive(c, nil, unsent)
			}
		}
	}
	ln.messages.Add(uint64(answered))
	switch {
	case broken:
		if t != nil {
			_ = t.Close() // go-redis has done so unless it never got as far
		}
		ln.failed(why)
	case len(ln.kept) > 0:
		ln.failures = max(ln.failures, 1) // a server that answers with errors: not at once
		ln.failed(why)
	default:
		if ln.failures > 1 {
			ln.log.Info("redis instance serves again", "addr", ln.addr)
		}
		ln.failures, ln.last, ln.retryAt = 0, nil, 0
	}
	if len(again) > 0 {
		ln.exec(again, true)
	}
}
