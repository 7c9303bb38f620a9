package plots

import (
	"math"
	"testing"
)

func TestNiceNumbers(t *testing.T) {
	for v, want := range map[float64]float64{0.3: 0.5, 1: 1, 1.1: 2, 7: 10, 0: 1, math.Inf(1): 1} {
		if have := roundUp(v, 1, 2, 5); math.Abs(have-want) > 1e-9 {
			t.Errorf("roundUp(%v) = %v, want %v", v, have, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		name string
		n    int
		want string
	}{{"raft", 10, "raft"}, {"redlock:order=sequential", 11, "redlo…ntial"}, {"äöüäöü", 5, "äö…öü"}} {
		if have := Clip(test.name, test.n); have != test.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", test.name, test.n, have, test.want)
		}
	}
}
