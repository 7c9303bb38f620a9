package nearest_test

import (
	"testing"

	"locklab/internal/nearest"
)

func TestHint(t *testing.T) {
	names := []string{"locks", "scenarios", "redis", "redlock", "redsync", "raft", "zone-partition"}
	for typed, want := range map[string]string{
		"redlok": "redlock", "redlockk": "redlock", "radlock": "redlock", // one out, in, changed
		"redsi": "redis", "lokcs": "locks", "rfat": "raft", // two that changed places
		"zone-partion": "zone-partition", "scen": "scenarios",
		"re": "", "etcd": "", "": "", "xxxx": "",
	} {
		if want != "" {
			want = "; did you mean " + want + "?"
		}
		if got := nearest.Hint(typed, names); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}
