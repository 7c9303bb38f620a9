package process

import (
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"strings"
	"sync/atomic"
	"time"

	"locklab/internal/metrics"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// Orders are the agent's orders to a running node: the methods of a net/rpc server that reads from standard
// input and answers on [AnswersFD].
type Orders struct{ node *Node }

// Skew is the error of a clock, see [clock.Skewed].
type Skew struct {
	Offset time.Duration `json:"offset_ns,format:nano"`
	Rate   float64       `json:"rate"` // 1 is right
}

// PauseAt is a point, see [Points], and the time within which the process must reach it.
type PauseAt struct {
	Point  string        `json:"point"`
	Within time.Duration `json:"within_ns,format:nano"`
}

// serverClock is the wall clock of a server that a node runs.
type serverClock struct {
	set func(Skew) error
	now func() (time.Time, error)
}

// GoBy makes clock faults apply to the server that the node runs, instead of Clock. Call it before Ready.
func (n *Node) GoBy(set func(Skew) error, now func() (time.Time, error)) {
	n.server.Store(&serverClock{set, now})
}

// obey carries out orders until the agent has ended.
func (n *Node) obey(orders io.Reader, answers io.Writer) {
	server := rpc.NewServer()
	if err := server.Register(&Orders{n}); err != nil {
		panic(err) // net/rpc does not accept its methods
	}
	server.ServeConn(struct {
		io.Reader
		io.Writer
		io.Closer
	}{orders, answers, io.NopCloser(nil)})
}

// SetClock sets the error of the node's clock.
func (o *Orders) SetClock(skew Skew, _ *struct{}) error {
	if skew.Rate <= 0 {
		return fmt.Errorf("clock.rate %v: want more than 0", skew.Rate)
	}
	if server := o.node.server.Load(); server != nil {
		return server.set(skew)
	}
	o.node.Clock.Set(skew.Offset, skew.Rate)
	return nil
}

// ReadClock reads the node's clock.
func (o *Orders) ReadClock(_ struct{}, now *time.Time) (err error) {
	if server := o.node.server.Load(); server != nil {
		*now, err = server.now()
		return err
	}
	*now = clock.Wall(o.node.Clock)
	return nil
}

// AwaitPoint returns when the node's work has reached a point, where it waits until LeavePoint.
func (o *Orders) AwaitPoint(at PauseAt, _ *struct{}) error { return o.node.Points.await(at) }

// LeavePoint lets the work go on.
func (o *Orders) LeavePoint(struct{}, *struct{}) error {
	if stop := o.node.Points.armed.Swap(nil); stop != nil {
		close(stop.leave)
	}
	return nil
}

// Metrics returns [Node.Metrics] in the text format of Prometheus.
func (o *Orders) Metrics(_ struct{}, all *string) error {
	var text strings.Builder
	err := metrics.Write(&text, o.node.Metrics)
	*all = text.String()
	return err
}

// Points are the places in a node's work at which it can be made to stop, see
// [history.KindPoint]. A nil *Points never stops.
type Points struct {
	armed    atomic.Pointer[stop]
	recorder history.Recorder
}

// stop is a requested stop at a point.
type stop struct {
	point          string
	reached, leave chan struct{}
	taken          atomic.Bool // set by the first client that reaches the point, or by the timeout
}

// NewPoints returns points that record each stop to the recorder before it happens.
func NewPoints(recorder history.Recorder) *Points { return &Points{recorder: recorder} }

func (p *Points) await(at PauseAt) error {
	s := &stop{point: at.Point, reached: make(chan struct{}), leave: make(chan struct{})}
	if !p.armed.CompareAndSwap(nil, s) {
		return errors.New("it stands still, or is to stop at another point")
	}
	if _, came := clock.Await(clock.System(), at.Within, s.reached); !came && s.taken.CompareAndSwap(false, true) {
		p.armed.Store(nil)
		return fmt.Errorf("it did not come to that within %v", at.Within)
	}
	<-s.reached
	return nil
}

// Pass is called when a client of that resource's lock reaches a point of its work. If the process must stop there,
// Pass records that first, and returns after the pause.
func (p *Points) Pass(point, resource string) {
	if p == nil {
		return
	}
	s := p.armed.Load()
	if s == nil || s.point != point || !s.taken.CompareAndSwap(false, true) {
		return
	}
	history.Commit(p.recorder, history.Event{Kind: history.KindPoint, State: point, Resource: resource})
	close(s.reached)
	<-s.leave
}
