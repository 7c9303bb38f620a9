//go:build unix

package multiphase_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/mesh"
	"locklab/verify/peertest"
)

// processEnv makes this test binary a peer in place of running tests. Its value is the
// peer's description.
const processEnv = "MULTIPHASE_TEST_PROCESS"

func TestMain(m *testing.M) {
	if description := os.Getenv(processEnv); description != "" {
		fmt.Fprintln(os.Stderr, beProcess(description))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// description is what a process is told. Its listener is file descriptor 3.
type description struct {
	ID, Cluster string
	Rank        int
	Peers       []mesh.Peer
	TTL         time.Duration
	Names       []string // that it takes and keeps
}

// beProcess takes its names, says "held", and begins again once it has lost them all. It
// ends with its input.
func beProcess(text string) error {
	var d description
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	l, err := multiphase.New(multiphase.Config{
		ID: d.ID, Cluster: d.Cluster, Rank: d.Rank, Peers: d.Peers, Listener: listener,
		Options: quorum(d.TTL), Founding: true,
	})
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		var held []locks.Lease
		for _, name := range d.Names {
			lease, err := l.Acquire(context.Background(), name)
			if err != nil {
				return err
			}
			held = append(held, lease)
		}
		fmt.Println("held")
		for _, lease := range held {
			<-lease.Lost()
		}
	}
}

// startProcess starts a peer in a process of its own, which ends with the test. held is how
// often it has taken its names.
func startProcess(t *testing.T, d description, listener net.Listener) (process *os.Process, held *atomic.Int64) {
	t.Helper()
	self, err := os.Executable()
	must.Do(t, err)
	text, err := json.Marshal(d)
	must.Do(t, err)
	file, err := listener.(*net.TCPListener).File()
	must.Do(t, err)
	_ = listener.Close() // the process has a copy
	defer func() { _ = file.Close() }()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), processEnv+"="+string(text))
	cmd.ExtraFiles, cmd.Stderr = []*os.File{file}, os.Stderr
	input, err := cmd.StdinPipe()
	must.Do(t, err)
	output, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	held = &atomic.Int64{}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			held.Add(1)
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = input.Close()
		<-closed
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process: %v", err)
		}
	})
	return cmd.Process, held
}

// TestPausedHolder stops the process of one peer for so long that others get what it holds.
// When it goes on it must learn that it lost all of it, and take part again.
func TestPausedHolder(t *testing.T) {
	for _, names := range []int{1, 50} {
		for rank := range 3 {
			t.Run(fmt.Sprintf("%d names, rank %d", names, rank), func(t *testing.T) {
				const ttl = 500 * time.Millisecond
				cfgs := peertest.Configs(t, 3, quorum(ttl))
				for i := range cfgs {
					cfgs[i].Founding = true
				}
				paused := cfgs[rank]
				d := description{ID: paused.ID, Cluster: paused.Cluster, Rank: rank, Peers: paused.Peers, TTL: ttl}
				for i := range names {
					d.Names = append(d.Names, fmt.Sprint("kept/", i))
				}
				process, held := startProcess(t, d, paused.Listener)
				other := peertest.StartAll(t, slices.Delete(cfgs, rank, rank+1), multiphase.New)[0]
				holds := func(before int64) {
					t.Helper()
					locktest.Eventually(t, "the process holds its names", func() bool { return held.Load() > before })
				}
				signal := func(s os.Signal) {
					t.Helper()
					must.Do(t, process.Signal(s))
				}
				holds(0)
				signal(syscall.SIGSTOP)
				for _, name := range d.Names { // now each of its leases is over
					locktest.Release(t, locktest.Acquire(t, other, name))
				}
				before := held.Load()
				signal(syscall.SIGCONT)
				holds(before)
			})
		}
	}
}
