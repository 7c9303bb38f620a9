package redlock

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"locklab/locks"
)

// keptMax bounds the deletions that a lane keeps for an unreachable instance. Beyond it, keys expire
// with their lease time.
const keptMax = 4096

// command is one command for one instance.
type command struct {
	args []any
	// until is the moment, on the Locker's clock, up to which an unanswered deletion is repeated:
	// a lost deletion would leave the resource blocked. Other commands are sent once.
	until    time.Duration
	repeated bool // it was sent before, and not answered
	// then receives the answer; see Ran for the error. It must not block.
	then func(c *command, value any, err error)
}

// lane sends commands to one instance over one connection. A command that finds the lane idle starts a
// pipeline; commands that arrive meanwhile form the next one. One goroutine serves the lane for good,
// because the stack of a new one would have to grow each time.
type lane struct {
	locker *Locker
	addr   string
	client *redis.Client
	inline bool          // a sender that finds the lane idle runs the pipeline itself
	turn   chan struct{} // wakes the goroutine

	mu     sync.Mutex
	queue  []*command
	kept   []*command // deletions to repeat
	busy   bool
	many   bool // the last pipeline had several commands
	fails  int  // consecutive pipelines with a kept deletion
	closed bool
}

// send queues the command.
func (ln *lane) send(c *command) {
	ln.mu.Lock()
	if ln.closed {
		ln.mu.Unlock()
		c.then(c, nil, NotSentError{locks.ErrClosed})
		return
	}
	ln.queue = append(ln.queue, c)
	idle := !ln.busy
	ln.busy = true
	ln.mu.Unlock()
	switch {
	case idle && ln.inline:
		ln.work()
	case idle:
		ln.turn <- struct{}{}
	}
}

// do sends a command and waits for the answer.
func (ln *lane) do(args ...any) (value any, err error) {
	done := make(chan struct{})
	ln.send(&command{args: args, then: func(_ *command, v any, failed error) {
		value, err = v, failed
		close(done)
	}})
	<-done
	return value, err
}

func (ln *lane) run() {
	for range ln.turn {
		ln.work()
	}
}

// work sends all queued commands as one pipeline, and delivers the answers.
func (ln *lane) work() {
	if ln.many {
		runtime.Gosched() // lets the callers of the last pipeline queue their next commands
	}
	ln.mu.Lock()
	batch := ln.queue
	ln.queue = nil
	ln.mu.Unlock()

	ctx := context.Background() // Close ends a pipeline by closing its connection
	pipe := ln.client.Pipeline()
	cmds := make([]*redis.Cmd, len(batch))
	for i, c := range batch {
		cmds[i] = pipe.Do(ctx, c.args...)
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	for i, c := range batch {
		value, err := cmds[i].Result()
		ran := Ran(err)
		if ran != Unsent {
			ln.locker.messages.Add(1)
		}
		if ran == Yes { // the answer
			ln.locker.messages.Add(1)
		}
		if ran == Yes || !ln.keep(c, ran) {
			c.then(c, value, err)
		}
	}

	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.many = len(batch) > 1
	if len(ln.kept) == 0 {
		ln.fails = 0
	}
	ln.busy = len(ln.queue) > 0
	switch {
	case ln.busy:
		ln.turn <- struct{}{}
	case ln.closed:
		close(ln.turn)
	}
}

// keep keeps an unconfirmed deletion, to repeat it after a while. It reports whether it did.
func (ln *lane) keep(c *command, ran Answer) bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.closed || ln.locker.now() >= c.until || len(ln.kept) >= keptMax {
		return false
	}
	c.repeated = c.repeated || ran == Unknown
	ln.kept = append(ln.kept, c)
	if len(ln.kept) == 1 { // the first repeat is soon: a restarted server has closed its old connections
		ln.locker.clock.AfterFunc(min(5*time.Millisecond<<ln.fails, 200*time.Millisecond), ln.repeat)
		ln.fails = min(ln.fails+1, 6)
	}
	return true
}

func (ln *lane) repeat() {
	ln.mu.Lock()
	again := ln.kept
	ln.kept = nil
	ln.mu.Unlock()
	for _, c := range again {
		ln.send(c)
	}
}

// close makes all commands fail from now on.
func (ln *lane) close() error {
	ln.mu.Lock()
	ln.closed = true
	if !ln.busy {
		close(ln.turn)
	}
	ln.mu.Unlock()
	ln.repeat()
	return ln.client.Close()
}

// Dialer connects to the instance at an address, within the timeout.
type Dialer func(ctx context.Context, addr string, timeout time.Duration) (net.Conn, error)

// DialTCP is the Dialer of TCP.
func DialTCP(ctx context.Context, addr string, timeout time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout}
	return d.DialContext(ctx, "tcp", addr)
}

// Client returns a client of the instance at an address, with up to 64 connections, each of which loads
// the scripts. It never repeats a command: a repeated SET could be refused because of its own key.
func (c Config) Client(addr string, scripts ...string) *redis.Client {
	dial, timeout := c.Dial, c.Options.Timeout
	if dial == nil {
		dial = DialTCP
	}
	return redis.NewClient(&redis.Options{
		Addr: addr,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx, addr, timeout)
			if err != nil {
				conn, _ = net.Pipe()
				return unconnected{conn, err}, nil //nolint:nilerr // Write returns it
			}
			return conn, nil
		},
		OnConnect: func(ctx context.Context, conn *redis.Conn) error {
			for _, text := range scripts {
				if err := conn.ScriptLoad(ctx, text).Err(); err != nil {
					return NotSentError{err}
				}
			}
			return nil
		},
		Protocol:                 2,
		DisableIdentity:          true,
		MaxRetries:               -1,
		DialerRetries:            1,
		DialTimeout:              timeout,
		ReadTimeout:              2 * timeout, // a late answer still tells whether a key must be deleted
		WriteTimeout:             2 * timeout,
		PoolSize:                 64,
		PoolTimeout:              timeout,
		PipelinePoolSize:         -1,
		ConnMaxIdleTime:          -1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// NotSentError is the reason why a command was surely not sent.
type NotSentError struct{ Err error }

func (e NotSentError) Error() string { return e.Err.Error() }

// unconnected is a connection that refuses writes. It replaces a dial error, after which go-redis's pool
// would dial and log on its own while an instance is down.
type unconnected struct {
	net.Conn
	why error
}

func (c unconnected) Write([]byte) (int, error) { return 0, NotSentError{c.why} }

// Ran classifies go-redis's error for a command: Yes if it ran, even with an empty answer; Unsent if it
// was not sent or the server refused it; otherwise Unknown.
func Ran(err error) Answer {
	switch {
	case err == nil || err == redis.Nil: //nolint:errorlint // go-redis returns it bare; this is the hot path
		return Yes
	case errors.As(err, new(redis.Error)), errors.As(err, new(NotSentError)), errors.Is(err, redis.ErrPoolTimeout):
		return Unsent
	}
	return Unknown
}
