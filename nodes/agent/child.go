package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/rpc"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"locklab/internal/httpapi"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/nodes/diskfault"
	"locklab/nodes/process"
	"locklab/workloads/history"
)

// child is one incarnation of a node: a process from its start to its end.
type child struct {
	node   *node
	cmd    *exec.Cmd
	pid    int
	clock  bool // it can be set
	events *eventLog
	orders *rpc.Client

	mu       sync.Mutex
	reaped   bool
	left     chan *rpc.Call // gives that the last point was left; nil if that is known
	paused   bool
	intent   string // the state that its end is recorded as, "" for exited
	intentNS int64  // when that was asked

	ready chan struct{} // closed once it is ready
	gone  chan struct{} // closed once it ended and everything it wrote was taken
	exit  string        // how it ended, in one word; valid once gone
}

// files are what the agent opens for a process: the process's own, and the other ends of its pipes. A server
// that the process runs has its pipes too: they end when all processes of the node have.
type files struct {
	log                          *os.File   // standard output and error
	given                        []*os.File // standard input, EventsFD, AnswersFD, a socket where calls are stopped
	stdin, events, answers, disk *os.File   // the agent's
}

// openFiles opens them, with a socket if calls are to be stopped.
func openFiles(log string, calls diskfault.Calls) (f *files, err error) {
	f = &files{}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.log, err = os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return nil, fmt.Errorf("open node log: %w", err)
	}
	for _, kept := range []**os.File{&f.stdin, &f.events, &f.answers} {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("open pipe: %w", err)
		}
		if kept == &f.stdin {
			r, w = w, r
		}
		*kept, f.given = r, append(f.given, w)
	}
	if calls == "" {
		return f, nil
	}
	if err := diskfault.Missing(); err != nil {
		return nil, err
	}
	socket, kept, err := diskfault.Sockets()
	f.given, f.disk = append(f.given, socket), kept
	return f, err
}

// Read and Write make of the pipes for orders and answers what net/rpc wants.
func (f *files) Read(p []byte) (int, error)  { return f.answers.Read(p) }
func (f *files) Write(p []byte) (int, error) { return f.stdin.Write(p) }

// Close closes what the process's end leaves.
func (f *files) Close() error { return errors.Join(f.stdin.Close(), f.answers.Close()) }

// close closes all, of a process that did not start.
func (f *files) close() {
	closeAll(f.given...)
	closeAll(f.log, f.stdin, f.events, f.answers, f.disk)
}

// closeAll passes over files that are nil.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // pipes hold nothing that closing could lose, and the log is output, not data
	}
}

// pipeGrace is how long pipes may outlast the process: a grandchild outside its group may hold them open.
const pipeGrace = 2 * time.Second

// supervise takes what the process writes and sees it to its end.
func (c *child) supervise(f *files) {
	defer close(c.gone)
	defer func() { _ = errors.Join(c.orders.Close(), f.events.Close()) }() // there is nothing more to lose
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.readEvents(f.events)
	}()
	awaitExit(c.cmd, c.noticeStopped)
	c.mu.Lock()
	// Its number is still its own until it is reaped: end what it left behind.
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	_ = c.cmd.Wait() // ProcessState says how it ended
	c.reaped = true
	ended := clock.Mono()
	state, asked := c.intent, c.intentNS
	c.mu.Unlock()

	_ = f.events.SetReadDeadline(clock.System().Now().Add(pipeGrace)) // pipes have deadlines
	<-read
	c.exit = exitWord(c.cmd.ProcessState)
	event := c.event(state, asked, ended, c.exit)
	if state == "" {
		event.State = history.NodeExited
		event.Log = lastLines(c.node.logPath())
	}
	c.events.record(event)
}

