package explore

import (
	"testing"

	"locklab/locks/peerlock/peercore"
)

// toy is a core so simple that its states can be counted by hand: who waits waits until
// it gives up. With pings it tells all others of its request, who take no notice.
type toy struct {
	self  int
	peers peercore.Set
	waits bool
}

type ping struct{}

func (*toy) String() string              { return "toy" }
func (*toy) Holds() bool                 { return false }
func (s *toy) Waits() bool               { return s.waits }
func (*toy) Bootstrapped() bool          { return true }
func (s *toy) Idle() bool                { return !s.waits }
func (*toy) Round() uint64               { return 0 }
func (s *toy) Reset(like *toy, _ uint64) { *s = *like }

func (s *toy) Step(ev peercore.Event[ping], out []peercore.Effect[ping]) []peercore.Effect[ping] {
	switch ev.Kind {
	case peercore.Request:
		s.waits = true
		if !s.peers.Empty() {
			out = append(out, peercore.Effect[ping]{Kind: peercore.Send, To: s.peers})
		}
	case peercore.Leave:
		s.waits = false
	default:
	}
	return out
}

func (s *toy) Code(c *peercore.Coder) { c.Bools(&s.waits) }

func toys(pings bool) peercore.Algorithm[toy, ping] {
	return peercore.Algorithm[toy, ping]{
		Spec: "toy",
		New: func(self int, peers peercore.Set) toy {
			if !pings {
				peers = peercore.Set{}
			}
			return toy{self: self, peers: peers}
		},
		Append: func(b []byte, _ ping) []byte { return b },
		Decode: func(b []byte) (ping, []byte, error) { return ping{}, b, nil },
	}
}

// TestCounts: what the engine says it has seen is what there is.
func TestCounts(t *testing.T) {
	tests := []struct {
		name   string
		pings  bool
		sc     Scope
		states int64
		depth  int
	}{
		{"two states each", false, Scope{Peers: 3, Requests: []int{Any}}, 8, 3},
		{"two states each, eight peers", false, Scope{Peers: 8, Requests: []int{Any}}, 256, 8},
		{"2R+1 states each", false, Scope{Peers: 4, Requests: []int{3}}, 7 * 7 * 7 * 7, 24},
		{"uneven requests", false, Scope{Peers: 3, Requests: []int{0, 1, 2}}, 1 * 3 * 5, 6},
		// Not asked, or waits or not while the ping is under way or has arrived.
		{"a ping to one", true, Scope{Peers: 2, Requests: []int{1}}, 5 * 5, 6},
		{"pings to two", true, Scope{Peers: 3, Requests: []int{1}}, 9 * 9 * 9, 12},
		// Not broken; else each end has noticed or not.
		{"a cut", false, Scope{Peers: 2, Requests: []int{0}, Cuts: 1}, 1 + 4, 3},
		// The mended link: on each wire down and up, or up, or nothing is under way.
		{"a cut and a mend", false, Scope{Peers: 2, Requests: []int{0}, Cuts: 1, Mends: 1}, 1 + 4 + 9, 6},
		// Either crashes, which the other notices then.
		{"a crash", false, Scope{Peers: 2, Requests: []int{0}, Crashes: 1}, 1 + 2 + 1, 2},
		// 5 before the cut. After it, peer 0 has noticed or not, and has not asked (2), or it
		// waits or not; then the ping is before the news, or only that, or nothing (3).
		{"a ping and a cut", true, Scope{Peers: 2, Requests: []int{1, 0}, Cuts: 1}, 5 + 2*2 + 2*2*3, 5},
		{"apart", false, Scope{Peers: 2, Requests: []int{0}, Forming: true}, 1, 0},
		{"forming", false, Scope{Peers: 2, Requests: []int{0}, Forming: true, Mends: Any}, 1 + 4, 3},
		// None, one and two pings on the wire with none, one and two requests made.
		{"overtaking makes no difference to equal ones", true, Scope{Peers: 2, Requests: []int{2, 0}, Reorder: true}, 1 + 2*2 + 2*3, 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.sc.Stuck, tt.sc.GiveUps = StuckUnchecked, Any
			r := Of[toy, ping, *toy](toys(tt.pings)).Explore(t.Context(), tt.sc)
			if r.Ended != Complete || r.Violation != "" || r.States != tt.states || r.Depth != tt.depth {
				t.Errorf("%d states, depth %d, want %d and %d: %+v", r.States, r.Depth, tt.states, tt.depth, r)
			}
		})
	}
}
