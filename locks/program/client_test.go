package program_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/filelock"
	"locklab/locks/program"
)

// asClient is the first argument of this test's own program when it is to be a lock's.
const asClient = "lock-client"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == asClient {
		os.Exit((&client{dir: os.Args[2], manner: os.Args[3], calls: map[uint64]*waiter{}}).run())
	}
	goleak.VerifyTestMain(m)
}

// commandOf is a client with some manner that locks files below a directory.
func commandOf(t *testing.T, dir, manner string) program.Command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program.Command{Args: []string{exe, asClient, dir, manner}, Dir: dir}
}

// The manners of clients. All but the first are wrong.
const (
	good         = "good"
	everybody    = "everybody gets it"
	keeps        = "a release gives nothing back"
	noDeadline   = "no answer before it is granted"
	oneByOne     = "one request after the other"
	noGivingUp   = "a waiter waits on"
	losesAll     = "what is granted is lost at once"
	endsAtOnce   = "what is granted ends at once"
	sameToken    = "the token does not grow"
	askToken     = "the token is drawn when it is asked for"
	noEnd        = "the end of the input does not end it"
	talksFirst   = "it says something before hello"
	forgetsCrash = "what a crashed client held is never free"
)

// ttl is what the leases of a client last that has some manner. Where only the end of a lease
// hides the manner, it is far behind what anybody waits for.
func ttl(manner string) time.Duration {
	switch manner {
	case everybody, noDeadline, noGivingUp:
		return 10 * time.Second
	default:
		return 3 * time.Second
	}
}

// client is a lock on files. It is right but for its manner.
type client struct {
	dir, manner string

	mu    sync.Mutex
	calls map[uint64]*waiter
	all   sync.WaitGroup
}

type waiter struct {
	released chan struct{} // closed by its release
	answered chan struct{} // closed when its acquisition has its answer
	resource string        // if it was granted
}

// state is the file of one resource.
type state struct {
	Token uint64
	Owner string
	Until int64 // of the machine's wall clock
}

func (c *client) run() int {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var a program.Ask
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		c.hear(a)
	}
	if c.manner == noEnd {
		time.Sleep(time.Hour)
	}
	c.all.Wait()
	return 0
}

func (c *client) say(op program.Op, id uint64, fields map[string]any) {
	fields["op"] = op
	if id > 0 {
		fields["id"] = id
	}
	text, _ := json.Marshal(fields)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = os.Stdout.Write(append(text, '\n'))
}

func (c *client) hear(a program.Ask) {
	switch a.Op {
	case program.OpHello:
		if c.manner == talksFirst {
			fmt.Println("starting up")
		}
		c.say(program.OpHello, 0, map[string]any{"version": 1, "tokens": true, "lease_ms": ttl(c.manner).Milliseconds()})
	case program.OpAcquire:
		w := &waiter{released: make(chan struct{}), answered: make(chan struct{})}
		c.mu.Lock()
		c.calls[a.ID] = w
		c.mu.Unlock()
		if c.manner == oneByOne {
			c.wait(a, w)
			return
		}
		c.all.Go(func() { c.wait(a, w) })
	case program.OpRelease:
		c.mu.Lock()
		w := c.calls[a.ID]
		c.mu.Unlock()
		if c.manner != noGivingUp {
			close(w.released)
		}
		c.all.Go(func() { c.release(a, w) })
	}
}

func (c *client) wait(a program.Ask, w *waiter) {
	defer close(w.answered)
	asked := time.Now()
	var drawn uint64
	if c.manner == askToken {
		c.change("token of "+a.Resource, func(s *state) { s.Token++; drawn = s.Token })
	}
	deadline := asked.Add(time.Duration(a.DeadlineMS) * time.Millisecond)
	for {
		begun := time.Now()
		if token, ok := c.take(a); ok {
			w.resource = a.Resource
			if drawn > 0 {
				token = drawn
			}
			until := begun.Sub(asked) + ttl(c.manner)
			if c.manner == endsAtOnce {
				until = time.Millisecond
			}
			c.say(program.OpAcquire, a.ID, map[string]any{"outcome": "ok", "token": token, "until_ms": until.Milliseconds()})
			if c.manner == losesAll {
				c.say(program.OpLost, a.ID, map[string]any{})
			}
			return
		}
		over := time.Now().After(deadline)
		select {
		case <-w.released:
			over = true
		case <-time.After(2 * time.Millisecond):
		}
		if over && c.manner != noDeadline {
			c.say(program.OpAcquire, a.ID, map[string]any{"outcome": "failed", "error": "somebody else holds it"})
			return
		}
	}
}

func (c *client) owner(a program.Ask) string { return fmt.Sprintf("%d/%d", os.Getpid(), a.ID) }

func (c *client) take(a program.Ask) (token uint64, ok bool) {
	c.change(a.Resource, func(s *state) {
		now := time.Now().UnixNano()
		free := s.Owner == "" || (s.Until <= now && c.manner != forgetsCrash)
		if ok = free || c.manner == everybody; !ok {
			return
		}
		if c.manner != sameToken || s.Token == 0 {
			s.Token++
		}
		s.Owner, s.Until, token = c.owner(a), now+int64(ttl(c.manner)), s.Token
	})
	return token, ok
}

func (c *client) release(a program.Ask, w *waiter) {
	<-w.answered
	outcome := map[string]any{"outcome": "failed", "error": "it is not held"}
	if w.resource != "" {
		c.change(w.resource, func(s *state) {
			if s.Owner != c.owner(a) && c.manner != everybody {
				return
			}
			if outcome = map[string]any{"outcome": "ok"}; c.manner != keeps {
				s.Owner = ""
			}
		})
	}
	c.say(program.OpRelease, a.ID, outcome)
}

func (c *client) file(name string) string {
	return filepath.Join(c.dir, fmt.Sprintf("%x", sha256.Sum256([]byte(name))))
}

// change reads and writes a resource's state while no other program does.
func (c *client) change(resource string, f func(*state)) {
	file, err := os.OpenFile(c.file("resource "+resource), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	defer func() { _ = file.Close() }() // unlocks it, too
	for err = filelock.Exclusive(file); err != nil; err = filelock.Exclusive(file) {
		if !errors.Is(err, filelock.ErrInUse) {
			panic(err)
		}
		time.Sleep(time.Millisecond) // the other program keeps it for a moment
	}
	text, err := io.ReadAll(file)
	if err != nil {
		panic(err)
	}
	var s state
	_ = json.Unmarshal(text, &s) // a new file is empty
	f(&s)
	text, _ = json.Marshal(s)
	if err := file.Truncate(0); err != nil {
		panic(err)
	}
	if _, err := file.WriteAt(text, 0); err != nil {
		panic(err)
	}
}
