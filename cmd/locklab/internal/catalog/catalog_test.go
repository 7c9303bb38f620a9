package catalog_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/must"
	"locklab/locks"
)

func TestParseListSplitsSpecsNotOptions(t *testing.T) {
	tests := []struct {
		values []string
		want   []string
	}{
		{[]string{"none,redlock"}, []string{"none", "redlock"}},
		{[]string{"redlock:order=sequential,retry=fixed,raft"}, []string{"redlock:order=sequential,retry=fixed", "raft"}},
		{[]string{"raft", "redlock:ttl=1s"}, []string{"raft", "redlock:ttl=1s"}},
		{[]string{"redlock,ttl=1s, raft, lease=2s"}, []string{"redlock:ttl=1s", "raft:lease=2s"}}, // with no colon, too
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
		"readlock":              `unknown lock "readlock" (known: ` + strings.Join(catalog.Names(), ", ") + ")",
		"redlock:ordre=x":       `unknown option "ordre"`,
		"redlock:order=upwards": "parallel, sequential",
		"raft,raft":             "named twice",
		"":                      "want a name, such as redlock",
		"redlock,,raft":         "want a name, such as redlock",
		"ttl=3s":                "options stand behind the lock that they are of, as in LOCK:ttl=3s",
		"raft,:lease=3s":        "options stand behind the lock that they are of, as in LOCK:lease=3s",
		"Raft":                  "a name is lower-case letters",
		"redlock:":              "nothing is behind the colon: want redlock alone, or options",
		"redlock:ttl":           `option "ttl" has no value: want ttl=VALUE`,
		"redis:replica:wait=1":  "want commas behind the first, as in redis:VARIANT,KEY=VALUE",
	} {
		if _, err := catalog.ParseList([]string{value}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want one that says %q", value, err, want)
		}
	}
}

// TestLeases: what a dead holder keeps is the lease; a server without memory stays away for that
// long, unless an option says otherwise, which is the lab's to apply.
func TestLeases(t *testing.T) {
	for text, want := range map[string]struct{ lease, away time.Duration }{
		"redlock:ttl=2s": {2 * time.Second, 2 * time.Second}, "redlock:restart_delay=100ms,ttl=2s": {2 * time.Second, 100 * time.Millisecond},
		"redsync:restart_delay=9s,ttl=2s": {2 * time.Second, 9 * time.Second}, "raft:lease=4s": {4 * time.Second, 4 * time.Second},
		"multiphase": {}, "multiphase:quorum,ttl=5s": {5 * time.Second, 5 * time.Second},
	} {
		specs, err := catalog.ParseList([]string{text})
		must.Do(t, err)
		if got := specs[0]; got.Lease != want.lease || got.Away != want.away {
			t.Errorf("%s: %v and %v, want %v", text, got.Lease, got.Away, want)
		}
	}
}

// TestTraits: every lock says what it is.
func TestTraits(t *testing.T) {
	for _, e := range catalog.Entries() {
		if e.Traits.Agree == "" || e.Traits.Agree == locks.AgreeUnknown {
			t.Errorf("%s: nothing says who has to agree", e.Name)
		}
	}
}
