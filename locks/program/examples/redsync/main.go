// Command redsync is a lock of locklab's line protocol on the public library go-redsync:
// Redlock on as many Redis servers as the topology has.
//
//	go build -o redsync . && locklab run --lock-cmd 'my-redsync=./redsync' --locks redsync
//
// The protocol is in locks/program/README.md. Nothing of locklab is imported: a client of
// yours looks like this.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// ask is a line from the lab, said one to it.
type ask struct {
	Op         string `json:"op"`
	ID         uint64 `json:"id"`
	Resource   string `json:"resource"`
	DeadlineMS int64  `json:"deadline_ms"`
	Servers    []struct {
		Addr string `json:"addr"`
	} `json:"servers"`
}

type said struct {
	Op      string `json:"op"`
	ID      uint64 `json:"id,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Error   string `json:"error,omitempty"`
	UntilMS int64  `json:"until_ms,omitempty"`
	Version int    `json:"version,omitempty"`
	LeaseMS int64  `json:"lease_ms,omitempty"`
	Servers []need `json:"servers,omitempty"`
}

type need struct {
	Role string `json:"role"`
}

func main() {
	ttl := flag.Duration("ttl", 2*time.Second, "what a grant lasts")
	flag.Parse()
	c := &client{ttl: *ttl, calls: map[uint64]*call{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a ask
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			fmt.Fprintln(os.Stderr, "redsync client:", err)
			os.Exit(1)
		}
		c.hear(a, time.Now())
	}
	c.all.Wait() // the lab has released everything before its last line
}

type client struct {
	ttl  time.Duration
	sync *redsync.Redsync
	all  sync.WaitGroup

	mu    sync.Mutex // of calls and of standard output
	calls map[uint64]*call
}

// call is one acquisition, from acquire to the answer of its release.
type call struct {
	released chan time.Time // with the deadline; closed by nobody, has room for it
	giveUp   context.CancelFunc
}

func (c *client) say(s said) {
	text, _ := json.Marshal(s) // plain fields: it cannot fail
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = os.Stdout.Write(append(text, '\n'))
}

func (c *client) hear(a ask, readAt time.Time) {
	deadline := readAt.Add(time.Duration(a.DeadlineMS) * time.Millisecond)
	switch a.Op {
	case "hello":
		var pools []redsyncredis.Pool
		for _, s := range a.Servers {
			pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true})))
		}
		c.sync = redsync.New(pools...)
		c.say(said{Op: "hello", Version: 1, LeaseMS: c.ttl.Milliseconds(), Servers: []need{{Role: "redis"}}})
	case "acquire":
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		one := &call{released: make(chan time.Time, 1), giveUp: cancel}
		c.mu.Lock()
		c.calls[a.ID] = one
		c.mu.Unlock()
		c.all.Go(func() { c.serve(ctx, a, one, readAt) })
	case "release":
		c.mu.Lock()
		one := c.calls[a.ID]
		if one != nil {
			one.released <- deadline
			one.giveUp()
		}
		c.mu.Unlock()
		if one == nil {
			c.say(said{Op: "release", ID: a.ID, Outcome: "failed", Error: "it is not held"})
		}
	}
}

// serve answers one acquisition and its release.
func (c *client) serve(ctx context.Context, a ask, one *call, readAt time.Time) {
	defer one.giveUp()
	mutex := c.sync.NewMutex("example:"+a.Resource, redsync.WithExpiry(c.ttl))
	answer := said{Op: "acquire", ID: a.ID, Outcome: "ok"}
	if err := c.lock(ctx, mutex); err != nil {
		// A try that was cut off may have left its keys, which no other call can take away.
		answer.Outcome, answer.Error = "unknown", err.Error()
	} else {
		answer.UntilMS = max(mutex.Until().Sub(readAt).Milliseconds(), 1)
	}
	c.say(answer)
	back := said{Op: "release", ID: a.ID, Outcome: "failed", Error: "it is not held"}
	if answer.Outcome == "ok" {
		back = c.unlock(mutex, a.ID, <-one.released) //nolint:contextcheck // a release has its own deadline
	}
	c.mu.Lock()
	delete(c.calls, a.ID)
	asked := answer.Outcome == "ok" || len(one.released) > 0
	c.mu.Unlock()
	if asked {
		c.say(back)
	}
}

// lock tries until it has the lock or ctx is done: the library gives up after 32 tries.
func (c *client) lock(ctx context.Context, mutex *redsync.Mutex) error {
	for {
		err := mutex.LockContext(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

func (c *client) unlock(mutex *redsync.Mutex, id uint64, deadline time.Time) said {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	s := said{Op: "release", ID: id, Outcome: "ok"}
	ok, err := mutex.UnlockContext(ctx)
	switch {
	case ok:
	case errors.Is(err, redsync.ErrLockAlreadyExpired):
		s.Outcome, s.Error = "failed", err.Error()
	default:
		s.Outcome, s.Error = "unknown", fmt.Sprint("no quorum deleted its key: ", err)
	}
	return s
}
