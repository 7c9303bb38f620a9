package quorum

import (
	"errors"
	"testing"

	"locklab/locks/explore"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/peerlock/peertest"
)

// restarting keeps votes on disk and restarts as W says. The state is reached
// through its own methods.
type restarting[W wrong] struct{ State }

type wrong interface{ restart(s *State) }

// Reset is the state's.
func (f *restarting[W]) Reset(like *restarting[W], round uint64) { f.State.Reset(&like.State, round) }

// Restart is W's.
func (f *restarting[W]) Restart() {
	var w W
	w.restart(&f.State)
}

type (
	noVote struct{}
	noSeen struct{}
)

func (noVote) restart(s *State) {
	s.disk.vote = request{}
	s.Restart()
}

func (noSeen) restart(s *State) {
	s.disk = stored{}
	s.Restart()
}

// never is right.
type never struct{}

func (never) restart(s *State) { s.Restart() }

// TestExploreDisk crashes a peer that keeps its votes on disk, at every moment. It is
// safe without any recovery, and tokens grow. It is not if it forgets something.
func TestExploreDisk(t *testing.T) {
	sc := explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Crashes: 1, Crashed: []int{2}, Mends: 1}
	t.Run("kept", func(t *testing.T) { exploreDisk[never](t, "", sc) })
	t.Run("votes are forgotten", func(t *testing.T) {
		exploreDisk[noVote](t, "two peers hold the lock", sc)
	})
	all := explore.Scope{Peers: 2, Requests: []int{2, 1}, Crashes: 2, Crashed: []int{0, 1}, Mends: 2}
	t.Run("kept by both", func(t *testing.T) { exploreDisk[never](t, "", all) })
	t.Run("tokens are forgotten by both", func(t *testing.T) {
		exploreDisk[noSeen](t, "a fencing token is not above an earlier one", all)
	})
}

func exploreDisk[W wrong](t *testing.T, want string, sc explore.Scope) {
	t.Helper()
	alg := Options{Disk: true}.Algorithm()
	peertest.Explore[restarting[W], Message](t, want, peercore.Algorithm[restarting[W], Message]{
		Spec: "quorum on disk", Append: alg.Append, Decode: alg.Decode,
		New: func(self int, peers peercore.Set, amnesic bool) restarting[W] {
			return restarting[W]{alg.New(self, peers, amnesic)}
		},
	}, sc)
}

// TestStoreComesFirst checks that no vote is given, to others or to oneself, before it is
// asked to be kept.
func TestStoreComesFirst(t *testing.T) {
	alg := Options{Disk: true}.Algorithm()
	s := alg.New(1, peercore.Others(3, 1), false)
	stored := false
	step := func(ev Event) {
		t.Helper()
		for _, e := range s.Step(ev, nil) {
			switch {
			case e.Kind == peercore.Store:
				stored = true
			case e.Kind == peercore.Send && (e.Msg.Kind == MyLock || e.Msg.Kind == YourLock) && !stored:
				t.Errorf("%v is sent before its vote is kept", e.Msg)
			}
		}
		if !stored {
			t.Errorf("after event %v nothing is to be kept", ev.Kind)
		}
		again := alg.New(1, peercore.Others(3, 1), false)
		if err := again.LoadStored(s.AppendStored(nil)); err != nil {
			t.Fatal(err)
		}
		if again.Voted() != s.Voted() && again.floor < s.Voted() {
			t.Errorf("a vote for %d comes back as %d", s.Voted(), again.Voted())
		}
		stored = false
	}
	s.Step(Event{Kind: peercore.Connect, Peer: 0}, nil)
	s.Step(Event{Kind: peercore.Connect, Peer: 2}, nil)
	step(Event{Kind: peercore.Request})
	step(Event{Kind: peercore.Receive, Peer: 0, Msg: Message{Kind: MyLock, Token: Token(1, 0)}}) // it ranks higher
}

func FuzzLoadStored(f *testing.F) {
	f.Add([]byte{})
	f.Add(stored{vote: request{from: 2, token: Token(7, 2)}, floor: Token(6, 0), seen: Token(9, 1)}.append(nil))
	alg := Options{Disk: true}.Algorithm()
	f.Fuzz(func(t *testing.T, b []byte) {
		s := alg.New(1, peercore.Others(3, 1), false)
		if err := s.LoadStored(b); err != nil {
			if !errors.Is(err, ErrStored) {
				t.Errorf("%x: want ErrStored, got %v", b, err)
			}
			return
		}
		again := alg.New(1, peercore.Others(3, 1), false)
		if err := again.LoadStored(s.AppendStored(nil)); err != nil || string(again.AppendEncode(nil)) != string(s.AppendEncode(nil)) {
			t.Errorf("%x: what was read can't be written and read again: %v", b, err)
		}
	})
}