// readEvents takes the node's events until the pipe ends. A torn last line was not yet
// an event when the node was killed. What is no event is for the follower to refuse.
func (c *child) readEvents(from io.Reader) {
	lines := newLines(from)
	for lines.Scan() {
		line := lines.Bytes()
		if bytes.Contains(line, []byte(`"`+history.NodeReady+`"`)) {
			var e history.Event
			err := new(history.Decoder).Decode(line, &e)
			if err == nil && e.Kind == history.KindNode && e.State == history.NodeReady && !signals.Closed(c.ready) {
				close(c.ready)
			}
		}
		c.events.add(line)
	}
	_, _ = io.Copy(io.Discard, from) // after a line that is too long, which the numbers of the events tell
}

// record leaves an event of the agent's own, as of now. asked is on clock.Mono.
func (c *child) record(state string, asked int64) {
	c.events.record(c.event(state, asked, clock.Mono(), ""))
}

func (c *child) event(state string, asked, at int64, exit string) history.Event {
	return history.Event{
		Kind: history.KindNode, AtNS: at, FromNS: asked, Host: c.node.agent.cfg.Host, Node: c.node.name,
		State: state, Error: exit,
	}
}

// signalLocked sends a signal to the process group, and to what has left it. False means that the process has
// ended. The caller holds the mutex.
func (c *child) signalLocked(sig syscall.Signal) bool {
	if c.reaped {
		return false
	}
	found := strays(c.pid)                                // when the signal kills, their parents are gone
	_ = syscall.Kill(-c.pid, sig)                         // what is not yet reaped can be signaled
	for _, pid := range append(found, strays(c.pid)...) { // when it stops, their parents make no more
		_ = syscall.Kill(pid, sig) // it may have ended by now
	}
	return true
}

// end asks the process to end, or kills its group, and notes as what its end is to be recorded: the first
// call decides.
func (c *child) end(state string, sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return
	}
	if c.intent == "" {
		c.intent, c.intentNS = state, clock.Mono()
	}
	if sig == syscall.SIGKILL {
		c.signalLocked(sig)
		return
	}
	_ = syscall.Kill(c.pid, sig)    // the process alone: it ends what belongs to it
	c.signalLocked(syscall.SIGCONT) // a stopped process does not see the signal
}

// pause stops the process, as was asked at that time, and returns once it stands still.
func (c *child) pause(asked int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused {
		return nil
	}
	err := errEnded
	if c.signalLocked(syscall.SIGSTOP) {
		err = awaitStopped(c.pid)
	}
	if err != nil {
		c.signalLocked(syscall.SIGCONT) // or it would stop later
		return fmt.Errorf("pause %s: %w: %w", c.node.name, err, httpapi.ErrConflict)
	}
	c.paused = true
	c.record(history.NodePaused, asked)
	return nil
}

// resume lets a paused process go on. It returns once the kernel says that it does.
func (c *child) resume() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := clock.Mono()
	if !c.signalLocked(syscall.SIGCONT) {
		return fmt.Errorf("resume %s: %w: %w", c.node.name, errEnded, httpapi.ErrConflict)
	}
	if isStopped(c.pid) {
		return fmt.Errorf("resume %s: it still stands still: %w", c.node.name, httpapi.ErrConflict)
	}
	if c.paused {
		c.paused = false
		c.record(history.NodeResumed, asked)
	}
	return nil
}

