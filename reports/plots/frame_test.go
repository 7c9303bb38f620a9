package plots

import "testing"

func TestClip(t *testing.T) {
	for _, test := range []struct {
		name string
		n    int
		want string
	}{{"raft", 10, "raft"}, {"redlock:order=sequential", 11, "redlo…ntial"}, {"äöüäöü", 5, "äö…öü"}} {
		if have := clip(test.name, test.n); have != test.want {
			t.Errorf("clip(%q, %d) = %q, want %q", test.name, test.n, have, test.want)
		}
	}
}

// TestAxisLabelsStayNarrow: beside an axis there is room for five letters.
func TestAxisLabelsStayNarrow(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.1: "0.1", 2500: "2,500", 9999.6: "10,000", 10_000: "10k", 12_345.6: "12.35k", 250_000: "250k", 1e6: "1M", 2.5e6: "2.5M", 1e8: "100M", 999_999_999: "1000M", 1e9: "1G", 5e11: "500G",
	} {
		if got := number(v); got != want {
			t.Errorf("%v is written as %q, want %q", v, got, want)
		}
	}
	for v := 1.0; v < 1e12; v *= 10 {
		for _, nice := range []float64{v, 2.5 * v, 5 * v} {
			if label := number(nice); len(label) > len("2,500") {
				t.Errorf("%v is written as %q", nice, label)
			}
		}
	}
}
