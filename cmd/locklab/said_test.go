package main

import (
	"path/filepath"
	"strings"
	"testing"

	json "github.com/go-json-experiment/json/v1"

	"locklab/cmd/locklab/internal/lab"
	"locklab/internal/testfile"
)

// TestWhatWouldBeRight: each wrong command says what is meant, and ends with nothing that
// is for programs.
func TestWhatWouldBeRight(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		testfile.Write(t, filepath.Join(dir, name), text)
		return filepath.Join(dir, name)
	}
	wrongField := write("field.yaml", "name: x\nsummary: y\ntimeline:\n  - at: 10%\n    for: 10%\n    fault: partition\n    betwixt: [zone:a, zone:c]\n")
	wrongTopology := write("amid.yaml", "name: x\nzones: [{name: z, short: a}]\nlatency:\n  inside: {rtt: 1ms}\n  amid: {rtt: 1ms}\nhosts: []\n")
	file := write("file", "")
	noFlag := write("flag.yaml", "name: x\nparts:\n  - {locks: none, speed: 3}\n")
	usersFlag := write("user.yaml", "name: x\nparts:\n  - {locks: none, out: /tmp/x}\n")
	noLock := write("lock.yaml", "name: x\nparts:\n  - {locks: nonsense}\n")
	twice := write("twice.yaml", "name: x\nparts: [{locks: none, scenarios: baseline}, {locks: none, scenarios: baseline}]\n")
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
		"levels nope":                         `LOCK: unknown lock "nope" (known: none, `,
		"run --locks redlock:foo=1":           "ttl)",
		"run --locks multiphase:quorumm":      "did you mean quorum?",
		"run --locks redlock:restrt_delay=1s": "did you mean restart_delay?",
		"run --scenarios zone-partion":        "did you mean zone-partition?",
		"run --topology seoul":                "did you mean seoul-2az?",
		"run --workload mutx":                 "did you mean mutex?",
		"run --fail-on duplicate>0":           "did you mean duplicates?",
		"run --external power=/bin/true":      "--external: \"power=/bin/true\": want NAME=START,STOP",

		"run --locks redlock:ttl=soon":          "ttl=soon",
		"run --suite " + noFlag:                 noFlag + ":3: parts[0]: speed: want a flag of locklab run that says what is run",
		"run --suite " + usersFlag:              usersFlag + ":3: parts[0]: out: want a flag",
		"run --suite " + noLock:                 noLock + ":3: parts[0]: --locks: ",
		"run --suite " + twice:                  "none under baseline with the workload matchmaking is in two parts",
		"run --locks raft --suite " + twice:     "--locks: the suite says it",
		"run --resume nowhere":                  "want the directory of a run that began",
		"run --scenarios " + wrongField:         wrongField + ":7:",
		"run --topology " + wrongTopology:       wrongTopology + ":5:",
		"run --rate 0":                          "--rate 0: want operations per second, a number above 0",
		"run --duration 1ms":                    "--duration 1ms: want 1s",
		"run --ui off --out " + file + "/below": "--out",
		"run --token-file /does/not/exist":      "--token-file",
		"run everything":                        "everything",
		"list planets":                          "planets",
		"report " + dir:                         "result.json",
		"check /does/not/exist":                 "/does/not/exist",
		"run --locks none --toxiproxy-api :0":   "this is not the loopback",
		"agent":                                 "--host",
		"play --ui off":                         "without the page there is nothing to play with",
		"play --ui 0.0.0.0:0":                   "--ui-anywhere",
		"play --limit 1s":                       "--limit 1s: want 10s to 24h0m0s",
		"play --rate 2.5":                       "--rate 2.5: want a whole number of 1 to 2000",
		"agent --host h --listen 0.0.0.0:0":     "token",

		"run --topology one-host --locks redlock --scenarios zone-partition": "nothing is between the two sides",
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

