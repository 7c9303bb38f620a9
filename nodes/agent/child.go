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
	clock  bool // its clock can be set
	events *eventLog
	orders *rpc.Client

	mu       sync.Mutex
	reaped   bool
	left     chan *rpc.Call // receives the answer of the last LeavePoint; nil if none is pending
	paused   bool
	intent   string // the state to record at its end; "" for exited
	intentNS int64  // when that end was requested

	ready chan struct{} // closed once it is ready
	gone  chan struct{} // closed once it has ended and its output was read
	exit  string        // how it ended, in one word; valid once gone
}

// files are the files and pipes that the agent opens for a process. A server that the process runs inherits
// its pipes, which end when all processes of the node have ended.
type files struct {
	log                          *os.File   // standard output and error
	given                        []*os.File // standard input, EventsFD, AnswersFD, and a socket if calls are watched
	stdin, events, answers, disk *os.File   // the agent's ends
}

// openFiles opens them, with a socket if calls are watched.
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

// Read and Write make files a connection of net/rpc.
func (f *files) Read(p []byte) (int, error)  { return f.answers.Read(p) }
func (f *files) Write(p []byte) (int, error) { return f.stdin.Write(p) }

// Close closes that connection.
func (f *files) Close() error { return errors.Join(f.stdin.Close(), f.answers.Close()) }

// close closes all files of a process that did not start.
func (f *files) close() {
	closeAll(f.given...)
	closeAll(f.log, f.stdin, f.events, f.answers, f.disk)
}

// closeAll skips nil files.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // no data can be lost
	}
}

// pipeGrace bounds how long pipes outlast the process: a grandchild outside its group may hold them open.
const pipeGrace = 2 * time.Second

// supervise reads the process's events until its end, and records that end.
func (c *child) supervise(f *files) {
	defer close(c.gone)
	defer func() { _ = errors.Join(c.orders.Close(), f.events.Close()) }()
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.readEvents(f.events)
	}()
	awaitExit(c.cmd, c.noticeStopped)
	c.mu.Lock()
	// The process ID is not reused until Wait reaps it: first kill the rest of its group.
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	_ = c.cmd.Wait() // sets ProcessState
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

// readEvents records the node's events until the pipe ends. It drops a torn last line, whose event had
// not happened yet when the node was killed. The follower refuses malformed events.
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
	_, _ = io.Copy(io.Discard, from) // after a line that is too long; event numbers reveal the loss
}

// record records an event of the agent's own, as of now. asked is on clock.Mono.
func (c *child) record(state string, asked int64) {
	c.events.record(c.event(state, asked, clock.Mono(), ""))
}

func (c *child) event(state string, asked, at int64, exit string) history.Event {
	return history.Event{
		Kind: history.KindNode, AtNS: at, FromNS: asked, Host: c.node.agent.cfg.Host, Node: c.node.name,
		State: state, Error: exit,
	}
}

// signalLocked sends a signal to the process group, and to descendants outside it. False means that the process
// has ended. The caller holds the mutex.
func (c *child) signalLocked(sig syscall.Signal) bool {
	if c.reaped {
		return false
	}
	found := strays(c.pid)                                // before: a signal that kills hides their parents
	_ = syscall.Kill(-c.pid, sig)                         // cannot fail before the process is reaped
	for _, pid := range append(found, strays(c.pid)...) { // again: new ones may have started before a stop
		_ = syscall.Kill(pid, sig) // fails if it has ended
	}
	return true
}

// end asks the process to end, or kills its group. The first call decides the state to record.
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
	_ = syscall.Kill(c.pid, sig)    // the process alone: it ends its own children
	c.signalLocked(syscall.SIGCONT) // a stopped process does not see the signal
}

// pause stops the process, and returns once it has stopped. asked is the time of the request.
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
		c.signalLocked(syscall.SIGCONT) // so that it does not stop later
		return fmt.Errorf("pause %s: %w: %w", c.node.name, err, httpapi.ErrConflict)
	}
	c.paused = true
	c.record(history.NodePaused, asked)
	return nil
}

