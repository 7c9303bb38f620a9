package quorum

import (
	"testing"

	"locklab/locks/explore"
)

// TestEngine explores with the engine that locklab explore has. It is faster, and has
// neither a clock nor links that are down from the start.
func TestEngine(t *testing.T) {
	tests := []struct {
		name string
		want string
		sc   explore.Scope
	}{
		{"no fault", "", explore.Scope{Peers: 3, Rounds: 1}},
		{"no fault, again and again", "", explore.Scope{Peers: 3, Requests: []int{2, 2, 0}}},
		{"giving up at any moment", "", explore.Scope{Peers: 3, Requests: []int{2, 1, 0}, GiveUps: 1}},
		{"leases end", "", explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Expiries: 1}},
		{"links are cut", "", explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Cuts: 2}},
		{"a link is cut and mended", "", explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Links: [][2]int{{0, 2}}, Mends: 1}},
		{"the mesh forms", "", explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Forming: true, Mends: 3}},
		{"four peers", "", explore.Scope{Peers: 4, Requests: []int{1, 1, 0, 0}}},
		{"crashes, two peers", "", explore.Scope{
			Peers: 2, Requests: []int{2, 1}, GiveUps: 1, Expiries: 1, Renewals: 1, Crashed: []int{0}, Mends: 1,
		}},
		{"votes end too early", explore.TwoHold, explore.Scope{Peers: 3, Requests: []int{1, 1, 0}, Untimed: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.sc.StatesMax = 2_000_000
			subject := explore.Of[State, Message, *State](Options{}.Algorithm(), nil)
			r, err := subject.Explore(t.Context(), tt.sc, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Violation != tt.want || (r.Ended != explore.Complete && r.Ended != explore.Violated) {
				t.Errorf("want %q, got %q after %d states, %v", tt.want, r.Violation, r.States, r.Ended)
			}
			t.Logf("%v: %d states, %v %q", tt.sc, r.States, r.Ended, r.Violation)
		})
	}
}