// TestBlanksAfterCommas: names with commas between them may have blanks, as a person writes them.
func TestBlanksAfterCommas(t *testing.T) {
	for want, args := range map[string][]string{
		`scenario "nope"`:            {"run", "--locks", "none, local", "--scenarios", "baseline, nope"},
		`scenario "nope": neither`:   {"run", "--locks", "none, redis-py", "--scenarios", "nope"},
		`unknown fault "nope"`:       {"explore", "multiphase", "--faults", "crash, reorder,nope"},
		`unknown kind "nope"`:        {"sim", "multiphase", "--faults", "crash, pause,nope"},
		`--redo "violated": want in`: {"run", "--resume", t.TempDir(), "--redo", "inconclusive, violated"},
	} {
		if code, said := call(t, args...); code != exitCannotRun || !strings.Contains(said, want) {
			t.Errorf("%q: exit code %d: %s, want %q", args, code, said, want)
		}
	}
}

// TestListsForPrograms: each list is JSON for scripts, too.
func TestListsForPrograms(t *testing.T) {
	for _, kind := range listNames() {
		var values []struct{ Name, Summary string }
		_, said := call(t, "list", kind, "--json")
		if err := json.Unmarshal([]byte(said), &values); err != nil || len(values) == 0 || values[0].Name == "" || values[0].Summary == "" {
			t.Errorf("list %s --json: %v: %s", kind, err, said)
		}
	}
}

// TestListFile tells of files that a user wrote as of what is built in.
func TestListFile(t *testing.T) {
	dir := t.TempDir()
	for kind, c := range map[string]struct{ text, want string }{
		"topologies": {`name: two
zones: [{name: seoul, short: seoul-1}, {name: tokyo, short: tokyo}]
latency: {inside: {rtt: 0.2ms}, between: {rtt: 34ms, jitter: 1ms}}
hosts:
  - {name: m, zone: seoul-1, nodes: [{name: m, role: master}]}
  - {name: w, zone: tokyo, nodes: [{name: w, role: worker}]}
`, "seoul-1 <-> tokyo 34ms ± 1ms"},
		"scenarios": {"name: mine\nsummary: my own\ntimeline: []\nexpect:\n", "mine my own"},
		"suites":    {"name: mine\nsummary: my own\nparts: [{locks: none}]\n", "mine my own"},
	} {
		file := filepath.Join(dir, kind+".yaml")
		testfile.Write(t, file, c.text)
		_, said := call(t, "list", kind, file)
		if text := strings.Join(strings.Fields(said), " "); !strings.Contains(text, c.want) {
			t.Errorf("list %s FILE does not say %q:\n%s", kind, c.want, said)
		}
	}
}

// TestListOne shows when a scenario breaks what, and what it expects.
func TestListOne(t *testing.T) {
	for name, wants := range map[string][]string{
		"zone-partition": {
			"2.4s to 5.2s partition first-zone <-> others", "redlock, raft expected safe, live or stalls, 25 % served safety two majorities share a server",
			"multiphase:quorum expected safe, down", "rules.yaml:",
		},
		"power-loss": {"timeline, of 11s that are measured:", "9.9s to 10s power-loss majority:server"},
	} {
		_, said := call(t, "list", "scenarios", name)
		text := strings.Join(strings.Fields(said), " ")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: it does not say %q:\n%s", name, want, said)
			}
		}
	}
}

// TestListTellsOptions of a lock one by one, of a variant what is other there, and of a fault the
// fields of its step.
func TestListTellsOptions(t *testing.T) {
	for line, wants := range map[string][]string{
		"locks redlock": {
			"ttl=TIME how long a lease lasts", "(default 3s)", "order=parallel|sequential whether the servers",
			"if not given delay=TIME",
		},
		"locks redis":      {"redis:setnx-getset SETNX", "ttl=TIME", "(default 4s)"},
		"locks multiphase": {"multiphase:quorum a majority", "(1 to 1048576; default 16)"},
		"locks none":       {"none has no options."},
		"faults partition": {"- {at: 30%, for: 35%, fault: partition, between: [zone:a, others], mode: hold}", "from: leader in place of between"},
		"faults restart":   {"- {at: 30%, fault: restart, target: one:server}", "(optional)"},
		"locks":            {"locklab list locks NAME says"},
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
