//go:build e2e

package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/locks/locktest"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// binary is locklab, built once for all end-to-end tests. Those whose verdict the machine
// must not be too busy for run alone; all others beside each other.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "locklab-e2e-*")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "locklab-under-test")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// home is where all that a test starts has its temporary files.
func home(t *testing.T) string {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	dir := filepath.Join(filepath.Dir(binary), name)
	must.Do(t, os.MkdirAll(dir, 0o700))
	return dir
}

// command is the program or another one, to be started in a directory of its own. Of the
// environment's variables those that are given count.
func command(t *testing.T, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	says := func(arg string) bool {
		return strings.HasPrefix(arg, "--capacity") || strings.HasPrefix(arg, "--suite") || strings.HasPrefix(arg, "--resume")
	}
	if name == binary && len(args) > 1 && args[0] == "run" && !slices.ContainsFunc(args, says) {
		args = append([]string{"run", "--capacity=off"}, args[1:]...) // a full machine would disturb the tests beside it
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = slices.Concat(os.Environ(), []string{"TMPDIR=" + home(t)}, env)
	return cmd
}

// outcome is how a call of a program ended. The code of one that a signal ended is -1.
type outcome struct {
	code           int
	stdout, stderr string
}

// finish runs the command to its end.
func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatalf("%v: %v", cmd, err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func run(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	return finish(t, command(t, env, binary, args...))
}

// mustRun fails the test if the exit code is another one.
func mustRun(t *testing.T, code int, args ...string) outcome {
	t.Helper()
	out := run(t, nil, args...)
	if out.code != code {
		t.Fatalf("locklab %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), out.code, code, out.stdout, out.stderr)
	}
	return out
}

// attempts is how often the machine may be too busy to decide. A verdict is never asked
// for twice.
const attempts = 3

// compare runs a comparison, what decided nothing at most three times, and returns its
// directory and all that was said. That the machine was too busy to keep the load is no
// finding about the program, and it says so by its exit code: after three times
// nothing can be tested here, if that is the only thing that was in the way.
func compare(t *testing.T, env []string, code int, args ...string) (outcome, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	out := run(t, env, append(append([]string{"run"}, args...), "--out", dir)...)
	for attempt := 1; out.code == 4 && attempt < attempts; attempt++ {
		t.Logf("inconclusive; the rows that are, again:\n%s", out.stdout)
		again := run(t, env, "run", "--resume", dir, "--redo", "inconclusive")
		out = outcome{again.code, out.stdout + again.stdout, out.stderr + again.stderr}
	}
	switch {
	case out.code == code:
	case out.code == 4 && machineOnly(read(t, dir)):
		t.Skipf("the machine was three times too busy to decide:\n%s", out.stdout)
	default:
		t.Fatalf("locklab run %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), out.code, code, out.stdout, out.stderr)
	}
	return out, dir
}

// machineOnly says that nothing but the machine kept results from being as expected.
func machineOnly(file result.File) bool {
	return !slices.ContainsFunc(file.Rows, func(r result.Row) bool { return r.Verdict.As != result.AsExpected && !wasBusy(r) })
}

// wasBusy says that it was the machine that kept a row from a verdict.
func wasBusy(r result.Row) bool {
	return slices.Contains([]result.Code{result.Saturated, result.LateLoad, result.Standstill, result.Unproven}, r.Verdict.Sound.Code)
}

// machineStood says that a fault is the machine's doing: not a node but the program that
// measured did not run for a while.
func machineStood(f result.Fault) bool {
	return f.Kind == history.FaultStandstill && !strings.HasPrefix(f.Target, "node ")
}

// blames says that a row decides nothing for this reason, or because the machine stood still, which
// may have come first.
func blames(r result.Row, code result.Code) bool {
	return r.Verdict.Sound.Code == code || r.Verdict.Sound.Code == result.Standstill && slices.ContainsFunc(r.Faults, machineStood)
}

func read(t *testing.T, dir string) result.File {
	t.Helper()
	file, err := result.Read(filepath.Join(dir, result.FileName))
	must.Do(t, err)
	return file
}

func row(t *testing.T, file result.File, lock, scenario string) result.Row {
	t.Helper()
	i := slices.IndexFunc(file.Rows, func(r result.Row) bool { return r.Lock == lock && r.Scenario == scenario })
	if i < 0 {
		t.Fatalf("there is no row for %s under %s", lock, scenario)
	}
	return file.Rows[i]
}

// awaitStage waits until so many runs of a comparison have come to a stage.
func awaitStage(t *testing.T, dir string, runs int, stage string) {
	t.Helper()
	locktest.Eventually(t, fmt.Sprintf("run %d is %s", runs, stage), func() bool {
		log, err := os.ReadFile(filepath.Join(dir, "lab.log"))
		return err == nil && strings.Count(string(log), "stage=\""+stage)+strings.Count(string(log), "stage="+stage) >= runs
	})
}

// program is a call of locklab that goes on while the test does.
type program struct {
	*exec.Cmd
	said syncBuffer // on both outputs
	once sync.Once
}

// begin starts the program. It ends with the test at the latest, and if that fails, what
// the program said is told.
func begin(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: command(t, env, binary, args...)}
	p.Stdout, p.Stderr = &p.said, &p.said
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must.Do(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.end()
		if t.Failed() {
			t.Logf("locklab %s said:\n%s", args[0], &p.said)
		}
	})
	return p
}

// signal sends the process a signal.
func (p *program) signal(t *testing.T, s os.Signal) {
	t.Helper()
	must.Do(t, p.Process.Signal(s))
}

// end waits for the end and gives the exit code, -1 after a signal.
func (p *program) end() int {
	p.once.Do(func() { _ = p.Wait() }) // the code is what counts
	return p.ProcessState.ExitCode()
}

// wants fails the test if the program does not end with this code.
func (p *program) wants(t *testing.T, code int) {
	t.Helper()
	if got := p.end(); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
}

// syncBuffer collects output that another goroutine writes.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// folded is where the console goes on with a line below its beginning.
var folded = regexp.MustCompile(`\n +`)

// awaitLine waits until one line, put together again where it was folded, has all the words.
func (b *syncBuffer) awaitLine(t *testing.T, words ...string) {
	t.Helper()
	locktest.Eventually(t, "a line with "+strings.Join(words, " and "), func() bool {
		return slices.ContainsFunc(strings.Split(folded.ReplaceAllString(b.String(), " "), "\n"), func(line string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
		})
	})
}

// processes lists what runs of all that the test started: what was told the test's home, or
// works below it. (Redis writes over what its environment was.)
func processes(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	must.Do(t, err)
	var found []string
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if len(line) > 0 && (bytes.Contains(environ, []byte("TMPDIR="+home(t)+"\x00")) || strings.HasPrefix(cwd, home(t)+"/")) {
			found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// nothingLeft waits until no process runs of those that the test started.
func nothingLeft(t *testing.T) {
	t.Helper()
	var left []string
	defer func() {
		if len(left) > 0 {
			t.Logf("processes are left:\n%s", strings.Join(left, "\n"))
		}
	}()
	locktest.Eventually(t, "nothing is left", func() bool { left = processes(t); return len(left) == 0 })
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testfile.Write(t, path, text)
	return path
}
