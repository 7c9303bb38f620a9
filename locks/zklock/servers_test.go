package zklock_test

import (
	"context"
	"errors"
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

	"locklab/internal/testfile"
	"locklab/locks/locktest"
	"locklab/locks/zklock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ensemble is a real one of a test's own.
type ensemble struct {
	addrs   []string
	dirs    []string
	servers []*exec.Cmd
	ended   []chan struct{}
}

func startEnsemble(tb testing.TB, n int, settings ...string) *ensemble {
	tb.Helper()
	const tries = 3 // somebody else may have taken a port before its server did
	err := errors.New("no try")
	for range tries {
		var e *ensemble
		if e, err = tryEnsemble(tb, n, settings); err == nil {
			return e
		}
		tb.Log("another try: ", err)
	}
	tb.Fatal(err)
	return nil
}

// tryEnsemble fails if a server ends early, or if none leads within a minute.
func tryEnsemble(tb testing.TB, n int, settings []string) (*ensemble, error) {
	tb.Helper()
	_, err := exec.LookPath("java")
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
	ready, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	parent := tb.TempDir()
	for i, addr := range e.addrs {
		dir := filepath.Join(parent, fmt.Sprint(i))
		_, port, _ := net.SplitHostPort(addr)
		text := "tickTime=500\ninitLimit=20\nsyncLimit=3\nadmin.enableServer=false\nmaxSessionTimeout=60000\ndataDir=" + dir +
			"\nclientPortAddress=127.0.0.1\nclientPort=" + port + "\n" + strings.Join(append(servers, settings...), "\n") + "\n"
		if err := os.Mkdir(dir, 0o700); err != nil {
			tb.Fatal(err)
		}
		for name, text := range map[string]string{"zoo.cfg": text, "myid": fmt.Sprintln(i + 1)} {
			testfile.Write(tb, filepath.Join(dir, name), text)
		}
		e.dirs, e.servers, e.ended = append(e.dirs, dir), append(e.servers, nil), append(e.ended, nil)
		e.start(tb, i, cancel)
	}
	for _, addr := range e.addrs {
		l := newClient(tb, []string{addr}, zklock.DefaultOptions())
		_, acquired := l.Acquire(ready, "ready") // waits until the server has a leader
		err = errors.Join(err, acquired, l.Close())
	}
	if err != nil {
		for _, cmd := range e.servers {
			_ = cmd.Process.Kill() // it may have ended
		}
	}
	return e, err
}

// start starts a server. When it ends, whyever, so does what the test does meanwhile.
func (e *ensemble) start(tb testing.TB, i int, ends func()) {
	tb.Helper()
	const jars = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar"
	cmd := exec.Command("java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars,
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(e.dirs[i], "zoo.cfg"))
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		ends()
		close(ended)
	}()
	e.servers[i], e.ended[i] = cmd, ended
	tb.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
}

// forget has a server lose its data: it is killed and starts again with none.
func (e *ensemble) forget(tb testing.TB, i int) {
	tb.Helper()
	if err := e.servers[i].Process.Kill(); err != nil {
		tb.Fatal(err)
	}
	<-e.ended[i]
	if err := os.RemoveAll(filepath.Join(e.dirs[i], "version-2")); err != nil {
		tb.Fatal(err)
	}
	e.start(tb, i, func() {})
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

func newClient(tb testing.TB, addrs []string, o zklock.Options) *zklock.Locker {
	tb.Helper()
	return locktest.Open(tb, zklock.New(zklock.Config{Addrs: addrs, Options: o}), nil)
}
