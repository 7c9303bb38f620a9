package main

import (
	"strings"
	"testing"

	"locklab/cmd/locklab/internal/lab"
)

// TestWhatWouldBeRight: each wrong command says what is meant, and ends with nothing that
// is for programs.
func TestWhatWouldBeRight(t *testing.T) {
	for typed, want := range map[string]string{
		"check":                               "want locklab check HISTORY [flags], such as\n  locklab check",
		"list":                                "such as\n  locklab list locks",
		"list locs":                           "did you mean locks?",
		"list scenarios zone-prtition":        "did you mean zone-partition?",
		"report":                              "want locklab report DIR...",
		"run --lock a":                        "did you mean --locks?",
		"run --lokcs a":                       "did you mean --locks?",
		"run --locks redlok":                  "did you mean redlock?",
		"list locks redis:foo":                `unknown variant "foo"`,
		"run --locks redlock:foo=1":           "wake)",
		"run --locks multiphase:quorumm":      "did you mean quorum?",
		"run --locks redlock:restrt_delay=1s": "did you mean restart_delay?",
		"run --scenarios zone-partion":        "did you mean zone-partition?",
		"run --topology seoul":                "did you mean seoul-2az?",
		"run --workload mutx":                 "did you mean mutex?",
		"run --fail-on duplicates.totl>0":     "did you mean duplicates.total?",
		"run --duration 5":                    "--duration 5: want a time with its unit, such as 5s",
		"run --duration soon":                 "such as 20s",
		"run --external power=/bin/true":      "--external: \"power=/bin/true\": want NAME=START,STOP",

		"run --topology one-host --locks redlock --scenarios zone-partition": "no host but host-a; topology one-host has the zones a and",
	} {
		root := newRoot()
		root.SetArgs(strings.Fields(typed))
		err := root.Execute()
		if err == nil {
			t.Errorf("%s: no error", typed)
			continue
		}
		if text := lab.Said(err); !strings.Contains(text, want) || strings.Contains(text, "invalid") || strings.Contains(text, "no target") {
			t.Errorf("%s: %q does not say %q", typed, text, want)
		}
	}
}

// TestListOne shows when a scenario breaks what, and what it expects.
func TestListOne(t *testing.T) {
	_, said := call(t, "list", "scenarios", "zone-partition")
	text := strings.Join(strings.Fields(said), " ")
	for _, want := range []string{"2.4 s to 5.2 s partition zone:a <-> others", "redlock safe, live or stalls, 25 % during", "in seoul-2az down"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
}

// TestListTellsOptions of a lock one by one, of a variant what is other there, and of a fault the
// fields of its step.
func TestListTellsOptions(t *testing.T) {
	for line, wants := range map[string][]string{
		"locks redlock": {
			"such as redlock:ttl=3s,persistence=always:", "ttl=TIME how long a lease lasts", "(default 3s)", "order=parallel|sequential whether the servers",
			"if not given timeout=TIME",
		},
		"locks redis":      {"redis:setnx-getset SETNX", "options: those of redis without extend", "and these, which are new or have another default: ttl=TIME", "(default 4s)"},
		"locks multiphase": {"multiphase:quorum a majority", "(1 to 1048576; default 16)"},
		"locks none":       {"none has no options."},
		"faults partition": {"- {at: 30%, for: 35%, fault: partition, between: [zone:a, others], mode: hold}", "from: leader in place of between"},
		"faults restart":   {"- {at: 30%, fault: restart, target: one:server}", "(optional)"},
		"locks":            {"locklab list locks NAME says"},
		"locks --lang ko":  {"옵션"},
	} {
		_, said := call(t, append([]string{"list"}, strings.Fields(line)...)...)
		text := strings.Join(strings.Fields(said), " ")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", line, want, said)
			}
		}
	}
	_, said := call(t, "list", "faults", "restart")
	if strings.Contains(said, "for:") {
		t.Errorf("a restart, which is over at once, has a length:\n%s", said)
	}
}

// TestTitlesBeginWithALetter, of whatever alphabet.
func TestTitlesBeginWithALetter(t *testing.T) {
	for title, want := range map[string]string{"time to acquire": "Time to acquire", "획득 시간": "획득 시간"} {
		if have := upper(title); have != want {
			t.Errorf("%q became %q", title, have)
		}
	}
}
