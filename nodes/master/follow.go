package master

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"locklab/internal/strictjson"
	"locklab/locks/clock"
	"locklab/nodes/worker"
)

const (
	// lineBytesMax bounds a line of a feed, which is longest as a snapshot.
	lineBytesMax = 64 << 20
	// Pauses before a feed is dialled anew, doubling from the first to the second.
	redialMin = 20 * time.Millisecond
	redialMax = 200 * time.Millisecond
)

var (
	errFeedGap   = errors.New("lines of the feed are missing")
	errFeedEnded = errors.New("the feed has ended")
)

// follow keeps the directory up to date from one worker's feed until ctx ends. It
// calls first when the first snapshot is in.
func (m *Master) follow(ctx context.Context, r *remote, first func()) {
	pause := clock.System().NewTimer(0)
	defer pause.Stop()
	wait := redialMin
	for {
		select {
		case <-pause.C():
		case <-ctx.Done():
			return
		}
		err := m.followOnce(ctx, r, func() {
			wait = redialMin
			first()
		})
		m.directory.unfollowed(r)
		if ctx.Err() != nil {
			return
		}
		m.log.Debug("feed interrupted", slog.String("worker", r.name), slog.Any("error", err))
		pause.Reset(wait)
		wait = min(2*wait, redialMax)
	}
}

// followOnce reads one connection until it ends, lines are missing or nothing comes.
func (m *Master) followOnce(ctx context.Context, r *remote, first func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watchdog := clock.System().AfterFunc(m.settings.FeedReset, cancel)
	defer watchdog.Stop()
	answer, err := r.http.Open(ctx, "/v1/feed")
	if err != nil {
		return fmt.Errorf("follow %s: %w", r.name, err)
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 0, 16<<10), lineBytesMax)
	for begun := false; lines.Scan(); {
		var line worker.FeedLine
		if err := strictjson.DecodeOpen(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("follow %s: %w", r.name, err)
		}
		if line.Worker != r.name {
			return fmt.Errorf("follow %s: worker %q answered: its link leads elsewhere", r.name, line.Worker)
		}
		if begun == (line.Type == worker.LineSnapshot) || !m.directory.merge(r, line) {
			return fmt.Errorf("follow %s: %w", r.name, errFeedGap)
		}
		if !begun {
			begun = true
			first()
		}
		watchdog.Reset(m.settings.FeedReset)
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("follow %s: %w", r.name, err)
	}
	return fmt.Errorf("follow %s: %w", r.name, errFeedEnded)
}
