package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/reports/lang"
	"locklab/reports/table"
)

// terminal is one of so many columns. What was written to it is there once it is closed, which
// reading does.
func terminal(t *testing.T, columns uint16) (file *os.File, read func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must.Do(t, err)
	t.Cleanup(func() { _ = master.Close() })
	must.Do(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must.Do(t, err)
	file, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	must.Do(t, err)
	must.Do(t, unix.IoctlSetWinsize(int(file.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	var seen bytes.Buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(&seen, master) // it ends with an error as soon as nobody has the other side open
	}()
	return file, func() string {
		must.Do(t, file.Close())
		<-ended
		return strings.ReplaceAll(seen.String(), "\r\n", "\n")
	}
}

// onTerminal runs the program in this process, with its output on a terminal of 80 columns.
func onTerminal(t *testing.T, args ...string) string {
	t.Helper()
	file, read := terminal(t, 80)
	root := newRoot()
	root.SetOut(file)
	root.SetErr(io.Discard)
	root.SetArgs(args)
	_ = root.ExecuteContext(t.Context()) // some of it ends with a verdict
	return read()
}

// TestWhatIsPrintedFitsTheTerminal: no line is wider than 80 columns, no word is cut, and
// nothing is left out of what stands in a file.
func TestWhatIsPrintedFitsTheTerminal(t *testing.T) {
	sample, err := filepath.Abs("../../reports/sample")
	must.Do(t, err)
	t.Chdir(t.TempDir())
	must.Do(t, os.CopyFS(filepath.Join("runs", "a"), os.DirFS(sample)))
	testfile.Write(t, filepath.Join("runs", "a", "index.html"), "") // of git's sample there is no page
	history := filepath.Join("runs", "a", "histories", "multiphase", "zone-partition.matchmaking.1.jsonl.gz")
	words := regexp.MustCompile(`\p{L}[\p{L}\d:=-]+`)
	units := map[string]bool{"ms": true, "min": true} // two calls need not take equally long
	for _, typed := range []string{
		"sim multiphase --seeds 20",
		"sim multiphase --seeds 20 --faults partition",
		"sim multiphase:quorum --seed 5 --faults partition,crash,pause,slow,drift --trace --duration 100ms",
		"explore multiphase --peers 2",
		"explore multiphase:rule=literal",
		"explore multiphase:quorum --untimed",
		"explore multiphase --faults disconnect",
		"list locks",
		"list locks redis",
		"list faults pause",
		"list scenarios zone-partition",
		"check " + history + " --explain 1",
		"report " + filepath.Join("runs", "a"),
	} {
		for _, tag := range lang.Tags() {
			args := strings.Fields(typed)
			switch {
			case args[0] == "check" || args[0] == "report":
				args = append(args, "--lang", tag)
			case tag != lang.EnglishTag:
				continue // the others are in English only
			}
			_, whole, _ := callWith(t.Context(), args...)
			have := onTerminal(t, args...)
			if whole == "" {
				t.Errorf("%s: nothing is printed", args)
			}
			for line := range strings.Lines(have) {
				if n := table.Columns(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("%s: %d columns: %s", args, n, line)
				}
			}
			told := map[string]bool{}
			for _, word := range words.FindAllString(have, -1) {
				told[word] = true
			}
			for _, word := range words.FindAllString(whole, -1) {
				if !told[word] && !units[word] {
					t.Errorf("%s: %q is cut or left out", args, word)
					told[word] = true
				}
			}
		}
	}
}