// resume continues a paused process. It returns once the kernel reports that it runs.
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

// pauseAt stops a node when it next reaches a point of its work, and returns once it has stopped
// there. If it does not reach the point in time, it goes on.
func (c *child) pauseAt(ctx context.Context, at process.PauseAt) error {
	fail := func(err error) error { return fmt.Errorf("pause %s at %s: %w", c.node.name, at.Point, err) }
	points := []string{history.PointAcquiring, history.PointGranted, history.PointReleasing}
	if !c.node.role.Points || !slices.Contains(points, at.Point) {
		return fail(fmt.Errorf("only masters pause at points: want one of %v: %w", points, httpapi.ErrInvalid))
	}
	if c.isPaused() {
		return fail(fmt.Errorf("it stands still: %w", httpapi.ErrConflict))
	}
	asked := clock.Mono()
	// The pause outlives the request of a controller that has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), at.Within+answerTime)
	defer cancel()
	c.mu.Lock()
	left := c.left
	c.left = nil
	c.mu.Unlock()
	if left != nil { // orders run concurrently: the node must leave the last point before it awaits the next
		select {
		case <-left:
		case <-ctx.Done():
		}
	}
	_, err := ask[struct{}](ctx, c.orders, "AwaitPoint", at)
	if errors.Is(err, httpapi.ErrConflict) { // it waits at no point
		return fail(err)
	}
	if err == nil {
		err = c.pause(asked)
	}
	left = make(chan *rpc.Call, 1)
	c.orders.Go("Orders.LeavePoint", struct{}{}, nil, left) // read when the node is resumed
	c.mu.Lock()
	c.left = left
	c.mu.Unlock()
	if err != nil {
		return fail(err)
	}
	return nil
}

// noticeStopped records a stop that no controller requested.
func (c *child) noticeStopped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.paused && isStopped(c.pid) { // it may have resumed
		c.paused = true
		c.record(history.NodePaused, 0)
	}
}

func (c *child) isPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused
}

// scrapeTimeout is less than Prometheus's own, so that a node that hangs does not cost the others' metrics.
const scrapeTimeout = 500 * time.Millisecond

// gather asks the process for its metrics; nil if it does not answer in time.
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

// exitWord says how a process ended: "" for code 0, exit-1, signal-killed.
func exitWord(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return "signal-" + strings.ReplaceAll(ws.Signal().String(), " ", "-")
	}
	if code := state.ExitCode(); code != 0 {
		return fmt.Sprintf("exit-%d", code)
	}
	return ""
}

// readLog returns the end of a node's output; nothing if it cannot be read.
func readLog(path string, most int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	_, _ = f.Seek(-most, io.SeekEnd)               // fails on a shorter file, which is read from its start
	text, _ := io.ReadAll(io.LimitReader(f, most)) // the file may still grow
	return text
}

// lastLines returns the end of a log: at most 20 whole lines; none if it cannot be read.
func lastLines(path string) []string {
	const maxLines, maxBytes = 20, 3000
	data := readLog(path, maxBytes)
	if len(data) == maxBytes { // the first line is cut
		data = data[bytes.IndexByte(data, '\n')+1:]
	}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return nil
	}
	lines := strings.Split(string(data), "\n")
	return lines[max(0, len(lines)-maxLines):]
}

// answerTime bounds an order to a node: one that takes longer is stopped or gone.
const answerTime = time.Second

var (
	errEnded     = errors.New("it has ended")
	errStillRuns = fmt.Errorf("it did not stand still within %v", answerTime)
)

// ask sends a node an order, a method of [process.Orders], and waits for its answer.
func ask[Out any](ctx context.Context, orders *rpc.Client, method string, in any) (none Out, err error) {
	out := new(Out)
	call := orders.Go("Orders."+method, in, out, make(chan *rpc.Call, 1)) // does not block: orders fit into a pipe
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
