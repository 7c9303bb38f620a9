// Package live shows a comparison while it runs: a page that browsers open, kept up to
// date by server-sent events.
//
//	lab ──events, runs, rows──▶ Board ──every 250 ms──▶ model ──▶ parts of the page ──▶ browsers
//	         (never waits)       inbox   one goroutine        each viewer gets those that changed
//
// The lab tells a [Board] the events that it records anyway. The Board puts them into an inbox and returns; one
// goroutine folds them into a model. Each viewer renders the newest model, so a slow browser misses frames and
// delays no other. A new connection begins with every part.
//
// The page judges nothing: its duplicates come from the run's own checker, over the rooms of the last seconds, and
// its charts are the report's.
package live

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Board takes the events of a comparison and shows them. A nil Board takes everything and
// shows nothing. Its methods may be called from any goroutine and never wait for a viewer.
type Board struct {
	info    Info
	token   string // of the page's orders
	viewers atomic.Int32

	inboxMu sync.Mutex
	inbox   []func(*model)

	mu    sync.Mutex // of the fields below; viewers render under it
	model *model
	next  chan struct{} // closed at the next frame
	ended bool
}

var _ history.Recorder = (*Board)(nil)

// New makes a board, which shows nothing before [Board.Show].
func New(info Info) *Board {
	return &Board{info: info, token: httpapi.NewToken(), model: newModel(info), next: make(chan struct{})}
}

// Record passes on an event of the current run's history.
func (b *Board) Record(e history.Event) { b.post(func(m *model) { m.add(&e) }) }

// Begin says that a run begins: its nodes are about to be started.
func (b *Board) Begin(r Run) { b.post(func(m *model) { m.begin(r) }) }

// End says that the current run has ended, with its row. The file has that row, too.
func (b *Board) End(file result.File, row result.Row) {
	b.post(func(m *model) { m.end(file, row) })
}

// Note passes on a line for the user.
func (b *Board) Note(line string) { b.post(func(m *model) { m.note(line) }) }

// Finish says that the comparison has ended, and where its report is.
func (b *Board) Finish(report string) {
	b.post(func(m *model) { m.over, m.report, m.run = true, report, nil })
}

func (b *Board) post(do func(*model)) {
	if b != nil {
		b.inboxMu.Lock()
		defer b.inboxMu.Unlock()
		b.inbox = append(b.inbox, do)
	}
}

// frameTime is the time between two frames.
const frameTime = 250 * time.Millisecond

// Show makes a frame every frameTime, until ctx ends. The last frame ends the viewers' streams.
func (b *Board) Show(ctx context.Context) {
	for ctx.Err() == nil {
		b.frame(false)
		_ = clock.Sleep(ctx, frameTime) // the loop looks at ctx
	}
	b.frame(true)
}

func (b *Board) frame(last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fold()
	now := clock.Mono()
	b.model.judge(now)
	if !last {
		b.model.steer(now)
	}
	b.ended = last
	close(b.next)
	b.next = make(chan struct{})
}

// fold empties the inbox into the model.
func (b *Board) fold() {
	b.inboxMu.Lock()
	all := b.inbox
	b.inbox = nil
	b.inboxMu.Unlock()
	for _, do := range all {
		do(b.model)
	}
}
