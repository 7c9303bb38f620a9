package live

import "testing"

// TestManyLookLessOften: what viewers cost together stays within bounds.
func TestManyLookLessOften(t *testing.T) {
	h := &hub{viewers: map[*viewer]struct{}{}, shown: map[view]*frame{}}
	var all []*viewer
	for n := range 2 * fewViewers {
		want := frameTime
		if n >= fewViewers {
			want = 2 * frameTime
		}
		if h.pace() != want {
			t.Errorf("%d viewers get a frame every %v, want %v", n, h.pace(), want)
		}
		all = append(all, h.join(view{lang: "en"}))
	}
	for _, one := range all {
		h.leave(one)
	}
	if h.pace() != frameTime {
		t.Errorf("when they have gone, there is a frame every %v", h.pace())
	}
}
