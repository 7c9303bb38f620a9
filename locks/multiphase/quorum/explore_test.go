package quorum

import "testing"

func TestExplore(t *testing.T) {
	tests := []struct {
		name string
		want string
		sc   scope
	}{
		{"no fault, two peers", "", scope{peers: 2, requests: []int{3, 3}, giveUps: 2, stay: true}},
		{"four peers, all others must agree", "", scope{peers: 4, requests: []int{1, 1, 0, 0}, stay: true, options: Options{View: true}}},

		{"a link is cut", "", scope{peers: 3, requests: []int{1, 1, 0}, cuts: [][2]int{{0, 1}}}},
		{"all must agree, a link is cut", "", scope{peers: 3, requests: []int{1, 1, 0}, cuts: [][2]int{{0, 1}}, options: Options{View: true}}},
		{"a peer is cut off and returns", "", scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, cuts: [][2]int{{0, 2}}, mends: 1}},
		{"the minority waits", stuck, scope{peers: 3, requests: []int{1, 0, 0}, cuts: [][2]int{{0, 1}, {0, 2}}}},

		{"a voter crashes and returns", "", scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, crashes: []int{2}, mends: 2}},
		{"a holder crashes and returns", "", scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{1, 2}}, crashes: []int{0}, mends: 2}},
		{"who returns to one of two can't recover", stuck, scope{peers: 3, requests: []int{1, 0, 0}, crashes: []int{0}, mends: 1}},
		{"a crash and giving up, two peers", "", scope{peers: 2, requests: []int{2, 2}, giveUps: 1, crashes: []int{0}, mends: 1}},
		{"all memory is lost", "", scope{peers: 2, requests: []int{2, 2}, crashes: []int{0, 1}, mends: 2, lapse: true}},
		{"all memory is lost, tokens", goesBack, scope{peers: 2, requests: []int{2, 2}, crashes: []int{0, 1}, mends: 2}},
		{"all begin", "", scope{peers: 3, requests: []int{1, 0, 0}, newborn: true}},
		{"both begin", "", scope{peers: 2, requests: []int{1, 1}, newborn: true}},

		{"leases by the clock", "", scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, clock: &clock{lease: 1, vote: 2, ticks: 3, renewals: 1, impatient: true}}},
		{"leases by the clock, two ticks", "", scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, clock: &clock{lease: 2, renew: 1, vote: 3, ticks: 4, renewals: 2, impatient: true}}},
		{"leases by the clock, a link is cut", "", scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, cuts: [][2]int{{0, 2}}, mends: 1, clock: &clock{lease: 1, vote: 2, ticks: 2, renewals: 1, impatient: true}}},
		{"a crash by the clock", "", scope{peers: 3, requests: []int{1, 1, 0}, apart: [][2]int{{0, 1}}, crashes: []int{2}, mends: 2, clock: &clock{lease: 1, vote: 2, ticks: 2, impatient: true}}},

		{"a vote ends too early", twoHold, scope{peers: 3, requests: []int{1, 1, 0}, early: 1}},
		{"no token is given twice though votes end too early", "", scope{peers: 3, requests: []int{1, 1, 0}, early: 2, overlap: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := search(tt.sc)
			if v.violation != tt.want {
				t.Errorf("want %q, got %v", tt.want, v)
			}
			t.Logf("%s: %v", tt.name, v)
		})
	}
}
