package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"locklab/internal/must"
	"locklab/workloads/result"
)

// TestResumeTakesTheFlagsOfThen: what goes on may be given what it was begun with, as Compose
// does, and where its page is served now, but nothing that would make it another comparison.
func TestResumeTakesTheFlagsOfThen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	then := []string{"run", "--agents", "http://{host}:7500", "--topology", "seoul-3az", "--locks", "raft", "--locks", "none", "--ui", "0.0.0.0:8081"}
	file := result.File{Schema: result.Schema, Run: result.Run{Unfinished: true, Seed: 7, Args: then}}
	if err := result.Write(filepath.Join(dir, result.FileName), file); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"":                          "",
		"--ui off":                  "",
		"--wait 5s":                 "",
		"--seed 7":                  "",
		"--out " + dir + "/":        "",
		"--locks raft --locks none": "",
		"--agents http://{host}:7500 --topology seoul-3az": "",
		"--agents http://{host}:7501":                      "--agents http://{host}:7501: with --resume the flags are those of then (\"http://{host}:7500\")",
		"--topology seoul-2az":                             "--topology seoul-2az: ",
		"--locks raft":                                     "--locks [raft]: ",
		"--seed 8":                                         "--seed 8: ",
		"--out elsewhere":                                  "--out elsewhere: ",
		"--quick":                                          "--quick true: ",
	} {
		var f runFlags
		f.register(pflag.NewFlagSet("run", pflag.ContinueOnError))
		if err := f.set.Parse(append([]string{"--resume", dir}, strings.Fields(line)...)); err != nil {
			t.Fatal(err)
		}
		_, err := f.goOn(t.Context())
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v; want %q", line, err, want)
		case want == "" && (f.resume != dir || f.Seed != 7 || f.topology != "seoul-3az"):
			t.Errorf("%q: goes on in %s with seed %d on %s", line, f.resume, f.Seed, f.topology)
		case strings.HasPrefix(line, "--ui") && f.ui != "off", strings.HasPrefix(line, "--wait") && f.Wait == 0:
			t.Errorf("%q: is not taken: --ui %s, --wait %s", line, f.ui, f.Wait)
		}
	}
}

// TestResumeWantsTheFilesOfThen: rows of a file that somebody changed since do not get beside
// those of before.
func TestResumeWantsTheFilesOfThen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	texts := map[string]string{
		in("mine.yaml"):  "name: mine\nparts:\n  - {locks: none, scenarios: " + in("quiet.yaml") + "}\n",
		in("quiet.yaml"): "name: quiet\nsummary: nothing at all\ntimeline: []\nexpect:\n  - {when: {lock: none}, safety: unsafe}\n",
	}
	for path, text := range texts {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	args := []string{"run", "--suite", in("mine.yaml")}
	var f runFlags
	f.register(pflag.NewFlagSet("run", pflag.ContinueOnError))
	must.Do(t, f.set.Parse(args))
	began, err := f.plan(t.Context(), io.Discard)
	must.Do(t, err)
	must.Do(t, result.Write(in(result.FileName), result.File{Schema: result.Schema, Run: result.Run{Unfinished: true, Args: args, Inputs: began.parts[0].Inputs}}))
	for path, text := range texts {
		must.Do(t, os.WriteFile(path, []byte(text+"# changed\n"), 0o600))
		if code, said := call(t, "run", "--resume", dir); code != exitCannotRun || !strings.Contains(said, path+" is not what it was when the run began") {
			t.Errorf("%s was changed: exit code %d: %s", path, code, said)
		}
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
}
