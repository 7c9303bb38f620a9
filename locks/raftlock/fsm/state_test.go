package fsm_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"locklab/locks/raftlock/fsm"
	"locklab/locks/raftlock/wire"
)

// caller is a client as the state machine may meet it: it repeats requests, late
// and in any order, and moves its floor as it likes within the protocol.
type caller struct {
	id    uint64
	next  uint64
	floor uint64
	sent  []wire.Request
}

func (c *caller) draw(t *rapid.T) wire.Request {
	if len(c.sent) > 0 && rapid.IntRange(0, 3).Draw(t, "repeat") == 0 {
		return rapid.SampledFrom(c.sent).Draw(t, "which")
	}
	c.next++
	c.floor = rapid.Uint64Range(c.floor, min(c.next, c.floor+4)).Draw(t, "floor")
	command := wire.Request{Kind: wire.Acquire, Session: c.id, Seq: c.next, Floor: c.floor}
	if rapid.Bool().Draw(t, "release") {
		command.Kind = wire.Release
		claims := []uint64{c.next} // not an acquire's
		for _, s := range c.sent {
			if s.Kind == wire.Acquire {
				claims = append(claims, s.Seq)
			}
		}
		command.Claim = rapid.SampledFrom(claims).Draw(t, "claim")
	} else {
		command.Resource = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "resource")
	}
	c.sent = append(c.sent, command)
	return command
}

func drawCommand(t *rapid.T, callers []*caller, index uint64) wire.Request {
	kind := rapid.IntRange(0, 11).Draw(t, "what")
	if kind == 0 || len(callers) == 0 {
		return wire.Request{Kind: wire.Open, Client: "client", Lease: time.Second}
	}
	c := rapid.SampledFrom(callers).Draw(t, "caller")
	switch kind {
	case 1:
		return wire.Request{Kind: wire.Renew, Session: c.id, Seq: 9}
	case 2:
		return wire.Request{Kind: wire.Expire, Session: c.id, Seen: rapid.Uint64Range(index-min(index, 3), index).Draw(t, "seen")}
	case 3:
		if rapid.Bool().Draw(t, "close") {
			return wire.Request{Kind: wire.Close, Session: c.id}
		}
	}
	return c.draw(t)
}

func TestStateAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state, plain := fsm.New(), newModel()
		var callers []*caller
		lastToken := map[string]uint64{}
		index := uint64(0)
		for range rapid.IntRange(1, 60).Draw(t, "entries") {
			index += rapid.Uint64Range(1, 3).Draw(t, "gap")
			commands := make([]wire.Request, rapid.IntRange(1, 6).Draw(t, "batch"))
			for i := range commands {
				commands[i] = drawCommand(t, callers, index)
			}
			outputs := state.Apply(index, commands)
			answers, pushed := plain.apply(index, commands)
			compare(t, outputs, answers, pushed)
			for _, out := range outputs {
				if out.Outcome == wire.Opened {
					callers = append(callers, &caller{id: out.Session, floor: 1})
				}
				if out.Outcome == wire.Granted && out.Token == index {
					if before := lastToken[out.Resource]; before > index {
						t.Fatalf("token %d after %d", index, before)
					}
					lastToken[out.Resource] = index
				}
			}
			compareHolders(t, state, plain)
			if rapid.IntRange(0, 4).Draw(t, "snapshot") == 0 {
				state = throughSnapshot(t, state)
			}
		}
	})
}

func compare(t *rapid.T, outputs []fsm.Output, answers []modelOutput, pushed map[[2]uint64]uint64) {
	i := 0
	for _, out := range outputs {
		if out.Pushed {
			key := [2]uint64{out.Session, out.Seq}
			if pushed[key] != out.Token || out.Outcome != wire.Granted {
				t.Fatalf("pushed %+v, want token %d", out, pushed[key])
			}
			delete(pushed, key)
			continue
		}
		if i >= len(answers) {
			t.Fatalf("answer %+v too many", out)
		}
		got := modelOutput{out.Session, out.Seq, out.Outcome, out.Token}
		if got != answers[i] {
			t.Fatalf("answer %d is %+v, want %+v", i, got, answers[i])
		}
		i++
	}
	if i != len(answers) || len(pushed) != 0 {
		t.Fatalf("%d answers of %d, grants not pushed: %v", i, len(answers), pushed)
	}
}

