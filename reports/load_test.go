package reports

import "testing"

// TestWithin: the directory is taken from the beginnings of paths, and from nothing else.
func TestWithin(t *testing.T) {
	for _, tt := range []struct{ dir, text, want string }{
		{"a", "a/x.jsonl:2: decode", "x.jsonl:2: decode"},
		{"a", "open data/x: read a/x", "open data/x: read x"},
		{"/tmp/run/", "open /tmp/run/h/x: gone\n/tmp/run/h/y: gone", "open h/x: gone\nh/y: gone"},
		{".", "open ../x/y.jsonl", "open ../x/y.jsonl"},
		{"r.n", `read "run/x" and "r.n/x"`, `read "run/x" and "x"`},
	} {
		if got := within(tt.dir, tt.text); got != tt.want {
			t.Errorf("%s in %q: %q, want %q", tt.dir, tt.text, got, tt.want)
		}
	}
}
