package diskfault_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"locklab/internal/damage"
	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/nodes/diskfault"
)

// TestMain lets the test binary play the program that is started, too: with the name disk as
// `locklab node disk`, with writer as what that runs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "disk":
			fmt.Fprintln(os.Stderr, diskfault.Exec(os.Args[2:]))
			os.Exit(3)
		case "user":
			useDisk()
			os.Exit(0)
		case "writer":
			writeAsTold()
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

// writeAsTold does what each line of the input says, and says how it went.
func writeAsTold() {
	lines := bufio.NewScanner(os.Stdin)
	file, err := os.OpenFile(os.Args[2], os.O_CREATE|os.O_RDWR, 0o600)
	for lines.Scan() {
		switch lines.Text() {
		case "write":
			_, err = file.Write([]byte("x"))
		case "write at":
			_, err = file.WriteAt([]byte("x"), 0)
		case "sync":
			err = file.Sync()
		case "storm":
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 300 {
						_, _ = file.Write([]byte("x"))
					}
				})
			}
			all.Wait()
		case "child":
			child := exec.Command(os.Args[0], "writer", os.Args[2]+".child")
			child.Stdin = strings.NewReader("sync\n")
			err = child.Run()
		}
		fmt.Println("said", err)
	}
}

// writer is a program whose calls are watched.
type writer struct {
	t    *testing.T
	disk *diskfault.Disk
	pid  int
	in   io.Writer
	out  *bufio.Reader
}

// prepare makes a program that writes below a directory as it is told, and the sockets to watch
// it by.
func prepare(t *testing.T, calls diskfault.Calls) (cmd *exec.Cmd, disk *diskfault.Disk, given, kept *os.File) {
	t.Helper()
	must.Do(t, diskfault.Missing())
	self, err := os.Executable()
	must.Do(t, err)
	if given, kept, err = diskfault.Sockets(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd = exec.Command(self, append([]string{"disk"}, diskfault.Command(3, calls, self, []string{"writer", filepath.Join(dir, "file")})...)...)
	cmd.ExtraFiles, cmd.Stderr = []*os.File{given}, os.Stderr
	return cmd, diskfault.New(dir), given, kept
}

func start(t *testing.T, calls diskfault.Calls) *writer {
	t.Helper()
	cmd, disk, given, kept := prepare(t, calls)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	must.Do(t, errors.Join(err1, err2, cmd.Start(), given.Close()))
	w := &writer{t, disk, cmd.Process.Pid, in, bufio.NewReader(out)}
	served := make(chan error, 1)
	go func() { served <- w.disk.Serve(kept, make(chan struct{})) }()
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait(), <-served); err != nil { // Serve ends with the program
			t.Error(err)
		}
	})
	return w
}

// does says how it went, and how long it took.
func (w *writer) does(what string) (answer string, took time.Duration) {
	w.t.Helper()
	before := clock.Mono()
	if _, err := fmt.Fprintln(w.in, what); err != nil {
		w.t.Fatal(err)
	}
	line, err := w.out.ReadString('\n')
	must.Do(w.t, err)
	_, answer, _ = strings.Cut(strings.TrimSpace(line), " ")
	return answer, time.Duration(clock.Mono() - before)
}

func (w *writer) wants(what, want string) {
	w.t.Helper()
	if answer, _ := w.does(what); !strings.HasSuffix(answer, want) {
		w.t.Errorf("%s: %s: want %s", what, answer, want)
	}
}

// TestSlow: each sync is held for the delay, of a child too, and no longer once it is over.
func TestSlow(t *testing.T) {
	const delay = 50 * time.Millisecond
	w := start(t, diskfault.Syncs)
	w.wants("sync", "<nil>")
	w.disk.Set(damage.Disk{Delay: delay})
	if seen := w.disk.Seen(); seen.Hit != 0 || seen.Delay != delay {
		t.Errorf("before any sync: %+v", seen)
	}
	w.wants("write", "<nil>")
	if answer, took := w.does("sync"); answer != "<nil>" || took < delay {
		t.Errorf("a sync took %v: %s: want %v at least", took, answer, delay)
	}
	w.wants("child", "<nil>")
	if seen := w.disk.Seen(); seen.Hit != 2 || seen.Done != 2 || seen.Least < delay {
		t.Errorf("after a sync, and one of a child: %+v", seen)
	}
	w.disk.Set(damage.Disk{Delay: time.Hour})
	go func() {
		for w.disk.Seen().Hit == 0 {
			_ = clock.Sleep(t.Context(), time.Millisecond)
		}
		w.disk.Set(damage.Disk{})
	}()
	w.wants("sync", "<nil>")
	w.wants("sync", "<nil>")
	if seen := w.disk.Seen(); seen != (damage.Seen{}) {
		t.Errorf("what one fault held counts for the next: %+v", seen)
	}
}

// TestFull: what writes to the directory is refused, what writes elsewhere is not.
func TestFull(t *testing.T) {
	w := start(t, diskfault.Writes)
	w.wants("write", "<nil>")
	w.disk.Set(damage.Disk{Full: true})
	w.wants("write", "no space left on device")
	w.wants("write at", "no space left on device")
	w.wants("child", "<nil>") // its output goes nowhere; it writes to no file
	w.wants("sync", "<nil>")
	if seen := w.disk.Seen(); seen.Hit != 2 || seen.Done != 2 {
		t.Errorf("seen %+v: want the two writes to the file, and not those to the pipe", seen)
	}
	w.disk.Set(damage.Disk{})
	w.wants("write", "<nil>")
	w.wants("write at", "<nil>")
}

// TestSignals: calls that a signal takes back before the agent has heard of them, and that begin
// anew, leave no other one without an answer.
func TestSignals(t *testing.T) {
	w := start(t, diskfault.Writes)
	w.wants("sync", "<nil>")
	over, sent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sent)
		for {
			select {
			case <-over:
				return
			default:
				threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", w.pid))
				for _, thread := range threads {
					tid, _ := strconv.Atoi(thread.Name())
					_ = unix.Tgkill(w.pid, tid, unix.SIGURG) // which a Go program takes and goes on
				}
			}
		}
	}()
	w.wants("storm", "<nil>")
	close(over)
	<-sent
}

// TestEndsWhileHeld: a program that is killed while a call of it is held is gone at once.
func TestEndsWhileHeld(t *testing.T) {
	cmd, disk, given, kept := prepare(t, diskfault.Syncs)
	cmd.Stdin = strings.NewReader("sync\n")
	must.Do(t, errors.Join(cmd.Start(), given.Close()))
	gone, served := make(chan struct{}), make(chan error, 1)
	disk.Set(damage.Disk{Delay: time.Second})
	go func() { served <- disk.Serve(kept, gone) }()
	for disk.Seen().Hit == 0 {
		_ = clock.Sleep(t.Context(), time.Millisecond)
	}
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	close(gone)
	if err := <-served; err != nil {
		t.Error(err)
	}
	disk.Set(damage.Disk{})
}

// TestNoProgram: what cannot be run is said, and who serves it is not left waiting.
func TestNoProgram(t *testing.T) {
	for name, args := range map[string][]string{
		"a file descriptor": {"3", "syncs"},
		"no number":         {"x", "syncs", "true"},
		"what calls":        {"3", "reads", "true"},
		"no such program":   {"3", "syncs", "no-such-program"},
	} {
		if err := diskfault.Exec(args); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	given, kept, err := diskfault.Sockets()
	must.Do(t, err)
	must.Do(t, given.Close())
	if err := diskfault.New(t.TempDir()).Serve(kept, make(chan struct{})); err != nil {
		t.Error(err)
	}
}
