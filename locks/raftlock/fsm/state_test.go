package fsm_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"locklab/locks/raftlock/fsm"
)

// caller is a client as the state machine may meet it: it repeats requests, late
// and in any order, and moves its floor as it likes within the protocol.
type caller struct {
	id    uint64
	next  uint64
	floor uint64
	sent  []fsm.Command
}

func (c *caller) draw(t *rapid.T) fsm.Command {
	if len(c.sent) > 0 && rapid.IntRange(0, 3).Draw(t, "repeat") == 0 {
		return rapid.SampledFrom(c.sent).Draw(t, "which")
	}
	c.next++
	c.floor = rapid.Uint64Range(c.floor, min(c.next, c.floor+4)).Draw(t, "floor")
	command := fsm.Command{Kind: fsm.KindAcquire, Session: c.id, Seq: c.next, Floor: c.floor}
	if rapid.Bool().Draw(t, "release") {
		command.Kind = fsm.KindRelease
		claims := []uint64{c.next + 1, c.next + 2} // cancelled before they come
		for _, s := range c.sent {
			if s.Kind == fsm.KindAcquire {
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

// reserved says that a release names the number, so that a late acquire may come
// with it, and nothing else.
func (c *caller) reserved(seq uint64) bool {
	for _, s := range c.sent {
		if s.Kind == fsm.KindRelease && s.Claim == seq {
			return true
		}
	}
	return false
}

func drawCommand(t *rapid.T, callers []*caller, index uint64) fsm.Command {
	kind := rapid.IntRange(0, 11).Draw(t, "what")
	if kind == 0 || len(callers) == 0 {
		return fsm.Command{Kind: fsm.KindOpen, Client: "client", Lease: time.Second}
	}
	c := rapid.SampledFrom(callers).Draw(t, "caller")
	switch kind {
	case 1:
		return fsm.Command{Kind: fsm.KindRenew, Session: c.id, Seq: 9}
	case 2:
		return fsm.Command{Kind: fsm.KindExpire, Session: c.id, Seen: rapid.Uint64Range(index-min(index, 3), index).Draw(t, "seen")}
	case 3:
		if rapid.Bool().Draw(t, "close") {
			return fsm.Command{Kind: fsm.KindClose, Session: c.id}
		}
	}
	for c.reserved(c.next + 1) {
		c.next++ // a cancelled number is never used for something else
		if rapid.Bool().Draw(t, "late acquire") {
			late := fsm.Command{Kind: fsm.KindAcquire, Session: c.id, Seq: c.next, Floor: c.floor, Resource: "a"}
			c.sent = append(c.sent, late)
			return late
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
			commands := make([]fsm.Command, rapid.IntRange(1, 6).Draw(t, "batch"))
			for i := range commands {
				commands[i] = drawCommand(t, callers, index)
			}
			// What travels is the encoding.
			entry, err := fsm.DecodeEntry(fsm.AppendEntry(nil, fsm.Entry{Origin: 7, Number: index, Commands: commands}), nil)
			if err != nil {
				t.Fatal(err)
			}
			outputs := state.Apply(index, entry.Commands)
			answers, pushed := plain.apply(index, commands)
			compare(t, outputs, answers, pushed)
			for _, out := range outputs {
				if out.Outcome == fsm.Opened {
					callers = append(callers, &caller{id: out.Session, floor: 1})
				}
				if out.Outcome == fsm.Granted && out.Token == index {
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
		if out.Command == fsm.Pushed {
			key := [2]uint64{out.Session, out.Seq}
			if pushed[key] != out.Token || out.Outcome != fsm.Granted {
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
		session, seq, token, held := state.Holder(resource)
		queue := plain.queues[resource]
		if held != (len(queue) > 0) {
			t.Fatalf("%s held: %v, want %v", resource, held, len(queue) > 0)
		}
		if held && (session != queue[0].session || seq != queue[0].seq || token != queue[0].token) {
			t.Fatalf("%s held by %d/%d with %d, want %+v", resource, session, seq, token, queue[0])
		}
	}
	for _, s := range state.Sessions() {
		for _, c := range state.Claims(s.ID) {
			want := plain.sessions[s.ID].claims[c.Seq]
			if want == nil || want.ended || want.token != c.Token {
				t.Fatalf("session %d has claim %+v, want %+v", s.ID, c, want)
			}
		}
	}
}

func throughSnapshot(t *rapid.T, state *fsm.State) *fsm.State {
	data := state.AppendSnapshot(nil)
	restored, err := fsm.DecodeSnapshot(data)
	if err != nil {
		t.Fatal(err)
	}
	if again := restored.AppendSnapshot(nil); !bytes.Equal(again, data) {
		t.Fatalf("a restored state has another snapshot:\n%x\n%x", data, again)
	}
	return restored
}

// open returns a state with n sessions, numbered from 1.
func open(n int) *fsm.State {
	s := fsm.New()
	for i := range n {
		s.Apply(uint64(i+1), []fsm.Command{{Kind: fsm.KindOpen, Client: fmt.Sprint("c", i+1), Lease: time.Second}})
	}
	return s
}

func acquire(session, seq uint64, resource string) fsm.Command {
	return fsm.Command{Kind: fsm.KindAcquire, Session: session, Seq: seq, Floor: 1, Resource: resource}
}

func TestOneGrantPerResourceAndEntry(t *testing.T) {
	s := open(3)
	s.Apply(10, []fsm.Command{acquire(1, 1, "r"), acquire(2, 1, "r"), acquire(3, 1, "r")})
	// The holder releases and the next in the queue expires in one entry: session 3
	// is granted, and session 2 never was.
	outputs := s.Apply(11, []fsm.Command{
		{Kind: fsm.KindRelease, Session: 1, Seq: 2, Floor: 2, Claim: 1},
		{Kind: fsm.KindExpire, Session: 2, Seen: 11},
	})
	grants := 0
	for _, out := range outputs {
		if out.Outcome == fsm.Granted {
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

func TestLimits(t *testing.T) {
	tests := []struct {
		name    string
		command fsm.Command
		want    fsm.Outcome
	}{
		{"number beyond the window", fsm.Command{Kind: fsm.KindAcquire, Session: 1, Seq: fsm.Window + 1, Floor: 1, Resource: "r"}, fsm.Refused},
		{"last number of the window", fsm.Command{Kind: fsm.KindAcquire, Session: 1, Seq: fsm.Window, Floor: 1, Resource: "r"}, fsm.Granted},
		{"floor above the number", fsm.Command{Kind: fsm.KindAcquire, Session: 1, Seq: 1, Floor: 2, Resource: "r"}, fsm.Refused},
		{"number zero", fsm.Command{Kind: fsm.KindAcquire, Session: 1, Resource: "r"}, fsm.Refused},
		{"no resource", fsm.Command{Kind: fsm.KindAcquire, Session: 1, Seq: 1, Floor: 1}, fsm.Refused},
		{"no such session", fsm.Command{Kind: fsm.KindRenew, Session: 9}, fsm.NoSession},
		{"no lease", fsm.Command{Kind: fsm.KindOpen}, fsm.Refused},
		{"unknown kind", fsm.Command{Kind: 99, Session: 1}, fsm.Refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			outputs := open(1).Apply(10, []fsm.Command{tt.command})
			if len(outputs) != 1 || outputs[0].Outcome != tt.want {
				t.Errorf("got %+v, want outcome %d", outputs, tt.want)
			}
		})
	}
}

// TestAnswersAreBounded runs many requests through one session: what it remembers
// does not grow with them.
func TestAnswersAreBounded(t *testing.T) {
	s := open(1)
	size := 0
	for i := range uint64(1000) {
		s.Apply(10+2*i, []fsm.Command{{Kind: fsm.KindAcquire, Session: 1, Seq: 2*i + 1, Floor: 2*i + 1, Resource: "r"}})
		s.Apply(11+2*i, []fsm.Command{{Kind: fsm.KindRelease, Session: 1, Seq: 2*i + 2, Floor: 2*i + 2, Claim: 2*i + 1}})
		if n := len(s.AppendSnapshot(nil)); i == 0 {
			size = n
		} else if n > size+16 {
			t.Fatalf("the snapshot grew from %d to %d bytes", size, n)
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add(fsm.AppendEntry(nil, fsm.Entry{Origin: 1, Number: 2, Commands: []fsm.Command{
		{Kind: fsm.KindOpen, Client: "c", Lease: time.Second},
		acquire(1, 1, "r"),
		{Kind: fsm.KindRelease, Session: 1, Seq: 2, Floor: 1, Claim: 1},
		{Kind: fsm.KindRenew, Session: 1, Seq: 1},
		{Kind: fsm.KindExpire, Session: 1, Seen: 3},
		{Kind: fsm.KindClose, Session: 1},
	}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		entry, err := fsm.DecodeEntry(data, nil)
		if err != nil {
			return
		}
		state := open(2)
		state.Apply(10, entry.Commands) // whatever decodes can be applied
		again, err := fsm.DecodeEntry(fsm.AppendEntry(nil, entry), nil)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(entry) {
			t.Errorf("%+v came back as %+v, %v", entry, again, err)
		}
		if _, err := fsm.DecodeSnapshot(state.AppendSnapshot(nil)); err != nil {
			t.Errorf("the state after %+v does not come back: %v", entry, err)
		}
	})
}

func FuzzDecodeSnapshot(f *testing.F) {
	s := open(2)
	s.Apply(10, []fsm.Command{acquire(1, 1, "r"), acquire(2, 1, "r"), acquire(2, 2, "q")})
	f.Add(s.AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		state, err := fsm.DecodeSnapshot(data)
		if err != nil {
			return
		}
		if _, err := fsm.DecodeSnapshot(state.AppendSnapshot(nil)); err != nil {
			t.Errorf("a state that was read cannot be read again: %v", err)
		}
	})
}