func compareHolders(t *rapid.T, state *fsm.State, plain *model) {
	for _, resource := range []string{"a", "b", "c"} {
		res, queue := state.Resources[resource], plain.queues[resource]
		if (res != nil) != (len(queue) > 0) {
			t.Fatalf("%s held: %v, want %v", resource, res != nil, len(queue) > 0)
		}
		if res == nil {
			continue
		}
		if holder := res.Queue[0]; holder.Session != queue[0].session || holder.Seq != queue[0].seq || res.Token != queue[0].token {
			t.Fatalf("%s held by %+v, want %+v", resource, res, queue[0])
		}
	}
	for id := range state.Sessions {
		for _, c := range state.Held(id) {
			want := plain.sessions[id].claims[c.Seq]
			if want == nil || want.ended || want.token != c.Token {
				t.Fatalf("session %d holds %+v, want %+v", id, c, want)
			}
		}
	}
}

func throughSnapshot(t interface{ Fatal(...any) }, state *fsm.State) *fsm.State {
	data := snapshot(t, state)
	restored := fsm.New()
	if err := json.Unmarshal(data, restored); err != nil {
		t.Fatal(err)
	}
	if again := snapshot(t, restored); !bytes.Equal(again, data) {
		t.Fatal(fmt.Sprintf("a restored state has another snapshot:\n%s\n%s", data, again))
	}
	return restored
}

func snapshot(t interface{ Fatal(...any) }, state *fsm.State) []byte {
	data, err := json.Marshal(state, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// open returns a state with n sessions, numbered from 1.
func open(n int) *fsm.State {
	s := fsm.New()
	for i := range n {
		s.Apply(uint64(i+1), []wire.Request{{Kind: wire.Open, Client: fmt.Sprint("c", i+1), Lease: time.Second}})
	}
	return s
}

func acquire(session, seq uint64, resource string) wire.Request {
	return wire.Request{Kind: wire.Acquire, Session: session, Seq: seq, Floor: 1, Resource: resource}
}

func TestOneGrantPerResourceAndEntry(t *testing.T) {
	s := open(3)
	s.Apply(10, []wire.Request{acquire(1, 1, "r"), acquire(2, 1, "r"), acquire(3, 1, "r")})
	// The holder releases and the next in the queue expires in one entry: session 3
	// is granted, and session 2 never was.
	outputs := s.Apply(11, []wire.Request{
		{Kind: wire.Release, Session: 1, Seq: 2, Floor: 2, Claim: 1},
		{Kind: wire.Expire, Session: 2, Seen: 11},
	})
	grants := 0
	for _, out := range outputs {
		if out.Outcome == wire.Granted {
			grants++
			if out.Session != 3 || out.Token != 11 {
				t.Errorf("granted %+v, want session 3 with token 11", out)
			}
		}
	}
	if grants != 1 {
		t.Errorf("%d grants in one entry, want 1", grants)
	}
}

// TestAnswersAreBounded runs many requests through one session: what it remembers
// does not grow with them.
func TestAnswersAreBounded(t *testing.T) {
	s := open(1)
	size := 0
	for i := range uint64(1000) {
		s.Apply(10+2*i, []wire.Request{{Kind: wire.Acquire, Session: 1, Seq: 2*i + 1, Floor: 2*i + 1, Resource: "r"}})
		s.Apply(11+2*i, []wire.Request{{Kind: wire.Release, Session: 1, Seq: 2*i + 2, Floor: 2*i + 2, Claim: 2*i + 1}})
		if n := len(snapshot(t, s)); i == 0 {
			size = n
		} else if n > size+16 {
			t.Fatalf("the snapshot grew from %d to %d bytes", size, n)
		}
	}
}
