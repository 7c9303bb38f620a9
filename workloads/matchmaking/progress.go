package matchmaking

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/locks/clock"
)

// Progress is how a run is going, for a display.
type Progress struct {
	Sent   uint64 // players sent to a master
	Done   uint64 // answered with a seat
	Failed uint64 // failed or unknown
	Unsent uint64 // due but not sent: the generator is behind
	// RatePS and P99 are of the last whole second: players with a seat, and the
	// latency of all who were answered or gave up.
	RatePS float64
	P99    time.Duration
}

type progress struct {
	sent, done, failed, unsent atomic.Uint64

	mu       sync.Mutex
	second   int64 // the one being counted, in seconds of clock.Mono
	ok       uint64
	latency  *hdrhistogram.Histogram
	lastRate float64
	lastP99  time.Duration
}

func (p *progress) finished(ok bool, fromNS, atNS int64) {
	if ok {
		p.done.Add(1)
	} else {
		p.failed.Add(1)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(atNS)
	if ok {
		p.ok++
	}
	_ = p.latency.RecordValue(min(max(atNS-fromNS, 1), int64(time.Minute)))
}

// turn closes the second that is over.
func (p *progress) turn(now int64) {
	if p.latency == nil {
		p.latency = hdrhistogram.New(1000, int64(time.Minute), 2)
	}
	second := now / int64(time.Second)
	if second <= p.second {
		return
	}
	p.lastRate, p.lastP99 = 0, 0
	if second == p.second+1 {
		p.lastRate, p.lastP99 = float64(p.ok), time.Duration(p.latency.ValueAtQuantile(99))
	}
	p.second, p.ok = second, 0
	p.latency.Reset()
}

func (p *progress) snapshot() Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(clock.Mono())
	return Progress{
		Sent: p.sent.Load(), Done: p.done.Load(), Failed: p.failed.Load(), Unsent: p.unsent.Load(),
		RatePS: p.lastRate, P99: p.lastP99,
	}
}
