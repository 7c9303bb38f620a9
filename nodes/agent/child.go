package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/httpapi"
	"locklab/internal/posix"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/nodes/process"
	"locklab/nodes/role"
	"locklab/workloads/history"
)

// maxEventLine bounds one event of a node.
const maxEventLine = 1 << 20

// outputGrace is how long output may outlast its process: a grandchild outside its group may hold it open.
const outputGrace = 2 * time.Second

// child is one incarnation of a node: a process from its start to its end.
type child struct {
	role.Node // as it was prepared
	host      string
	cmd       *exec.Cmd
	spreads   bool // see role.Command
	points    bool // see role.Role
	pid       int
	began     time.Time // shortly before it did
	orders    *orders   // of an own node
	log       *logFile
	events    *eventLog
	metrics   *httpapi.Client // nil if it has none

	pausing sync.Mutex // held while a pause waits for its point
	mu      sync.Mutex
	reaped  bool
	paused  bool
	waits   *pointWait // of the pause that waits; nil if none does
	// resumes counts how often the agent let it go on.
	resumes int
	// suspended: it stands still, and no controller asked for that.
	suspended bool
	intent    string // the state that its end is recorded as, "" for exited
	intentNS  int64  // when that was asked

	readyOnce sync.Once
	ready     chan struct{} // closed once it is ready
	gone      chan struct{} // closed once it ended and everything it wrote was taken
	exit      string        // how it ended, in one word; valid once gone
}

// pipes are the ends of a process's pipes: what it gets, and what the agent keeps.
type pipes struct {
	stdin, output, events, metrics, answers, disk            *os.File // the process's
	stdinKept, outputKept, eventsKept, answersKept, diskKept *os.File // the agent's
}

func openPipes() (*pipes, error) {
	p := &pipes{}
	for _, pair := range []struct{ r, w **os.File }{
		{&p.stdin, &p.stdinKept}, {&p.outputKept, &p.output}, {&p.eventsKept, &p.events}, {&p.answersKept, &p.answers},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, fmt.Errorf("open pipe: %w", err)
		}
		*pair.r, *pair.w = r, w
	}
	return p, nil
}

func (p *pipes) closeGiven() { closeAll(p.stdin, p.output, p.events, p.metrics, p.answers, p.disk) }

func (p *pipes) close() {
	p.closeGiven()
	closeAll(p.stdinKept, p.outputKept, p.eventsKept, p.answersKept, p.diskKept)
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // pipe ends hold nothing that closing could lose
		}
	}
}

// startChild starts a process. It takes over the log.
func (a *Agent) startChild(n role.Node, of role.Role, command role.Command, log *logFile, watched *watched) (*child, error) {
	p, err := openPipes()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command.Path, command.Args...) //nolint:noctx // its life is the node's, not a request's
	cmd.Dir = n.Dir
	cmd.Env = append(a.env, command.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.stdin, p.output, p.output
	var metrics *httpapi.Client
	if of.Main != nil {
		if p.metrics, metrics, err = a.openMetrics(); err != nil {
			p.close()
			return nil, err
		}
		cmd.ExtraFiles = []*os.File{p.events, p.metrics, p.answers} // become process.EventsFD, MetricsFD and AnswersFD
	}
	if err := watched.join(cmd, p, a.cfg.Executable); err != nil {
		p.close()
		return nil, err
	}
	apart(cmd, a.cfg.watchdog)

	c := &child{
		Node: n, host: a.cfg.Host, cmd: cmd, spreads: command.Spreads, points: of.Points, log: log, events: a.eventLog(), metrics: metrics,
		ready: make(chan struct{}), gone: make(chan struct{}), began: clock.System().Now(),
	}
	if of.Main != nil {
		c.orders = &orders{out: p.stdinKept, waiting: map[uint64]chan process.Answer{}}
	}
	asked := clock.Mono()
	if err := a.starter.do(cmd.Start); err != nil {
		p.close()
		return nil, fmt.Errorf("start %s: %w", command.Path, err)
	}
	c.pid = cmd.Process.Pid
	a.guard.started(c.pid)
	p.closeGiven()
	if watched != nil {
		a.children.Go(func() {
			if err := watched.disk.Serve(p.diskKept, c.gone); err != nil {
				a.cfg.Log.Error("the calls of a node are not watched any more", "node", n.Name, "error", err)
			}
		})
	}
	c.record("started", asked)
	a.metrics.starts.WithLabelValues(of.Name).Inc()
	a.children.Go(func() {
		c.supervise(p, a.guard)
		a.metrics.ends.WithLabelValues(of.Name, cmp.Or(c.intent, history.NodeExited)).Inc()
		if metrics != nil {
			metrics.Close()
		}
	})
	return c, nil
}

