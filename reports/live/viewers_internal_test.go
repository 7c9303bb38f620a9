package live

import "testing"

// TestManyLookLessOften: what viewers cost together stays within bounds.
func TestManyLookLessOften(t *testing.T) {
	h := &hub{feeds: map[view]*feed{}}
	v := view{lang: "en"}
	for n := range 2 * fewViewers {
		want := frameTime
		if n >= fewViewers {
			want = 2 * frameTime
		}
		if h.pace() != want {
			t.Errorf("%d viewers get a frame every %v, want %v", n, h.pace(), want)
		}
		h.join(v)
	}
	for range 2 * fewViewers {
		h.leave(v)
	}
	if h.pace() != frameTime || len(h.feeds) != 0 {
		t.Errorf("when they have gone, there is a frame every %v for %d feeds", h.pace(), len(h.feeds))
	}
}
