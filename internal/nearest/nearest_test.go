package nearest_test

import (
	"testing"

	"locklab/internal/nearest"
)

func TestName(t *testing.T) {
	names := []string{"locks", "scenarios", "redis", "redlock", "redsync", "raft", "zone-partition"}
	for typed, want := range map[string]string{
		"redlok": "redlock", "redlockk": "redlock", "radlock": "redlock", // one out, in, changed
		"redsi": "redis", "lokcs": "locks", "rfat": "raft", // two that changed places
		"zone-partion": "zone-partition", "scen": "scenarios",
		"re": "", "etcd": "", "": "", "xxxx": "",
	} {
		if got := nearest.Name(typed, names); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}
