package process

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"locklab/locks/clock"
	"locklab/workloads/history"
)

// PauseAt is a point, see [Points], and the time within which the process must reach it.
type PauseAt struct {
	Point  string        `json:"point"`
	Within time.Duration `json:"within_ns,format:nano"`
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