// pauseAt stops a node when it next comes to a point of its work, and returns once it stands
// still there. One that does not come to it in the time goes on.
func (c *child) pauseAt(ctx context.Context, at process.PauseAt) error {
	fail := func(err error) error { return fmt.Errorf("pause %s at %s: %w", c.node.name, at.Point, err) }
	points := []string{history.PointAcquiring, history.PointGranted, history.PointReleasing}
	if !c.node.role.Points || !slices.Contains(points, at.Point) {
		return fail(fmt.Errorf("it comes to no such point: want a master, and one of %v: %w", points, httpapi.ErrInvalid))
	}
	if c.isPaused() {
		return fail(fmt.Errorf("it stands still: %w", httpapi.ErrConflict))
	}
	asked := clock.Mono()
	// A controller that goes away takes its node with it: the pause does not end with its request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), at.Within+answerTime)
	defer cancel()
	c.mu.Lock()
	left := c.left
	c.left = nil
	c.mu.Unlock()
	if left != nil { // orders are carried out beside each other: the last point is left before the next is awaited
		select {
		case <-left:
		case <-ctx.Done():
		}
	}
	_, err := ask[struct{}](ctx, c.orders, "AwaitPoint", at)
	if errors.Is(err, httpapi.ErrConflict) { // it stands at no point of this order
		return fail(err)
	}
	if err == nil {
		err = c.pause(asked)
	}
	left = make(chan *rpc.Call, 1)
	c.orders.Go("Orders.LeavePoint", struct{}{}, nil, left) // it reads that when it is resumed
	c.mu.Lock()
	c.left = left
	c.mu.Unlock()
	if err != nil {
		return fail(err)
	}
	return nil
}

// noticeStopped records that the process stands still though no controller asked for that.
func (c *child) noticeStopped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.paused && isStopped(c.pid) { // else it goes on by now
		c.paused = true
		c.record(history.NodePaused, 0)
	}
}

func (c *child) isPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused
}

// scrapeTimeout is less than Prometheus gives the agent: a node that hangs does not cost the others.
const scrapeTimeout = 500 * time.Millisecond

// gather asks the process for its own, none if it does not tell in time.
func (c *child) gather(ctx context.Context) []*dto.MetricFamily {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	text, err := ask[string](ctx, c.orders, "Metrics", struct{}{})
	if err != nil {
		return nil
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return nil
	}
	return slices.Collect(maps.Values(found))
}

// exitWord is how a process ended: "" for code 0, exit-1, signal-killed.
func exitWord(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return "signal-" + strings.ReplaceAll(ws.Signal().String(), " ", "-")
	}
	if code := state.ExitCode(); code != 0 {
		return fmt.Sprintf("exit-%d", code)
	}
	return ""
}

// readLog is the end of a node's output; nothing of one that was never started, or cannot be read.
func readLog(path string, most int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()               // nothing was written
	_, _ = f.Seek(-most, io.SeekEnd)               // one that is shorter is read from its begin
	text, _ := io.ReadAll(io.LimitReader(f, most)) // it may still grow
	return text
}

// lastLines is the end of a log: whole lines, a screen at most. One that cannot be read has none.
func lastLines(path string) []string {
	const maxLines, maxBytes = 20, 3000
	data := readLog(path, maxBytes)
	if len(data) == maxBytes { // the first is cut
		data = data[bytes.IndexByte(data, '\n')+1:]
	}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return nil
	}
	lines := strings.Split(string(data), "\n")
	return lines[max(0, len(lines)-maxLines):]
}

// answerTime is how long a node may take to carry out an order: it stands still, or is
// gone, if it takes longer.
const answerTime = time.Second

var (
	errEnded     = errors.New("it has ended")
	errStillRuns = fmt.Errorf("it did not stand still within %v", answerTime)
)

// ask has a node carry out an order, a method of [process.Orders], and waits for its answer.
func ask[Out any](ctx context.Context, orders *rpc.Client, method string, in any) (none Out, err error) {
	out := new(Out)
	call := orders.Go("Orders."+method, in, out, make(chan *rpc.Call, 1)) // orders are short: a pipe holds them
	if _, bounded := ctx.Deadline(); !bounded {
		limited, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		ctx = limited
	}
	select {
	case <-call.Done:
	case <-ctx.Done():
		return none, fmt.Errorf("it does not answer: %w", ctx.Err())
	}
	if refusal, is := errors.AsType[rpc.ServerError](call.Error); is {
		return none, fmt.Errorf("it refuses: %w: %w", refusal, httpapi.ErrConflict)
	}
	return *out, call.Error
}
