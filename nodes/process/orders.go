package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/metrics"
	"locklab/internal/strictjson"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// Order is what an agent wants of a node that runs, a line of JSON on its standard input.
// Each that can be read is answered by one [Answer], in order. An order asks for one thing; one
// that asks for nothing reads the clock.
type Order struct {
	Number uint64 `json:"number"`
	// Clock makes the node's clock wrong.
	Clock *Skew `json:"clock,omitzero"`
	// PauseAt has the process stop itself when it next passes a point.
	PauseAt *PauseAt `json:"pause_at,omitzero"`
	// Metrics asks for what [Node.Metrics] gathers.
	Metrics bool `json:"metrics,omitzero"`
}

// Skew is what is wrong with a clock: see [clock.Skewed].
type Skew struct {
	Offset time.Duration `json:"offset_ns,format:nano"`
	Rate   float64       `json:"rate"` // 1 is right
}

// PauseAt is a point, see [Points], and the time in which the process must come to it.
type PauseAt struct {
	Point  string        `json:"point"`
	Within time.Duration `json:"within_ns,format:nano"`
}

// Answer says that an order was carried out, or why not.
type Answer struct {
	Number  uint64 `json:"number"`
	WallNS  int64  `json:"wall_ns,omitzero"` // the clock that was read, ns since 1970
	Metrics string `json:"metrics,omitzero"` // Prometheus's text
	Error   string `json:"error,omitzero"`   // why nothing was done
}

// ServerClock is the wall clock of a server that a node runs.
type ServerClock interface {
	Set(Skew) error
	Now(context.Context) (time.Time, error)
}

// GoBy has faults make the clock of the server wrong that the node runs, in place of Clock. Call it
// before Ready.
func (n *Node) GoBy(server ServerClock) { n.server.Store(&server) }

// maxOrder bounds a line.
const maxOrder = 4 << 10

// obey carries orders out until the input ends. What is no order is one agent's mistake and
// ends nothing.
func (n *Node) obey(ctx context.Context, orders io.Reader, answers io.Writer) {
	lines := bufio.NewScanner(orders)
	lines.Buffer(nil, maxOrder)
	for lines.Scan() {
		if err := n.answer(ctx, lines.Bytes(), answers); err != nil {
			n.Log.Error("an order was not carried out", "error", err)
		}
	}
	_, _ = io.Copy(io.Discard, orders) // after a line that is too long; any end is the agent's end
}

func (n *Node) answer(ctx context.Context, line []byte, answers io.Writer) error {
	var o Order
	if err := strictjson.Decode(line, &o); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	a := Answer{Number: o.Number}
	if err := n.carryOut(ctx, o, &a); err != nil {
		a.Error = err.Error()
	}
	text, err := json.Marshal(a)
	if err == nil {
		_, err = answers.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("answer order %d: %w", o.Number, err)
	}
	return nil
}

func (n *Node) carryOut(ctx context.Context, o Order, a *Answer) error {
	switch {
	case o.Clock != nil && o.Clock.Rate <= 0:
		return fmt.Errorf("clock.rate %v: want more than 0: %w", o.Clock.Rate, ErrInvalid)
	case o.Clock != nil:
		return n.setClock(*o.Clock)
	case o.PauseAt != nil:
		n.Points.arm(*o.PauseAt)
		return nil
	case o.Metrics:
		var text strings.Builder
		err := metrics.Write(&text, n.Metrics)
		a.Metrics = text.String()
		return err
	}
	now, err := n.now(ctx)
	if err == nil {
		a.WallNS = now.UnixNano()
	}
	return err
}

func (n *Node) setClock(skew Skew) error {
	if server := n.server.Load(); server != nil {
		return (*server).Set(skew)
	}
	n.Clock.Set(skew.Offset, skew.Rate)
	return nil
}

func (n *Node) now(ctx context.Context) (time.Time, error) {
	if server := n.server.Load(); server != nil {
		return (*server).Now(ctx)
	}
	return clock.Wall(n.Clock), nil
}

// Points are the places in a node's work at which it can be made to stop: see
// [history.KindPoint]. A nil one never stops.
type Points struct {
	armed    atomic.Pointer[PauseAt]
	recorder history.Recorder
	stop     func() // returns when the process goes on again
}

// NewPoints records to the recorder that a point was passed, and then stops.
func NewPoints(recorder history.Recorder, stop func()) *Points {
	return &Points{recorder: recorder, stop: stop}
}

// arm has the next pass of the point within a time stop the process.
func (p *Points) arm(at PauseAt) {
	p.armed.Store(&at)
	time.AfterFunc(at.Within, func() { p.armed.CompareAndSwap(&at, nil) }) //nolint:forbidigo // faults break n.Clock
}

// Pass says that a client of the lock of that resource has come to a point of its work. If
// the process is to stop there, the whole of it does before Pass returns, with the event on
// record.
func (p *Points) Pass(point, resource string) {
	if p == nil {
		return
	}
	armed := p.armed.Load()
	if armed == nil || armed.Point != point || !p.armed.CompareAndSwap(armed, nil) {
		return
	}
	history.Commit(p.recorder, history.Event{Kind: history.KindPoint, State: point, Resource: resource})
	p.stop()
}
