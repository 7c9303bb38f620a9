package explore

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// WriteText draws the trace as a message-sequence diagram: time goes down, each peer
// has a column, and every line is one step with the state of each peer after it. A
// message is drawn when it arrives; @N says that it was sent in step N.
func (t *Trace) WriteText(w io.Writer) error { return t.WriteTextWithin(w, 0) }

// WriteTextWithin is WriteText in at most width columns, if there are any: where the states
// have no room beside the diagram they stand in it, whenever they change; and where it has no
// room itself the steps are told line by line.
func (t *Trace) WriteTextWithin(w io.Writer, width int) error {
	d := newTextDiagram(t)
	text := d.beside(t)
	for _, narrower := range []func(*Trace) string{d.inside, listed} {
		if width > 0 && widest(text) > width {
			text = narrower(t)
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// beside draws the states beside the diagram.
func (d *textDiagram) beside(t *Trace) string {
	var b strings.Builder
	b.WriteString(d.header())
	for number, s := range t.fromBeginning() {
		b.WriteString(d.finish(d.drawn(number, s), s.Peers))
	}
	return b.String()
}

// fromBeginning is the steps, from 1, behind one in which nothing happens.
func (t *Trace) fromBeginning() []Step {
	nobody := make([]bool, len(t.Peers))
	return append([]Step{{From: -1, Peer: -1, Peers: t.Peers, Waits: nobody, Holds: nobody}}, t.Steps...)
}

func widest(text string) (columns int) {
	for line := range strings.Lines(text) {
		columns = max(columns, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return columns
}

const (
	textMargin = 7 // before the first lifeline
	textGap    = 2
)

// textDiagram is the widths of a diagram.
type textDiagram struct {
	column int   // from one lifeline to the next
	last   int   // what the last lifeline needs to its right
	states []int // of each peer
}

func newTextDiagram(t *Trace) *textDiagram {
	d := &textDiagram{column: 12, last: 1}
	d.states = make([]int, len(t.Peers))
	for _, s := range t.fromBeginning() {
		label := utf8.RuneCountInString(s.label())
		switch {
		case s.spans():
			d.column = max(d.column, (label+7)/max(abs(s.Peer-s.From), 1))
		case s.Peer == len(t.Peers)-1:
			d.last = max(d.last, label+3)
		default:
			d.column = max(d.column, label+4)
		}
		for i, p := range s.Peers {
			d.states[i] = max(d.states[i], utf8.RuneCountInString(p))
		}
	}
	return d
}

// spans says that the step is drawn between two lifelines.
func (s *Step) spans() bool { return s.From >= 0 && (s.SentAt > 0 || s.Kind == Cut || s.Kind == Mend) }

func (s *Step) label() string {
	if s.SentAt > 0 {
		return fmt.Sprintf("%s @%d", s.Text, s.SentAt)
	}
	return s.Text
}

func (d *textDiagram) at(peer int) int { return textMargin + peer*d.column }

func (d *textDiagram) width() int { return d.at(len(d.states)-1) + d.last }

func (d *textDiagram) header() string {
	line := blank(d.width())
	put(line, 0, "step")
	for i := range d.states {
		put(line, d.at(i), fmt.Sprint(i))
	}
	states := make([]string, len(d.states))
	for i := range states {
		states[i] = fmt.Sprintf("peer %d", i)
		d.states[i] = max(d.states[i], len(states[i]))
	}
	return d.finish(line, states)
}

// drawn is one step.
func (d *textDiagram) drawn(number int, s Step) []rune {
	line := blank(d.width())
	put(line, 0, fmt.Sprintf("%4d", number))
	for i := range d.states {
		line[d.at(i)] = '│'
	}
	switch {
	case s.Peer < 0: // the beginning
	case s.spans():
		d.span(line, s)
	case s.Kind == Crash:
		put(line, d.at(s.Peer), "✖ "+s.Text)
	default:
		put(line, d.at(s.Peer), "● "+s.Text)
	}
	return line
}

// span draws an arrow, or a link that breaks or is made.
func (d *textDiagram) span(line []rune, s Step) {
	from, to := d.at(s.From), d.at(s.Peer)
	left, right := min(from, to), max(from, to)
	dash := '─'
	if s.SentAt == 0 {
		dash = '╌'
	}
	for x := left + 1; x < right; x++ {
		if line[x] == '│' {
			line[x] = '┼'
		} else {
			line[x] = dash
		}
	}
	switch {
	case s.Kind == Cut:
		line[left], line[right] = '╳', '╳'
	case s.SentAt == 0:
		line[left], line[right] = '●', '●'
	case to > from:
		line[left], line[right-1] = '├', '►'
	default:
		line[right], line[left+1] = '┤', '◄'
	}
	label := " " + s.label() + " "
	// Next to the sender, where no other lifeline is crossed if there is room.
	at := left + (right-left-utf8.RuneCountInString(label)+1)/2
	put(line, at, label)
}

func (d *textDiagram) finish(line []rune, states []string) string {
	var b strings.Builder
	b.WriteString(string(line))
	for i, s := range states {
		b.WriteString(strings.Repeat(" ", textGap))
		b.WriteString(s)
		b.WriteString(strings.Repeat(" ", d.states[i]-utf8.RuneCountInString(s)))
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

func blank(width int) []rune { return slices.Repeat([]rune{' '}, width) }

func put(line []rune, at int, text string) {
	for _, r := range text {
		if at >= 0 && at < len(line) {
			line[at] = r
		}
		at++
	}
}

func abs(n int) int { return max(n, -n) }

// inside draws the states into the diagram: below a step, at the lifeline of each peer that it
// changed.
func (d *textDiagram) inside(t *Trace) string {
	last := len(d.states) - 1
	for i, width := range d.states {
		if i == last {
			d.last = max(d.last, width+3)
		} else {
			d.column = max(d.column, width+4)
		}
	}
	var b strings.Builder
	write := func(line []rune) { b.WriteString(strings.TrimRight(string(line), " ") + "\n") }
	head := blank(d.width())
	put(head, 0, "step")
	for i := range d.states {
		put(head, d.at(i), fmt.Sprintf("peer %d", i))
	}
	write(head)
	before := make([]string, len(d.states))
	for number, s := range t.fromBeginning() {
		write(d.drawn(number, s))
		states, changed := d.drawn(number, Step{Peer: -1}), false
		put(states, 0, strings.Repeat(" ", textMargin))
		for i, state := range s.Peers {
			if state != before[i] {
				changed = true
				put(states, d.at(i)+2, state)
			}
		}
		if before = s.Peers; changed {
			write(states)
		}
	}
	return b.String()
}

// listed tells the steps line by line, and of each the peers that it changed.
func listed(t *Trace) string {
	var b strings.Builder
	before := make([]string, len(t.Peers))
	for number, s := range t.fromBeginning() {
		what := "the beginning"
		switch {
		case s.Peer < 0:
		case s.SentAt > 0:
			what = fmt.Sprintf("peer %d gets %s of peer %d, sent in step %d", s.Peer, s.Text, s.From, s.SentAt)
		case s.spans():
			what = fmt.Sprintf("peer %d, peer %d: %s", s.From, s.Peer, s.Text)
		default:
			what = fmt.Sprintf("peer %d %s", s.Peer, s.Text)
		}
		fmt.Fprintf(&b, "%4d  %s\n", number, what)
		for i, state := range s.Peers {
			if state != before[i] {
				fmt.Fprintf(&b, "      peer %d: %s\n", i, state)
			}
		}
		before = s.Peers
	}
	return b.String()
}
