// Command redsync serves locklab's line protocol with the public library go-redsync:
// Redlock on all Redis servers of the topology.
//
//	go build -o redsync . && locklab run --lock-cmd 'my-redsync=./redsync' --locks redsync
//
// The protocol is in locks/program/README.md. This client imports nothing of locklab, so yours
// can look like it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"os"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// line is a line of the protocol, in either direction.
type line struct {
	Op         string   `json:"op"`
	ID         uint64   `json:"id,omitempty"`
	Resource   string   `json:"resource,omitempty"`
	DeadlineMS int64    `json:"deadline_ms,omitempty"`
	Outcome    string   `json:"outcome,omitempty"`
	Error      string   `json:"error,omitempty"`
	UntilMS    int64    `json:"until_ms,omitempty"`
	Version    int      `json:"version,omitempty"`
	LeaseMS    int64    `json:"lease_ms,omitempty"`
	Servers    []server `json:"servers,omitempty"`
}

type server struct {
	Role string `json:"role"`
	Addr string `json:"addr,omitempty"`
}

type client struct {
	ttl   time.Duration
	sync  *redsync.Redsync
	all   sync.WaitGroup
	out   sync.Mutex // of standard output
	calls map[uint64]*call
}

// call is one acquisition, from acquire to the answer of its release.
type call struct {
	mutex   *redsync.Mutex
	giveUp  context.CancelFunc
	granted chan bool // receives one value, once acquire is answered
}

func main() {
	c := &client{calls: map[uint64]*call{}}
	flag.DurationVar(&c.ttl, "ttl", 2*time.Second, "what a grant lasts")
	flag.Parse()
	for in := json.NewDecoder(os.Stdin); in.More(); {
		var asked line
		if err := in.Decode(&asked); err != nil {
			log.Fatal("redsync client: ", err)
		}
		c.hear(asked, time.Now())
	}
	c.all.Wait() // the lab has released everything before its last line
}

func (c *client) say(said line) {
	c.out.Lock()
	defer c.out.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(said)
}

// hear handles one line.
func (c *client) hear(asked line, readAt time.Time) {
	deadline := readAt.Add(time.Duration(asked.DeadlineMS) * time.Millisecond)
	switch asked.Op {
	case "hello":
		var pools []redsyncredis.Pool
		for _, s := range asked.Servers {
			pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true})))
		}
		c.sync = redsync.New(pools...)
		c.say(line{Op: "hello", Version: 1, LeaseMS: c.ttl.Milliseconds(), Servers: []server{{Role: "redis"}}})
	case "acquire":
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		one := &call{c.sync.NewMutex("example:"+asked.Resource, redsync.WithExpiry(c.ttl)), cancel, make(chan bool, 1)}
		c.calls[asked.ID] = one
		c.all.Go(func() { c.acquire(ctx, asked.ID, one, readAt) })
	case "release":
		one := c.calls[asked.ID]
		delete(c.calls, asked.ID)
		one.giveUp()
		c.all.Go(func() { c.release(asked.ID, one, deadline) })
	}
}

// acquire tries until it has the lock or ctx is done; one call of the library gives up after 32 attempts.
func (c *client) acquire(ctx context.Context, id uint64, one *call, readAt time.Time) {
	err := one.mutex.LockContext(ctx)
	for err != nil && ctx.Err() == nil {
		err = one.mutex.LockContext(ctx)
	}
	if err == nil {
		c.say(line{Op: "acquire", ID: id, Outcome: "ok", UntilMS: max(one.mutex.Until().Sub(readAt).Milliseconds(), 1)})
	} else { // an interrupted attempt may have left keys, which no other call can delete
		c.say(line{Op: "acquire", ID: id, Outcome: "unknown", Error: err.Error()})
	}
	one.granted <- err == nil
}

func (c *client) release(id uint64, one *call, deadline time.Time) {
	if !<-one.granted {
		c.say(line{Op: "release", ID: id, Outcome: "failed", Error: "it is not held"})
		return
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	switch ok, err := one.mutex.UnlockContext(ctx); {
	case ok:
		c.say(line{Op: "release", ID: id, Outcome: "ok"})
	case errors.Is(err, redsync.ErrLockAlreadyExpired):
		c.say(line{Op: "release", ID: id, Outcome: "failed", Error: err.Error()})
	default:
		c.say(line{Op: "release", ID: id, Outcome: "unknown", Error: "no quorum deleted its key"})
	}
}
