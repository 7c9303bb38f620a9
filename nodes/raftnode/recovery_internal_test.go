package raftnode

import "testing"

func TestDecideWhetherTheServiceIsNew(t *testing.T) {
	tests := []struct {
		name    string
		terms   map[string]uint64
		members int
		isNew   bool
		floor   uint64 // 0: not known
	}{
		{"nobody answered", nil, 3, false, 0},
		{"another one is new too", map[string]uint64{"b": 1}, 3, true, 0},
		{"one has seen elections, one is silent", map[string]uint64{"b": 4}, 3, false, 0},
		{"both others known", map[string]uint64{"b": 4, "c": 6}, 3, false, 6},
		{"one of both is new", map[string]uint64{"b": 4, "c": 1}, 3, false, 4},
		{"five, one more is new", map[string]uint64{"b": 0}, 5, false, 0},
		{"five, two more are new", map[string]uint64{"b": 0, "c": 1}, 5, true, 0},
		{"five, two known", map[string]uint64{"b": 3, "c": 2}, 5, false, 0},
		{"five, three known", map[string]uint64{"b": 3, "c": 2, "d": 5}, 5, false, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &recovery{active: true}
			if got := r.decide(tt.terms, tt.members); got != tt.isNew {
				t.Errorf("new: %v, want %v", got, tt.isNew)
			}
			if r.known != (tt.floor != 0) || r.floor != tt.floor {
				t.Errorf("floor %d (known: %v), want %d", r.floor, r.known, tt.floor)
			}
		})
	}
}
