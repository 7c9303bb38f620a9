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

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/reports/why"
	"locklab/workloads/result"
)

// Display shows progress. Its methods may be called from any goroutine.
type Display struct {
	w             io.Writer
	note          func(line string)
	draw          Grid
	width, height int
	terminal      bool
	out           *mpb.Progress // nil without a bar
	total         *mpb.Bar

	mu          sync.Mutex
	runs, count int
	about       time.Duration
	name, now   string
	grid        string // with the end of its last line; "" where it does not fit
}

// Grid draws the rows so far in at most that many columns.
type Grid func(file result.File, width int) string

// New shows the progress of runs; 0 is an unknown number. A terminal has a bar and the grid. note gets every note.
func New(w io.Writer, runs int, grid Grid, note func(line string)) *Display {
	d := &Display{w: w, note: note, draw: grid, runs: runs}
	d.width, d.height, d.terminal = size(w)
	if d.terminal && runs > 0 {
		d.addBar()
	}
	return d
}

// Width is how many columns w has: 80 if it is no terminal.
func Width(w io.Writer) (width int, terminal bool) {
	width, _, terminal = size(w)
	return width, terminal
}

func size(w io.Writer) (width, height int, terminal bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return columns, 0, false
	}
	if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
		return width, height, true
	}
	return columns, 24, true
}

// columns is the usual width of a terminal.
const columns = 80

// overEcho erases from the beginning of the line: a line replaces the echo of typed keys, such as ^C.
const overEcho = "\r\x1b[J"

// Wrap breaks text between words into lines of at most width columns, later ones with an indent. No word is cut.
func Wrap(text string, width, indent int) string {
	return strings.Join(table.Wrap(strings.Join(strings.Fields(text), " "), width, indent), "\n")
}

// line tells of a row: the worst of it, the statements about it, and the share served.
func line(row result.Row) string {
	text := table.Plain(row.Lock) + " " + table.Plain(row.Scenario) + "  "
	switch v := row.Verdict; {
	case !row.Decided():
		return text + "? " + why.Statement(lang.English(), v.Sound)
	case v.Safety.State == result.Failed:
		text += "✗ "
	case v.Liveness.State == result.Failed:
		text += "■ "
	default:
		text += "✓ "
	}
	text += why.Verdict(lang.English(), &row)
	if share, known := row.Of("served"); known {
		text += "  served " + table.Share(share)
	}
	return text
}

// permille is the resolution of a bar.
const permille = 1000

func (d *Display) addBar() {
	d.out = mpb.New(mpb.WithOutput(d.w), mpb.WithWidth(16), mpb.WithAutoRefresh())
	locked := func(text func() string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string {
			d.mu.Lock()
			defer d.mu.Unlock()
			return text()
		})
	}
	count := func() string { return fmt.Sprintf("\r%d/%d ", d.count, d.runs) } // \r: typing moved the cursor
	step := func() string { return "  " + table.Clip(d.name+": "+d.now, max(d.width-40, 10)) }
	below := func(w io.Writer, _ decor.Statistics) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		_, err := io.WriteString(w, d.grid)
		return err
	}
	d.total = d.out.AddBar(int64(d.runs)*permille, mpb.PrependDecorators(locked(count)),
		mpb.AppendDecorators(decor.Name(" left "), decor.AverageETA(decor.ET_STYLE_MMSS), locked(step)),
		mpb.BarExtender(mpb.BarFillerFunc(below), false))
}

// Begin announces the next run, which takes about the given time.
func (d *Display) Begin(name string, about time.Duration) {
	d.mu.Lock()
	d.name, d.now, d.about = name, "starting", about
	d.count++
	text := fmt.Sprintf("[%d] %s", d.count, name)
	d.mu.Unlock()
	if d.runs == 0 {
		d.print(text)
	}
}

// Advance shows how far the current run's load is, and the present step.
func (d *Display) Advance(elapsed time.Duration, now string) {
	if d.total == nil {
		return
	}
	d.mu.Lock()
	d.now = now
	part := int64(permille - 1) // a run that takes longer than thought waits at the end
	if d.about > 0 && elapsed < d.about {
		part = min(part, int64(elapsed)*permille/int64(d.about))
	}
	at := int64(d.count-1)*permille + part
	d.mu.Unlock()
	d.total.SetCurrent(at)
}

// End closes the current run with its row, which is in the file, too.
func (d *Display) End(file result.File, row result.Row) {
	grid := ""
	if d.total != nil {
		grid = "\n" + d.draw(file, d.width)
	}
	if strings.Count(grid, "\n")+2 >= d.height { // more could not be drawn in place
		grid = ""
	}
	d.mu.Lock()
	d.grid = grid
	at, of := int64(d.count), fmt.Sprint(d.count)
	d.mu.Unlock()
	if d.runs > 0 {
		of += fmt.Sprintf("/%d", d.runs)
	}
	if d.total != nil {
		d.total.SetCurrent(min(at*permille, int64(d.runs)*permille-1))
	}
	if grid == "" {
		d.print("[" + of + "] " + line(row))
	}
}

// Note prints a line that stays.
func (d *Display) Note(line string) {
	d.note(line)
	d.print(Wrap(line, d.width, 4))
}

func (d *Display) print(text string) {
	if d.terminal {
		text = overEcho + text
	}
	if d.out != nil {
		_, _ = fmt.Fprintln(d.out, text)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintln(d.w, text)
}

// Close takes the bar away. Nothing is drawn after it.
func (d *Display) Close() {
	if d.total != nil {
		d.total.Abort(true)
		d.out.Wait()
	}
}
