package catalog_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/cmd/locklab/internal/catalog"
)

func TestParseListSplitsSpecsNotOptions(t *testing.T) {
	tests := []struct {
		values []string
		want   []string
	}{
		{nil, []string{"none", "local", "multiphase", "redlock", "raft"}},
		{[]string{"none,redlock"}, []string{"none", "redlock"}},
		{[]string{"redlock:order=sequential,retry=fixed,raft"}, []string{"redlock:order=sequential,retry=fixed", "raft"}},
		{[]string{"raft", "redlock:ttl=1s"}, []string{"raft", "redlock:ttl=1s"}},
	}
	for _, tt := range tests {
		specs, err := catalog.ParseList(tt.values)
		if err != nil {
			t.Errorf("%q: %v", tt.values, err)
			continue
		}
		var got []string
		for _, s := range specs {
			got = append(got, s.String())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.values, got, tt.want)
		}
	}
}

func TestParseListExplainsWhatIsWrong(t *testing.T) {
	for value, want := range map[string]string{
		"readlock":              `unknown lock "readlock" (known: none, local, multiphase, lamport, ricart-agrawala, 2pc, redlock, raft)`,
		"redlock:ordre=x":       `unknown option "ordre"`,
		"redlock:order=upwards": "parallel, sequential",
		"raft,raft":             "named twice",
		"":                      "a name is lower-case letters",
		"ttl=3s":                "a name is lower-case letters",
	} {
		if _, err := catalog.ParseList([]string{value}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want one that says %q", value, err, want)
		}
	}
}

// TestRestartDelayReplacesTheLease: the option is the lab's to apply.
func TestRestartDelayReplacesTheLease(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"redlock:ttl=2s": 2 * time.Second, "redlock:restart_delay=100ms,ttl=2s": 100 * time.Millisecond,
		"raft:lease=4s": 4 * time.Second, "multiphase": 0,
	} {
		specs, err := catalog.ParseList([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		entry, err := catalog.Lookup(specs[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := entry.Lease(specs[0]); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
