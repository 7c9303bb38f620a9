package agent

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"locklab/internal/must"
)

// TestStrays: what left the group is found as long as its parent lives, and can be reached.
func TestStrays(t *testing.T) {
	cmd := exec.Command("sh", "-c", "setsid sh -c 'echo gone; exec sleep 600' & sleep 600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }()
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "gone" {
		t.Fatalf("%q, %v", line, err)
	}
	c := &child{pid: cmd.Process.Pid, spreads: true}
	found := strays(c.pid)
	if len(found) != 1 {
		t.Fatalf("strays %v, want the one that left", found)
	}
	c.signalLocked(unix.SIGSTOP)
	awaitState(t, found[0], "T")
	c.signalLocked(unix.SIGKILL)
	awaitState(t, found[0], "Z") // or nothing, once whoever inherited it has reaped it
}

// awaitState waits until the kernel says so of a process, or has forgotten it.
func awaitState(t *testing.T, pid int, want string) {
	t.Helper()
	for t.Context().Err() == nil {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil && want == "Z" {
			return
		}
		if _, after, found := strings.Cut(string(text), ") "); found && strings.HasPrefix(after, want) {
			return
		}
	}
}
