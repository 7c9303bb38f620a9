package zklock_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/zklock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ensemble is a real one of a test's own.
type ensemble struct {
	addrs   []string
	servers []*exec.Cmd
}

func startEnsemble(tb testing.TB, n int) *ensemble {
	tb.Helper()
	const jars = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar"
	java, err := exec.LookPath("java")
	if _, err2 := os.Stat("/usr/share/java/zookeeper.jar"); err != nil || err2 != nil {
		tb.Skip("ZooKeeper is not installed here: apt-get install zookeeper")
	}
	e := &ensemble{}
	var servers []string
	for i := range n {
		e.addrs = append(e.addrs, locktest.FreeAddr(tb))
		_, election, _ := net.SplitHostPort(locktest.FreeAddr(tb))
		servers = append(servers, fmt.Sprintf("server.%d=%s:%s", i+1, locktest.FreeAddr(tb), election))
	}
	for i, addr := range e.addrs {
		dir := filepath.Join(tb.TempDir(), fmt.Sprint(i))
		_, port, _ := net.SplitHostPort(addr)
		text := "tickTime=500\ninitLimit=20\nsyncLimit=3\nadmin.enableServer=false\nmaxSessionTimeout=60000\ndataDir=" + dir +
			"\nclientPortAddress=127.0.0.1\nclientPort=" + port + "\n" + strings.Join(servers, "\n") + "\n"
		if err := os.Mkdir(dir, 0o700); err != nil {
			tb.Fatal(err)
		}
		for name, text := range map[string]string{"zoo.cfg": text, "myid": fmt.Sprintln(i + 1)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				tb.Fatal(err)
			}
		}
		cmd := exec.Command(java, "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars,
			"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(dir, "zoo.cfg"))
		if err := cmd.Start(); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		e.servers = append(e.servers, cmd)
	}
	l := newClient(tb, e.addrs, nil, zklock.DefaultOptions())
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	if _, err := l.Acquire(ctx, "ready"); err != nil { // waits for a leader
		tb.Fatal(err)
	}
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	return e
}

// signal goes to all servers.
func (e *ensemble) signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	for _, m := range e.servers {
		if err := m.Process.Signal(s); err != nil {
			tb.Fatal(err)
		}
	}
}

// connect returns the library's client, for what a test looks at or breaks.
func (e *ensemble) connect(tb testing.TB) *zk.Conn {
	tb.Helper()
	c, _, err := zk.Connect(e.addrs, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func newClient(tb testing.TB, addrs []string, c clock.Clock, o zklock.Options) *zklock.Locker {
	tb.Helper()
	l, err := zklock.New(zklock.Config{Addrs: addrs, Options: o, Clock: c})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}
