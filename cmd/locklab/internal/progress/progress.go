// Package progress shows the state of a comparison: on a terminal one bar with the present step, and
// below it the grid of the rows so far; elsewhere one line a run, when it ends.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"locklab/reports/table"
	"locklab/workloads/result"
)

// Display shows progress. Its methods may be called from any goroutine.
type Display interface {
	// Begin announces the next run, which takes about the given time.
	Begin(name string, about time.Duration)
	// Advance says how much of the current run's load is over, and names the present step.
	Advance(elapsed time.Duration, now string)
	// End closes the current run with its row, which is in the file, too.
	End(file result.File, row result.Row)
	// Note prints a line that stays.
	Note(line string)
	// Close takes the bar away. Nothing is drawn after it.
	Close()
}

// Grid draws the rows so far in at most that many columns.
type Grid func(file result.File, width int) string

// New picks the display for the writer: the bar if it is a terminal. Nil draws no grid.
func New(w io.Writer, runs int, grid Grid) Display {
	if width, height, terminal := size(w); terminal {
		return newBar(w, runs, width, height, grid)
	}
	return &lines{w: w, runs: runs}
}

// Session tells in lines of runs whose number nobody knows before.
func Session(w io.Writer) Display { return &lines{w: w} }

// Width is how many columns a terminal has; false if w is none.
func Width(w io.Writer) (width int, terminal bool) {
	width, _, terminal = size(w)
	return width, terminal
}

func size(w io.Writer) (width, height int, terminal bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, 0, false
	}
	if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
		return width, height, true
	}
	return Columns, 24, true
}

// Columns is the width of a terminal that does not tell.
const Columns = 80

// overEcho goes back to the beginning of the line and erases from there to the end of the screen: on a
// terminal a line replaces the echo of typed keys, such as ^C.
const overEcho = "\r\x1b[J"

// Wrap breaks text between words into lines of at most width columns, those after the first
// with an indent. A word that is longer stays whole.
func Wrap(text string, width, indent int) string {
	return strings.Join(table.Wrap(strings.Join(strings.Fields(text), " "), width, indent), "\n")
}

// line tells of a row: the worst of it, the word of its liveness, and the share served.
func line(row result.Row) string {
	v := row.Verdict
	text := table.Plain(row.Lock) + " " + table.Plain(row.Scenario) + "  "
	switch {
	case !row.Decided():
		text += "? " + title(v.Sound)
	case v.Safety.State == result.Failed:
		text += fmt.Sprintf("✗ %s %s", table.Count(v.Safety.N), title(v.Safety))
	case v.Safety.State == result.Unknown:
		text += "? " + title(v.Safety)
	default:
		text += "✓"
	}
	if row.Decided() {
		text += "  " + v.Word
		if v.Liveness.N > 0 {
			text += " " + table.Duration(v.Liveness.N)
		}
		if share, known := row.Of("served"); known {
			text += "  served " + table.Share(share)
		}
	}
	if v.As != result.AsExpected && v.As != "" && !row.Played {
		text += "  ! " + string(v.As)
	}
	return text
}

// title is the code of a statement in words, and its subject.
func title(s result.Statement) string {
	if s.Code == "" {
		return string(s.State)
	}
	return strings.TrimSuffix(s.Code.Title()+": "+table.Plain(s.Of), ": ")
}

// lines writes one line for each run, and for each that begins where their number is not known.
type lines struct {
	mu          sync.Mutex
	w           io.Writer
	runs, count int
}

func (l *lines) Begin(name string, _ time.Duration) {
	l.mu.Lock()
	l.count++
	l.mu.Unlock()
	if l.runs == 0 {
		l.Note(fmt.Sprintf("[%d] %s", l.count, name))
	}
}

func (*lines) Advance(time.Duration, string) {}

func (l *lines) End(_ result.File, row result.Row) {
	of := ""
	if l.runs > 0 {
		of = fmt.Sprintf("/%d", l.runs)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, "[%d%s] %s\n", l.count, of, line(row))
}

func (l *lines) Note(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	width, terminal := Width(l.w)
	if terminal {
		fmt.Fprint(l.w, overEcho)
	} else {
		width = Columns
	}
	fmt.Fprintln(l.w, Wrap(line, width, 4))
}

func (*lines) Close() {}

// bar draws the bar, and the grid below it.
type bar struct {
	out           *mpb.Progress
	total         *mpb.Bar
	width, height int
	draw          Grid

	mu          sync.Mutex
	runs, count int
	about       time.Duration
	name, now   string
	grid        string // with the end of its last line; "" where it does not fit
}

// permille is the resolution of a bar.
const permille = 1000

func newBar(w io.Writer, runs, width, height int, draw Grid) *bar {
	b := &bar{runs: runs, width: width, height: height, draw: draw}
	b.out = mpb.New(mpb.WithOutput(w), mpb.WithWidth(16), mpb.WithAutoRefresh())
	locked := func(text func() string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string {
			b.mu.Lock()
			defer b.mu.Unlock()
			return text()
		})
	}
	count := func() string { return fmt.Sprintf("\r%d/%d ", b.count, b.runs) } // \r: typing moved the cursor
	step := func() string { return "  " + table.Clip(b.name+": "+b.now, max(b.width-40, 10)) }
	below := func(w io.Writer, _ decor.Statistics) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		_, err := io.WriteString(w, b.grid)
		return err
	}
	b.total = b.out.AddBar(int64(runs)*permille, mpb.PrependDecorators(locked(count)),
		mpb.AppendDecorators(decor.Name(" left "), decor.AverageETA(decor.ET_STYLE_MMSS), locked(step)),
		mpb.BarExtender(mpb.BarFillerFunc(below), false))
	return b
}

func (b *bar) Begin(name string, about time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.name, b.now, b.about = name, "starting", about
	b.count++
}

func (b *bar) Advance(elapsed time.Duration, now string) {
	b.mu.Lock()
	if now != "" {
		b.now = now
	}
	part := int64(permille - 1) // a run that takes longer than thought waits at the end
	if b.about > 0 && elapsed < b.about {
		part = min(part, int64(elapsed)*permille/int64(b.about))
	}
	at := int64(b.count-1)*permille + part
	b.mu.Unlock()
	b.total.SetCurrent(at)
}

func (b *bar) End(file result.File, row result.Row) {
	grid := ""
	if b.draw != nil {
		grid = "\n" + b.draw(file, b.width)
	}
	if strings.Count(grid, "\n")+2 >= b.height { // more could not be drawn in place
		grid = ""
	}
	b.mu.Lock()
	b.grid = grid
	count := b.count
	b.mu.Unlock()
	b.total.SetCurrent(min(int64(count)*permille, int64(b.runs)*permille-1))
	if grid == "" {
		b.Note(fmt.Sprintf("[%d/%d] %s", count, b.runs, line(row)))
	}
}

func (b *bar) Note(line string) {
	_, _ = fmt.Fprintln(b.out, overEcho+Wrap(line, b.width, 4))
}

func (b *bar) Close() {
	b.total.Abort(true)
	b.out.Wait()
}
