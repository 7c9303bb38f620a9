package process

import (
	"fmt"
	"io"
	"net/rpc"
	"strings"
	"time"

	"locklab/internal/metrics"
	"locklab/locks/clock"
)

// Orders are the agent's orders to a running node: the methods of a net/rpc server that reads from standard
// input and answers on [AnswersFD].
type Orders struct{ node *Node }

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
