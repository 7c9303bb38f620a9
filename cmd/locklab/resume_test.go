package main

import (
	"path/filepath"
	"strings"
	"testing"

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
	must.Do(t, result.Write(filepath.Join(dir, result.FileName), file))
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
		must.Do(t, f.parse(append([]string{"--resume", dir}, strings.Fields(line)...)))
		_, err := f.goOn(t.Context())
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v; want %q", line, err, want)
		case want == "" && (f.resume != dir || f.Seed != 7 || f.Names.Topology != "seoul-3az"):
			t.Errorf("%q: goes on in %s with seed %d on %s", line, f.resume, f.Seed, f.Names.Topology)
		case strings.HasPrefix(line, "--ui") && f.ui != "off", strings.HasPrefix(line, "--wait") && f.Wait == 0:
			t.Errorf("%q: is not taken: --ui %s, --wait %s", line, f.ui, f.Wait)
		}
	}
}
