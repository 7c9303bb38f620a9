// Package protocol speaks the lock program's protocol for Go libraries: locks/program/README.md.
package protocol

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
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

// Serve speaks the protocol to the end of the input. connect makes the library's client.
func Serve(hello Line, connect func(name string, addrs []string) (Acquire, error)) {
	var acquire Acquire
	release := map[int64]func(time.Duration){}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var ask struct {
			Op, Client, Resource string
			ID                   int64
			DeadlineMS           int64 `json:"deadline_ms"`
			Servers              []struct{ Addr string }
		}
		err := json.Unmarshal(in.Bytes(), &ask)
		left := time.Duration(ask.DeadlineMS)*time.Millisecond - margin
		switch ask.Op {
		case "hello":
			hello["op"], hello["version"] = "hello", 1
			say(hello)
			var addrs []string
			for _, s := range ask.Servers {
				addrs = append(addrs, s.Addr)
			}
			if len(addrs) > 0 {
				acquire, err = connect(ask.Client, addrs)
			}
		case "acquire":
			lease, _ := hello["lease_ms"].(int64)
			release[ask.ID] = start(acquire, ask.ID, ask.Resource, left, lease)
		case "release":
			go release[ask.ID](left)
			delete(release, ask.ID)
		}
		if err != nil {
			panic(err) // the log of the master has it
		}
	}
}

// start begins an acquisition, and returns its release.
func start(acquire Acquire, id int64, resource string, left time.Duration, leaseMS int64) func(left time.Duration) {
	readAt := time.Now()
	over, giveUp := context.WithCancel(context.Background())
	answered := make(chan struct{}) // closed when these are set:
	var hold Hold
	var err error
	go func() {
		defer close(answered)
		ctx, cancel := context.WithTimeout(over, left)
		defer cancel()
		hold, err = acquire(ctx, resource, func(why error) {
			<-answered
			if err == nil && over.Err() == nil {
				say(Line{"op": "lost", "id": id, "error": why.Error()})
			}
		})
		line := answer("acquire", id, err)
		if err == nil && hold.Token > 0 {
			line["token"] = hold.Token
		}
		if err == nil && leaseMS > 0 {
			line["until_ms"] = max(1, cmp.Or(hold.Since, readAt).Sub(readAt).Milliseconds()+leaseMS)
		}
		say(line)
	}()
	return func(left time.Duration) {
		giveUp()
		<-answered
		end := ErrNotHeld
		if err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), left)
			defer cancel()
			end = hold.Release(ctx)
		}
		say(answer("release", id, end))
	}
}

func answer(op string, id int64, err error) Line {
	if err == nil {
		return Line{"op": op, "id": id, "outcome": "ok"}
	}
	outcome := map[bool]string{true: "failed", false: "unknown"}[errors.Is(err, ErrNotHeld)]
	return Line{"op": op, "id": id, "outcome": outcome, "error": err.Error()}
}

func say(line Line) {
	text, _ := json.Marshal(line)              // of words and numbers
	_, _ = os.Stdout.Write(append(text, '\n')) // without a lab there is no input either
}