// supervise takes what the process writes and sees it to its end.
func (c *child) supervise(p *pipes, guard *guard) {
	defer close(c.gone)
	defer closeAll(p.stdinKept, p.outputKept, p.eventsKept, p.answersKept)
	defer c.log.close()
	var readers sync.WaitGroup
	readers.Go(func() { _, _ = io.Copy(c.log, p.outputKept) }) // ends with the pipe
	readers.Go(func() { c.readEvents(p.eventsKept) })
	if c.orders != nil {
		readers.Go(func() { c.orders.read(p.answersKept) })
	}

	awaitExit(c.pid, c.noticeStopped, c.noticeContinued)
	c.mu.Lock()
	// Its number is still its own until it is reaped: end what it left behind.
	_ = posix.Kill(-c.pid, syscall.SIGKILL)
	_ = c.cmd.Wait() // ProcessState says how it ended
	c.reaped = true
	ended := clock.Mono()
	state, asked := c.intent, c.intentNS
	c.mu.Unlock()
	guard.ended(c.pid)

	deadline := clock.System().Now().Add(outputGrace)
	_ = p.outputKept.SetReadDeadline(deadline) // pipes have deadlines
	_ = p.eventsKept.SetReadDeadline(deadline)
	_ = p.answersKept.SetReadDeadline(deadline)
	readers.Wait()
	c.exit = exitWord(c.cmd.ProcessState)
	event := c.event(state, asked, ended, c.exit)
	if state == "" {
		event.State = history.NodeExited
		event.Log = lastLines(c.log.path)
	}
	c.events.record(event)
}

// newLines reads whole lines: what is cut off at the end is none.
func newLines(from io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 32<<10), maxEventLine)
	lines.Split(func(data []byte, _ bool) (int, []byte, error) {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return 0, nil, nil
		}
		return end + 1, data[:end], nil
	})
	return lines
}

// readEvents takes the node's events until the pipe ends. A torn last line was not yet
// an event when the node was killed.
func (c *child) readEvents(from io.Reader) {
	lines := newLines(from)
	for lines.Scan() {
		line := lines.Bytes()
		if !jsontext.Value(line).IsValid() {
			c.refuseEvents()
			break
		}
		if bytes.Contains(line, []byte(`"`+process.StateReady+`"`)) {
			var e history.Event
			if new(history.Decoder).Decode(line, &e) == nil && e.Kind == history.KindNode && e.State == process.StateReady {
				c.readyOnce.Do(func() { close(c.ready) })
			}
		}
		c.events.add(line)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		c.refuseEvents()
	}
	_, _ = io.Copy(io.Discard, from) // or a node whose event was refused would hang in a write
}

func (c *child) refuseEvents() {
	c.events.end(fmt.Errorf("node %s wrote an event that is not a JSON line of at most %d bytes: %w", c.Name, maxEventLine, ErrEventsLost))
}

// markReady is for nodes that do not say it themselves.
func (c *child) markReady(asked int64) {
	c.readyOnce.Do(func() {
		c.record(process.StateReady, asked)
		close(c.ready)
	})
}

// record leaves an event of the agent's own, as of now. asked is on clock.Mono.
func (c *child) record(state string, asked int64) {
	c.events.record(c.event(state, asked, clock.Mono(), ""))
}

func (c *child) event(state string, asked, at int64, exit string) history.Event {
	return history.Event{
		Kind: history.KindNode, AtNS: at, FromNS: asked, Host: c.host, Node: c.Name, State: state, Error: exit,
	}
}

// signalLocked sends a signal to the process group, or to the process alone. False
// means that it has ended. The caller holds the mutex.
func (c *child) signalLocked(sig syscall.Signal, group bool) bool {
	if c.reaped {
		return false
	}
	pid := c.pid
	if group {
		pid = -pid
	}
	if c.spreads && group && sig == syscall.SIGKILL { // first: then their parents are gone
		c.signalStrays(sig)
	}
	_ = posix.Kill(pid, sig)                          // what is not yet reaped can be signaled
	if c.spreads && group && sig != syscall.SIGKILL { // last: their parents make no more
		c.signalStrays(sig)
	}
	return true
}

