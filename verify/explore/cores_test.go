package explore_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"locklab/internal/testfile"
	"locklab/locks/lamport"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/multiphase/quorum"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/twophase"
	"locklab/verify/explore"
)

func multiphaseOf(t *testing.T, text string) multiphase.Options {
	t.Helper()
	return locktest.Options(t, multiphase.ParseOptions, text)
}

// TestLoad: what Load makes of an encoding is the state that was encoded: its encoding
// is the same, and so is all that it does from then on.
func TestLoad(t *testing.T) {
	t.Run("multiphase", func(t *testing.T) { loads(t, multiphaseOf(t, "multiphase").Protocol().Algorithm) })
	t.Run("multiphase, literal", func(t *testing.T) { loads(t, multiphaseOf(t, "multiphase:rule=literal,fair=off").Protocol().Algorithm) })
	t.Run("multiphase, quorum", func(t *testing.T) { loads(t, quorum.Algorithm()) })
	t.Run("lamport", func(t *testing.T) { loads(t, lamport.Options{}.Algorithm()) })
	t.Run("ricart-agrawala", func(t *testing.T) { loads(t, lamport.Options{Detect: true, Defer: true}.Algorithm()) })
	t.Run("2pc", func(t *testing.T) { loads(t, twophase.Options{}.Algorithm()) })
}

// loads steps peers that live on and, beside them, copies that are encoded and loaded
// again before every step, with sensible events and others.
func loads[S, M any, P peercore.Core[S, M]](t *testing.T, alg peercore.Algorithm[S, M]) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 3
		var live, loaded [n]S
		for i := range n {
			live[i], loaded[i] = alg.New(i, peercore.Others(n, i)), alg.New(i, peercore.Others(n, i))
		}
		type letter struct {
			from, to int
			m        M
		}
		var sent []letter
		for range rapid.IntRange(1, 80).Draw(t, "events") {
			i := rapid.IntRange(0, n-1).Draw(t, "peer")
			ev := peercore.Event[M]{
				Kind:  peercore.EventKind(rapid.IntRange(int(peercore.Request), int(peercore.Expire)).Draw(t, "event")),
				Timer: peercore.Timer(rapid.IntRange(0, int(peercore.Timers)-1).Draw(t, "timer")),
				Peer:  (i + rapid.IntRange(1, n-1).Draw(t, "other")) % n,
			}
			if ev.Kind == peercore.Receive {
				if len(sent) == 0 {
					continue
				}
				l := sent[rapid.IntRange(0, len(sent)-1).Draw(t, "letter")]
				i, ev.Peer, ev.Msg = l.to, l.from, l.m
			}
			bytes := peercore.Encode(nil, P(&live[i]).Code)
			rest := peercore.Decode(append(slices.Clone(bytes), 0xaa, 0xbb), P(&loaded[i]).Code)
			if !slices.Equal(rest, []byte{0xaa, 0xbb}) {
				t.Fatalf("Load left %x of two bytes behind %x", rest, bytes)
			}
			if again := peercore.Encode(nil, P(&loaded[i]).Code); !slices.Equal(again, bytes) {
				t.Fatalf("%x became %x", bytes, again)
			}
			want, got := P(&live[i]).Step(ev, nil), P(&loaded[i]).Step(ev, nil)
			if fmt.Sprint(want) != fmt.Sprint(got) {
				t.Fatalf("%v: %v does %v, the loaded one %v", ev, i, want, got)
			}
			if a, b := peercore.Encode(nil, P(&live[i]).Code), peercore.Encode(nil, P(&loaded[i]).Code); !slices.Equal(a, b) {
				t.Fatalf("after %v: %x and %x", ev, a, b)
			}
			for _, e := range want {
				for to := range e.To.All() {
					sent = append(sent, letter{i, to, e.Msg})
				}
			}
		}
	})
}

// TestSizes: the counts that the documentation gives.
func TestSizes(t *testing.T) {
	for _, tt := range []struct {
		spec   string
		sc     explore.Scope
		states int64
	}{
		{"multiphase", explore.Scope{Peers: 2, Requests: []int{explore.Any}}, 53},
		{"multiphase", explore.Scope{Peers: 3, Requests: []int{explore.Any}}, 19369},
		{"multiphase:fair=off", explore.Scope{Peers: 3, Requests: []int{explore.Any}}, 3791},
		{"multiphase", explore.Scope{Peers: 3, Requests: []int{1}}, 1904},
		{"multiphase", explore.Scope{Peers: 3, Requests: []int{1}, GiveUps: explore.Any}, 105350},
	} {
		r := explore.Of(multiphaseOf(t, tt.spec).Protocol().Algorithm).Explore(t.Context(), tt.sc)
		if r.Ended != explore.Complete || r.States != tt.states || !r.StuckChecked {
			t.Errorf("%s, %v: %v after %d states, want %d", tt.spec, tt.sc, r.Ended, r.States, tt.states)
		}
	}
}

// TestDiagrams: the traces of partitions.
func TestDiagrams(t *testing.T) {
	for _, tt := range []struct {
		file string
		sc   explore.Scope
	}{
		{"split", explore.Scope{Peers: 3, Requests: []int{1}, Cuts: 2}},
		{"flap", explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 2, Mends: 1}},
	} {
		r := explore.Of(multiphaseOf(t, "multiphase").Protocol().Algorithm).Explore(t.Context(), tt.sc)
		testfile.Golden(t, filepath.Join("testdata", tt.file+".txt"), strings.Join(r.Trace, "\n")+"\n")
	}
}
