// Package protocol speaks the lock program's protocol for Go libraries: locks/program/README.md.
package protocol

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"
)

// ErrNotHeld says that an acquisition surely holds nothing, or that a hold had ended before its
// release. Any other error means that nobody knows.
var ErrNotHeld = errors.New("it is not held")

// Hold is a held lock.
type Hold struct {
	Release func(context.Context) error
	Since   time.Time // before the request that set the lease; zero: when the lab asked
	Token   int64     // 0 without any
}

// Acquire asks the library. It may have lost called while the lock is held.
type Acquire func(ctx context.Context, resource string, lost func(why error)) (Hold, error)

// Line is a line of a program; a Hello is the first one, without op and version.
type Line = map[string]any

const margin = 50 * time.Millisecond // of each deadline, for the answer itself

type program struct {
	lease   int64 // milliseconds; 0 without any
	acquire Acquire
	mu      sync.Mutex // of the output
}

// Serve speaks the protocol to the end of the input. connect makes the library's client.
func Serve(hello Line, connect func(name string, addrs []string) (Acquire, error)) {
	p := &program{}
	p.lease, _ = hello["lease_ms"].(int64)
	asked := map[int64]chan time.Duration{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var ask struct {
			Op, Client, Resource string
			ID                   int64
			DeadlineMS           int64 `json:"deadline_ms"`
			Servers              []struct{ Addr string }
		}
		err := json.Unmarshal(in.Bytes(), &ask)
		deadline := time.Duration(ask.DeadlineMS)*time.Millisecond - margin
		switch ask.Op {
		case "hello":
			hello["op"], hello["version"] = "hello", 1
			p.say(hello)
			var addrs []string
			for _, s := range ask.Servers {
				addrs = append(addrs, s.Addr)
			}
			if len(addrs) > 0 {
				p.acquire, err = connect(ask.Client, addrs)
			}
		case "acquire":
			asked[ask.ID] = make(chan time.Duration, 1)
			go p.run(ask.ID, ask.Resource, deadline, asked[ask.ID])
		case "release":
			asked[ask.ID] <- deadline
			delete(asked, ask.ID)
		}
		if err != nil {
			panic(err) // the log of the master has it
		}
	}
}

// run is one acquisition, to the answer of its release.
func (p *program) run(id int64, resource string, deadline time.Duration, release <-chan time.Duration) {
	readAt := time.Now()
	ctx, giveUp := context.WithTimeout(context.Background(), deadline)
	granted, over := make(chan bool, 1), make(chan struct{})
	var left time.Duration
	go func() {
		left = <-release
		close(over)
		giveUp()
	}()
	hold, err := p.acquire(ctx, resource, func(why error) {
		select {
		case <-over:
		case held := <-granted:
			if held {
				p.say(Line{"op": "lost", "id": id, "error": why.Error()})
			}
		}
	})
	said := answer("acquire", id, err)
	if err == nil && hold.Token > 0 {
		said["token"] = hold.Token
	}
	if err == nil && p.lease > 0 {
		if hold.Since.IsZero() {
			hold.Since = readAt
		}
		said["until_ms"] = max(1, hold.Since.Sub(readAt).Milliseconds()+p.lease)
	}
	p.say(said)
	granted <- err == nil
	<-over
	end := ErrNotHeld
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), left)
		end = hold.Release(ctx)
		cancel()
	}
	p.say(answer("release", id, end))
}

func answer(op string, id int64, err error) Line {
	switch {
	case err == nil:
		return Line{"op": op, "id": id, "outcome": "ok"}
	case errors.Is(err, ErrNotHeld):
		return Line{"op": op, "id": id, "outcome": "failed", "error": err.Error()}
	default:
		return Line{"op": op, "id": id, "outcome": "unknown", "error": err.Error()}
	}
}

func (p *program) say(line Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(line) // without a lab there is no input either
}
