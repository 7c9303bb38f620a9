// Package zktest starts real ZooKeeper ensembles for tests.
package zktest

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

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/locks/locktest"
	"locklab/locks/zklock"
)

// Ensemble is a real ensemble that belongs to one test.
type Ensemble struct {
	Addrs []string // that clients dial

	dirs    []string
	servers []*exec.Cmd
	ended   []chan struct{}
}

// Start starts an ensemble of n servers, and waits until each has a leader.
func Start(tb testing.TB, n int) *Ensemble {
	tb.Helper()
	const tries = 3 // another program may take a port before its server does
	err := errors.New("no try")
	for range tries {
		var e *Ensemble
		if e, err = tryEnsemble(tb, n); err == nil {
			return e
		}
		tb.Log("another try: ", err)
	}
	tb.Fatal(err)
	return nil
}

// tryEnsemble fails if a server ends early, or if none leads within a minute.
func tryEnsemble(tb testing.TB, n int) (*Ensemble, error) {
	tb.Helper()
	_, err := exec.LookPath("java")
	if _, err2 := os.Stat("/usr/share/java/zookeeper.jar"); err != nil || err2 != nil {
		tb.Skip("ZooKeeper is not installed here: apt-get install zookeeper")
	}
	e := &Ensemble{}
	var servers []string
	for i := range n {
		e.Addrs = append(e.Addrs, locktest.FreeAddr(tb))
		_, election, _ := net.SplitHostPort(locktest.FreeAddr(tb))
		servers = append(servers, fmt.Sprintf("server.%d=%s:%s", i+1, locktest.FreeAddr(tb), election))
	}
	ready, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	parent := tb.TempDir()
	for i, addr := range e.Addrs {
		dir := filepath.Join(parent, fmt.Sprint(i))
		_, port, _ := net.SplitHostPort(addr)
		text := "tickTime=500\ninitLimit=20\nsyncLimit=3\nadmin.enableServer=false\nmaxSessionTimeout=60000\ndataDir=" + dir +
			"\nclientPortAddress=127.0.0.1\nclientPort=" + port + "\n" + strings.Join(servers, "\n") + "\n"
		must.Do(tb, os.Mkdir(dir, 0o700))
		for name, text := range map[string]string{"zoo.cfg": text, "myid": fmt.Sprintln(i + 1)} {
			testfile.Write(tb, filepath.Join(dir, name), text)
		}
		e.dirs, e.servers, e.ended = append(e.dirs, dir), append(e.servers, nil), append(e.ended, nil)
		e.start(tb, i, cancel)
	}
	for _, addr := range e.Addrs {
		l := zklock.New(zklock.Config{Addrs: []string{addr}, Options: zklock.DefaultOptions()})
		_, acquired := l.Acquire(ready, "ready") // waits until the server has a leader
		err = errors.Join(err, acquired, l.Close())
	}
	if err != nil {
		for _, cmd := range e.servers {
			_ = cmd.Process.Kill() // fails if it has ended
		}
	}
	return e, err
}

// start starts a server, and calls ends when the server ends.
func (e *Ensemble) start(tb testing.TB, i int, ends func()) {
	tb.Helper()
	const jars = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar"
	cmd := exec.CommandContext(context.Background(), "java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-cp", jars, "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(e.dirs[i], "zoo.cfg"))
	must.Do(tb, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		ends()
		close(ended)
	}()
	e.servers[i], e.ended[i] = cmd, ended
	tb.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
}

// Forget kills a server, deletes its data and starts it again.
func (e *Ensemble) Forget(tb testing.TB, i int) {
	tb.Helper()
	must.Do(tb, e.servers[i].Process.Kill())
	<-e.ended[i]
	must.Do(tb, os.RemoveAll(filepath.Join(e.dirs[i], "version-2")))
	e.start(tb, i, func() {})
}

// Signal sends s to all servers.
func (e *Ensemble) Signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	for _, m := range e.servers {
		must.Do(tb, m.Process.Signal(s))
	}
}

// Connect returns the library's client, with a session of a minute.
func Connect(tb testing.TB, addrs []string) *zk.Conn {
	tb.Helper()
	c, _, err := zk.Connect(addrs, time.Minute, zk.WithLogger(quiet{}))
	must.Do(tb, err)
	tb.Cleanup(c.Close)
	return c
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
