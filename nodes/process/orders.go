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

// Orders are what an agent wants of a node that runs: the methods of a net/rpc server, whose client calls over
// the node's standard input and is answered on [AnswersFD].
type Orders struct{ node *Node }

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

// serverClock is the wall clock of a server that a node runs.
type serverClock struct {
	set func(Skew) error
	now func() (time.Time, error)
}

// GoBy makes faults of clocks hit the server that the node runs, and not Clock. Call it before Ready.
func (n *Node) GoBy(set func(Skew) error, now func() (time.Time, error)) {
	n.server.Store(&serverClock{set, now})
}

// obey carries orders out until the agent has ended.
func (n *Node) obey(orders io.Reader, answers io.Writer) {
	server := rpc.NewServer()
	if err := server.Register(&Orders{n}); err != nil {
		panic(err) // its methods are not as net/rpc wants them
	}
	server.ServeConn(struct {
		io.Reader
		io.Writer
		io.Closer
	}{orders, answers, io.NopCloser(nil)})
}

// SetClock makes the node's clock wrong.
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

// ReadClock reads it.
func (o *Orders) ReadClock(_ struct{}, now *time.Time) (err error) {
	if server := o.node.server.Load(); server != nil {
		*now, err = server.now()
		return err
	}
	*now = clock.Wall(o.node.Clock)
	return nil
}

// AwaitPoint returns when the node's work has come to a point, and stands still there until LeavePoint.
func (o *Orders) AwaitPoint(at PauseAt, _ *struct{}) error { return o.node.Points.await(at) }

// LeavePoint has the work go on.
func (o *Orders) LeavePoint(struct{}, *struct{}) error {
	if stop := o.node.Points.armed.Swap(nil); stop != nil {
		close(stop.leave)
	}
	return nil
}

// Metrics are what [Node.Metrics] gathers, as Prometheus's text.
func (o *Orders) Metrics(_ struct{}, all *string) error {
	var text strings.Builder
	err := metrics.Write(&text, o.node.Metrics)
	*all = text.String()
	return err
}

// Points are the places in a node's work at which it can be made to stop: see
// [history.KindPoint]. A nil one never stops.
type Points struct {
	armed    atomic.Pointer[stop]
	recorder history.Recorder
}

// stop is one that is to happen at a point.
type stop struct {
	point          string
	reached, leave chan struct{}
	taken          atomic.Bool // by the first that comes to the point, or by the end of the time for it
}

// NewPoints records to the recorder that a point was passed, and then stops.
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

// Pass says that a client of the lock of that resource has come to a point of its work. If the process is to stop
// there, it is on record before, and Pass returns after the pause.
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
