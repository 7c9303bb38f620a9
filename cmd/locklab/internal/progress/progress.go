// Package progress shows how far a comparison is: two bars on a terminal (the
// whole and the current run, with what happens right now), plain lines elsewhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"locklab/internal/sentence"
	"locklab/locks/clock"
	"locklab/reports"
)

// Display shows progress. Its methods may be called from any goroutine.
type Display interface {
	// Begin announces the next run, which takes about the given time.
	Begin(name string, about time.Duration)
	// Advance says how much of the current run's load is over, and what happens now.
	Advance(elapsed time.Duration, now string)
	// End closes the current run with one line on how it went.
	End(line string)
	// Note prints a line that stays.
	Note(line string)
	// Close takes the bars away. Nothing is drawn after it.
	Close()
}

// New picks the display for the writer: bars if it is a terminal.
func New(w io.Writer, runs int) Display {
	if width, terminal := Width(w); terminal {
		return newBars(w, runs, width)
	}
	return &lines{w: w, runs: runs}
}

// Width is how many columns a terminal has; false if w is none.
func Width(w io.Writer) (width int, terminal bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w, true
	}
	return Columns, true
}

// Tell prints a line that is broken as a terminal would, but between words. On a terminal it
// stands where what was typed was echoed, such as ^C.
func Tell(w io.Writer, line string) {
	width, terminal := Width(w)
	if terminal {
		fmt.Fprint(w, overEcho)
	} else {
		width = Columns
	}
	fmt.Fprintln(w, reports.Wrap(line, width, 4))
}

// overEcho goes back to the begin of a line that has what was typed, and takes that away, and
// what is below.
const overEcho = "\r\x1b[J"

// lines writes one line when a run begins, one when it ends, one for each of its stages, and
// one with what its clients have done every seenEvery.
type lines struct {
	mu    sync.Mutex
	w     io.Writer
	runs  int
	count int
	name  string
	now   string
	began int64 // of the current run
	told  int64 // when there was a line of it last
}

// seenEvery is how often a log without a terminal is told how far a run is.
const seenEvery = 30 * time.Second

// Columns are what every terminal has.
const Columns = 80

func (l *lines) Begin(name string, about time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	l.name, l.now = name, ""
	l.began = clock.Mono()
	l.told = l.began
	fmt.Fprintf(l.w, "[%d/%d] %s: about %v\n", l.count, l.runs, name, sentence.Lasting(about.Round(time.Second)))
}

func (l *lines) Advance(_ time.Duration, now string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stage, _, _ := strings.Cut(now, "  ") // what clients have done stands behind it
	at := clock.Mono()
	if late := time.Duration(at-l.told) >= seenEvery; now == "" || stage == l.now && !late {
		return
	} else if !late {
		now = stage
	}
	l.now, l.told = stage, at
	l.write(fmt.Sprintf("[%d/%d] %s: %.1f s %s", l.count, l.runs, l.name, time.Duration(at-l.began).Seconds(), now))
}

func (l *lines) End(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(fmt.Sprintf("[%d/%d] %s: %s", l.count, l.runs, l.name, line))
}

func (l *lines) Note(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(line)
}

func (l *lines) write(line string) { Tell(l.w, line) }

func (l *lines) Close() {}

// bars draws the total and the current run.
type bars struct {
	out     *mpb.Progress
	total   *mpb.Bar
	current *mpb.Bar
	mu      sync.Mutex
	name    string
	now     atomic.Pointer[string]
	runs    int
	count   atomic.Int64
	about   time.Duration
	width   int // of the terminal
}

// permille is the resolution of a bar.
const permille = 1000

func newBars(w io.Writer, runs, width int) *bars {
	b := &bars{out: mpb.New(mpb.WithOutput(w), mpb.WithWidth(28), mpb.WithAutoRefresh()), runs: runs, width: width}
	b.now.Store(new(string))
	b.total = b.out.AddBar(int64(runs)*permille,
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			return fmt.Sprintf("\rtotal   %2d/%d runs", b.count.Load(), runs) // \r: what was typed moved the cursor
		}, decor.WC{W: 18, C: decor.DindentRight})),
		mpb.AppendDecorators(
			decor.Elapsed(decor.ET_STYLE_MMSS, decor.WC{W: 6}),
			decor.Name(" left "), decor.AverageETA(decor.ET_STYLE_MMSS)),
	)
	b.current = b.out.AddBar(permille,
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return "current" }, decor.WC{W: 18, C: decor.DindentRight})),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + *b.now.Load() })),
	)
	return b
}

func (b *bars) Begin(name string, about time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.name, b.about = name, about
	b.count.Add(1)
	b.say(name)
	b.current.SetCurrent(0)
}

func (b *bars) say(text string) { b.now.Store(&text) }

func (b *bars) Advance(elapsed time.Duration, now string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now == "" {
		now = "running"
	}
	b.say(b.name + ": " + now)
	part := int64(permille - 1) // a run that takes longer than thought waits at the end
	if b.about > 0 && elapsed < b.about {
		part = min(part, int64(elapsed)*permille/int64(b.about))
	}
	b.current.SetCurrent(part)
	b.total.SetCurrent((b.count.Load()-1)*permille + part)
}

func (b *bars) End(line string) {
	b.mu.Lock()
	name := b.name
	b.total.SetCurrent(min(b.count.Load()*permille, int64(b.runs)*permille-1))
	b.mu.Unlock()
	b.Note(name + ": " + line)
}

func (b *bars) Note(line string) {
	_, _ = fmt.Fprintln(b.out, overEcho+reports.Wrap(line, b.width, 4))
}

func (b *bars) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current.Abort(true)
	b.total.Abort(true)
	b.out.Wait()
}
