//go:build unix

package multiphase_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/mesh"
	"locklab/verify/peertest"
)

var pauses = flag.Int("pauses", 3, "how often TestPausedHolder stops a process, for each number of names")

// processEnv makes this test binary a peer in place of running tests. Its value is the
// peer's description.
const processEnv = "MULTIPHASE_TEST_PROCESS"

func TestMain(m *testing.M) {
	if description := os.Getenv(processEnv); description != "" {
		if err := beProcess(description); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// description is what a process is told. Its listener is file descriptor 3.
type description struct {
	ID    string
	Rank  int
	Peers []multiphase.Peer
	TTL   time.Duration
	Holds int // how many names of its own it takes and keeps
}

// ownName is the i-th name that the process of the rank keeps.
func ownName(rank, i int) string { return fmt.Sprintf("own/%d/%d", rank, i) }

// beProcess takes its own names, says "held", says "lost" once it has lost them all, and
// begins again. Meanwhile it takes and releases each name that it reads, and says so. It
// ends when its input does.
func beProcess(text string) error {
	var d description
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	options := multiphase.DefaultQuorum()
	options.Quorum.TTL = d.TTL
	l, err := multiphase.New(multiphase.Config{
		ID: d.ID, Rank: d.Rank, Peers: d.Peers, Listener: listener, Options: options, Founding: true,
		Timing: mesh.Timing{Heartbeat: 10 * time.Millisecond, SilenceMin: 50 * time.Millisecond, SilenceMax: 200 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	kept := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			err = keep(ctx, l, d)
		}
		kept <- err
	}()
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		lease, err := l.Acquire(ctx, input.Text())
		if err != nil {
			return err
		}
		_ = lease.Release(ctx) // it may be over already
		fmt.Println("took " + input.Text())
	}
	cancel()
	if err := <-kept; !errors.Is(err, context.Canceled) {
		return err
	}
	return l.Close()
}

// keep takes all own names and waits until all are lost.
func keep(ctx context.Context, l *multiphase.Locker, d description) error {
	var held []locks.Lease
	for i := range d.Holds {
		lease, err := l.Acquire(ctx, ownName(d.Rank, i))
		if err != nil {
			return err
		}
		held = append(held, lease)
	}
	fmt.Println("held")
	for _, lease := range held {
		select {
		case <-lease.Lost():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	fmt.Println("lost")
	return nil
}

// process is another process, as a test sees it.
type process struct {
	rank   int
	cmd    *exec.Cmd
	input  io.WriteCloser
	closed chan struct{} // once it has closed its output

	mu   sync.Mutex
	said map[string]int // how often which line
}

// count is how often it has said the line.
func (p *process) count(line string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said[line]
}

// await waits for a condition that the process makes true.
func (p *process) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	locktest.Eventually(t, fmt.Sprintf("process %d %s", p.rank, what), func() bool {
		select {
		case <-p.closed:
			if !holds() { // all that it wrote is there now
				t.Fatalf("process %d died and never %s", p.rank, what)
			}
			return true
		default:
			return holds()
		}
	})
}

// holdsAll waits until it holds its own names.
func (p *process) holdsAll(t *testing.T) {
	t.Helper()
	p.await(t, "held its names", func() bool { return p.count("held") > p.count("lost") })
}

// take has the process take and release a name, and waits until it has.
func (p *process) take(t *testing.T, name string) {
	t.Helper()
	before := p.count("took " + name)
	if _, err := io.WriteString(p.input, name+"\n"); err != nil {
		t.Fatal(err)
	}
	p.await(t, "took "+name, func() bool { return p.count("took "+name) > before })
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// startProcesses starts peers, each in a process of its own. They end with the test,
// which fails if one of them fails.
func startProcesses(t *testing.T, n, holds int, ttl time.Duration) []*process {
	t.Helper()
	var all []*process
	for _, cfg := range peertest.Configs(t, n, multiphase.DefaultQuorum()) {
		all = append(all, startProcess(t, description{cfg.ID, cfg.Rank, cfg.Peers, ttl, holds}, cfg.Listener))
		_ = cfg.Listener.Close() // the process has a copy
	}
	return all
}

func startProcess(t *testing.T, d description, listener net.Listener) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	p := &process{rank: d.Rank, cmd: exec.Command(self), closed: make(chan struct{}), said: map[string]int{}}
	p.cmd.Env = append(os.Environ(), processEnv+"="+string(text))
	p.cmd.ExtraFiles = []*os.File{file}
	p.cmd.Stderr = os.Stderr
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.closed)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			p.mu.Lock()
			p.said[lines.Text()]++
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() { p.end(t) })
	return p
}

// end lets the process end, and fails if it did not end well.
func (p *process) end(t *testing.T) {
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.input.Close()
	<-p.closed
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("process %d: %v", p.rank, err)
	}
}

// TestPausedHolder stops one process after the other for so long that others get what it
// holds. When it goes on it must learn that it lost all of it, and take part again.
func TestPausedHolder(t *testing.T) {
	for _, holds := range []int{1, 50} {
		t.Run(fmt.Sprint(holds, " names"), func(t *testing.T) {
			all := startProcesses(t, 3, holds, 500*time.Millisecond)
			for i := range *pauses {
				p, other := all[i%3], all[(i+1)%3]
				p.holdsAll(t)
				lost := p.count("lost")
				p.signal(t, syscall.SIGSTOP)
				for k := range holds { // now each of its leases is over
					other.take(t, ownName(p.rank, k))
				}
				p.signal(t, syscall.SIGCONT)
				p.await(t, "lost its names", func() bool { return p.count("lost") > lost })
			}
			for _, p := range all {
				p.holdsAll(t)
			}
			t.Logf("%d pauses survived", *pauses)
		})
	}
}
