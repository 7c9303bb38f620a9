package agent

import (
	"bufio"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"locklab/internal/damage"
	"locklab/internal/httpapi"
	"locklab/internal/must"
	"locklab/locks/locktest"
	"locklab/nodes/diskfault"
	"locklab/workloads/history"
)

func TestAddressOfADeadNodeIsKept(t *testing.T) {
	_, c := newAgent(t, nil)
	ctx := t.Context()
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own"}))
	addrs, err := c.Reserve(ctx, "own-1", "own") // it has them already
	must.Do(t, err)
	addr := netip.MustParseAddrPort(addrs["http"])
	dial(t, addr.String())
	must.Do(t, c.Kill(ctx, "own-1"))
	taken := func() bool {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		must.Do(t, err)
		defer func() { _ = unix.Close(fd) }()
		return unix.Bind(fd, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}) == unix.EADDRINUSE
	}
	locktest.Eventually(t, "held", taken)
	if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr.String()); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("a dead node was dialed: %v", err)
		if err == nil {
			_ = conn.Close()
		}
	}
	must.Do(t, c.Restart(ctx, "own-1", false))
	dial(t, addr.String())
	must.Do(t, c.Reset(ctx))
	locktest.Eventually(t, "free", func() bool { return !taken() })
}

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
	c := &child{pid: cmd.Process.Pid}
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

// TestWhoDoesNotStopIsNotWaitedFor: a pause holds what an end of the process needs, too.
func TestWhoDoesNotStopIsNotWaitedFor(t *testing.T) {
	if err := awaitStopped(os.Getpid()); err == nil {
		t.Error("what runs has stopped")
	}
	cmd := exec.CommandContext(t.Context(), "sleep", "1h")
	must.Do(t, cmd.Start())
	if err := awaitStopped(cmd.Process.Pid); !errors.Is(err, errStillRuns) {
		t.Errorf("of one that runs: %v", err)
	}
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
}

// TestDisk: nodes whose calls are stopped live as others do, and a full disk stays full when
// one starts again.
func TestDisk(t *testing.T) {
	_, c := newAgent(t, nil)
	ctx := t.Context()
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own", Disk: diskfault.Writes}))
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-3", Role: "own", Disk: diskfault.Syncs}))
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-2", Role: "own"}))
	must.Do(t, c.Pause(ctx, "own-1", "", 0))
	must.Do(t, c.Resume(ctx, "own-1"))

	must.Do(t, c.SetDisk(ctx, "own-1", damage.Disk{Full: true}))
	if err := c.Restart(ctx, "own-1", false); !errors.Is(err, ErrStart) || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("on a full disk: %v", err)
	}
	seen, err := c.Disk(ctx, "own-1")
	must.Do(t, err)
	if seen.Hit == 0 || seen.Done != seen.Hit || !seen.Full {
		t.Errorf("seen of a full disk: %+v", seen)
	}
	must.Do(t, c.SetDisk(ctx, "own-1", damage.Disk{}))
	must.Do(t, c.Restart(ctx, "own-1", false))

	slow := damage.Disk{Delay: time.Second + time.Nanosecond} // what is set is what is seen
	must.Do(t, c.SetDisk(ctx, "own-3", slow))
	if seen, err := c.Disk(ctx, "own-3"); err != nil || seen != (damage.Seen{Disk: slow}) {
		t.Errorf("a slow disk of who syncs nothing: %+v, %v", seen, err)
	}
	if err := c.SetDisk(ctx, "own-2", slow); !errors.Is(err, httpapi.ErrConflict) || !strings.Contains(err.Error(), "was not started with a disk that can get slow") {
		t.Errorf("one whose calls are not stopped: %v", err)
	}
	if err := c.Start(ctx, NodeSpec{Name: "own-4", Role: "own", Disk: "reads"}); !errors.Is(err, ErrStart) || !strings.Contains(err.Error(), `calls "reads": want syncs, writes or power`) {
		t.Errorf("unknown calls: %v", err)
	}
}

// TestCutPower: a node that is founded on a disk keeps what it had by then, and of what comes later only what it synced.
func TestCutPower(t *testing.T) {
	a, c := newAgent(t, nil)
	ctx := t.Context()
	lives := func() string {
		text, err := os.ReadFile(filepath.Join(a.cfg.DataDir, "own-1", "data", "lives"))
		must.Do(t, err)
		return string(text)
	}
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own", Disk: diskfault.Power}))
	for _, want := range []history.Lost{{Node: "own-1"}, {Node: "own-1", Bytes: 1}, {Node: "own-1", Bytes: 1}} {
		if lost, err := c.CutPower(ctx, "own-1", damage.Power{Strict: true}); err != nil || lost != want || lives() != "x" {
			t.Errorf("lost %+v, %v, and left %s: want %+v", lost, err, lives(), want)
		}
		if s := state(t, c, "own-1"); s != "ended" {
			t.Errorf("it is %s", s)
		}
		must.Do(t, c.Restart(ctx, "own-1", false))
	}
	must.Do(t, c.Restart(ctx, "own-1", true))
	if lost, err := c.CutPower(ctx, "own-1", damage.Power{Strict: true}); err != nil || lost != (history.Lost{Node: "own-1"}) || lives() != "x" {
		t.Errorf("lost %+v, %v, and left %s, of one with a new disk", lost, err, lives())
	}
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-2", Role: "own", Disk: diskfault.Writes}))
	if _, err := c.CutPower(ctx, "own-2", damage.Power{}); !errors.Is(err, httpapi.ErrConflict) {
		t.Errorf("of a disk that is not watched for that: %v", err)
	}
}