// signalStrays reaches the node's processes outside its group.
func (c *child) signalStrays(sig syscall.Signal) {
	for _, pid := range strays(c.pid) {
		_ = posix.Kill(pid, sig) // it may have ended by now
	}
}

// end sends the signal that is to end the process, and notes as what its end is to be recorded: the first
// call decides.
func (c *child) end(state string, sig syscall.Signal, group bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.intent == "" && !c.reaped {
		c.intent, c.intentNS = state, clock.Mono()
	}
	c.signalLocked(sig, group)
	if sig != syscall.SIGKILL {
		c.signalLocked(posix.SIGCONT, true) // a stopped process does not see the signal
	}
}

var (
	errEnded     = errors.New("it has ended")
	errStillRuns = fmt.Errorf("it did not stand still within %v", answerTime)
)

// pause stops the process and returns once it stands still.
func (c *child) pause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused {
		return nil
	}
	asked := clock.Mono()
	err := errEnded
	if c.signalLocked(posix.SIGSTOP, true) {
		err = awaitStopped(c.pid)
	}
	if err != nil {
		c.signalLocked(posix.SIGCONT, true) // or it would stop later
		return fmt.Errorf("pause %s: %w: %w", c.Name, err, httpapi.ErrConflict)
	}
	c.paused = true
	c.record("paused", asked)
	return nil
}

// resume lets a process go on, and gives up a pause that still waits for its point.
func (c *child) resume() error {
	c.mu.Lock()
	waits := c.waits
	c.mu.Unlock()
	if waits != nil {
		waits.giveUp()
		c.pausing.Lock()
		defer c.pausing.Unlock()
	}
	return c.letGo()
}

// letGo lets a paused process go on. It does so once the kernel says that it does.
func (c *child) letGo() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := clock.Mono()
	if !c.signalLocked(posix.SIGCONT, true) {
		return fmt.Errorf("resume %s: it has ended: %w", c.Name, httpapi.ErrConflict)
	}
	if isStopped(c.pid) {
		return fmt.Errorf("resume %s: it still stands still: %w", c.Name, httpapi.ErrConflict)
	}
	c.resumes++
	if c.paused {
		c.paused = false
		c.record("resumed", asked)
	}
	return nil
}

// noticeStopped is called when the process stands still, also by the hand of another program. The function
// that it returns says whether the agent resumed it since.
func (c *child) noticeStopped() func() bool {
	at := clock.Mono()
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.resumes
	switch {
	case c.paused || !isStopped(c.pid): // a pause that is over by now was asked for, too
	case c.waits != nil: // it came to the point
		c.signalLocked(posix.SIGSTOP, true) // what belongs to it too
		c.paused = true
		c.events.record(c.event(history.NodePaused, c.waits.askedNS, at, ""))
		close(c.waits.stopped)
		c.waits = nil
	default:
		c.suspended = true
		c.events.record(c.event(history.NodeSuspended, 0, at, ""))
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.resumes != before
	}
}

// noticeContinued is called when it goes on, whichever program resumed it. A process that is asked to end
// goes on for that alone.
func (c *child) noticeContinued() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.intent != "" {
		return
	}
	if c.suspended || c.paused && !isStopped(c.pid) {
		c.suspended, c.paused = false, false
		c.record(history.NodeContinued, 0)
	}
}

func (c *child) isGone() bool { return signals.Closed(c.gone) }

// standsStill is the kernel's word, where it gives one, whichever program stopped the process.
func (c *child) standsStill() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !kernelTells {
		return c.paused
	}
	return !c.reaped && isStopped(c.pid)
}

// exitWord is how a process ended: "" for code 0, exit-1, signal-killed.
func exitWord(state *os.ProcessState) string {
	if state == nil {
		return ""
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return "signal-" + strings.ReplaceAll(ws.Signal().String(), " ", "-")
	}
	if code := state.ExitCode(); code != 0 {
		return fmt.Sprintf("exit-%d", code)
	}
	return ""
}
