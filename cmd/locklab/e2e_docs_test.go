//go:build e2e

package main_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
)

// docs are the pages whose commands are run.
func docs() []string {
	return []string{"README.md", "chaos/README.md", "reports/README.md", "verify/README.md", "compose/README.md", "reports/grafana/README.md", "locks/program/README.md"}
}

// page is what a reader can type from a page, or copy into a file.
type page struct {
	commands []string          // in their order, with the comment behind them
	files    map[string]string // by the name behind ```yaml
	// otherwise says how CI runs commands that take long or never end.
	otherwise map[string]string
}

func readPage(t *testing.T, name string) page {
	t.Helper()
	data := testfile.Read(t, filepath.Join("..", "..", filepath.FromSlash(name)))
	p := page{files: map[string]string{}, otherwise: map[string]string{}}
	for _, note := range regexp.MustCompile(`(?m)^<!-- ci: (.*?) \| (.*) -->$`).FindAllStringSubmatch(string(data), -1) {
		p.otherwise[note[1]] = note[2]
	}
	for _, block := range regexp.MustCompile("(?ms)^```(\\w+)([^\n]*)\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
		switch kind, file, text := block[1], strings.TrimSpace(block[2]), block[3]; kind {
		case "sh":
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); line != "" {
					p.commands = append(p.commands, line)
				}
			}
		case "yaml":
			p.files[file] = text
		}
	}
	return p
}

// bare is a command without the comment behind it.
func bare(line string) string {
	command, _, _ := strings.Cut(line, " #")
	return strings.TrimSpace(command)
}

// TestE2EDocs runs the commands of the pages as they are printed, in one directory and in
// their order, with the YAML files that they show. What verdicts come of it is for other tests, so it runs
// beside them.
func TestE2EDocs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pages := map[string]page{}
	for _, name := range docs() {
		p := readPage(t, name)
		pages[name] = p
		for file, text := range p.files {
			testfile.Write(t, filepath.Join(dir, file), text)
		}
	}
	bin := t.TempDir()
	must.Do(t, os.Symlink(binary, filepath.Join(bin, "locklab")))
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	for _, name := range docs() {
		p := pages[name]
		if len(p.commands) == 0 && name != "reports/README.md" {
			t.Errorf("%s has no command", name)
		}
		for _, line := range p.commands {
			typed := bare(line)
			how, noted := p.otherwise[typed]
			delete(p.otherwise, typed)
			if noted && !strings.HasPrefix(how, "locklab ") {
				elsewhere(t, name, typed, how)
				continue
			}
			if noted {
				typed = how
			}
			t.Run(name+"/"+typed, func(t *testing.T) {
				cmd := command(t, env, "sh", "-c", typed)
				cmd.Dir = dir
				out := finish(t, cmd)
				if want := endsWith(line); !slices.Contains(want, out.code) {
					t.Errorf("exit code %d, want one of %v\n%s\n%s", out.code, want, out.stdout, out.stderr)
				}
			})
		}
		for command := range p.otherwise {
			t.Errorf("%s says how CI runs %q, which it does not have", name, command)
		}
	}
	serves(t, dir)
}

// endsWith are the exit codes that a command may end with. Verdicts depend on the machine,
// and are for other tests; what the page says of an exploration does not.
func endsWith(line string) []int {
	_, said, _ := strings.Cut(line, " #")
	said = strings.TrimSpace(said)
	switch command := bare(line); {
	case strings.HasPrefix(command, "locklab explore") && strings.HasPrefix(said, "unsafe"):
		return []int{2}
	case strings.HasPrefix(command, "locklab explore") && strings.HasPrefix(said, "undecided"):
		return []int{4}
	case strings.HasPrefix(command, "locklab run"), strings.HasPrefix(command, "locklab check"), strings.HasPrefix(command, "go run"):
		return []int{0, 2, 3, 4}
	case strings.HasPrefix(command, "locklab sim") && strings.Contains(command, "--faults"):
		return []int{0, 2} // a partition splits multiphase
	}
	return []int{0}
}

// elsewhere looks for what CI runs in a command's place.
func elsewhere(t *testing.T, page, command, how string) {
	t.Helper()
	var found bool
	switch test := regexp.MustCompile(`^TestE2E\w+`).FindString(how); {
	case test != "":
		files, err := filepath.Glob("*_test.go")
		must.Do(t, err)
		for _, file := range files {
			found = found || strings.Contains(string(testfile.Read(t, file)), "func "+test+"(")
		}
	case strings.HasPrefix(how, "a step of .ci/run"):
		found = strings.Contains(string(testfile.Read(t, "../../.ci/run")), command)
	case strings.HasPrefix(how, "the tests of terraform"):
		_, err := os.Stat("../../terraform/boots_linux_test.go")
		found = err == nil
	case strings.HasPrefix(how, "served"):
		found = true // by serves
	}
	if !found {
		t.Errorf("%s: CI is said to run %q as %q, and there is no such thing", page, command, how)
	}
}

// serves shows the reports that the commands left, as the README does, at another port.
func serves(t *testing.T, dir string) {
	t.Helper()
	lab := begin(t, nil, "report", "--serve", "127.0.0.1:0", filepath.Join(dir, "reports", "runs"))
	lab.said.awaitLine(t, "http://127.0.0.1:")
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lab.said.String())
	response, err := http.Get(url)
	must.Do(t, err)
	text, err := io.ReadAll(response.Body)
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	if err != nil || !strings.Contains(string(text), `href="before/`) {
		t.Errorf("the list of reports: %v\n%s", err, text)
	}
	lab.signal(t, os.Interrupt)
	lab.wants(t, 0)
}
