package explore

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// String draws the trace as a message-sequence diagram: time goes down, each peer has a column, and
// every line is one step with the state of each peer after it. A message is drawn when it arrives; @N
// says that it was sent in step N.
func (t *Trace) String() string {
	d := newDiagram(t)
	states := make([]string, len(d.states))
	line := slices.Repeat([]rune{' '}, d.at(len(d.states)-1)+d.last)
	put(line, 0, "step")
	for i := range states {
		states[i] = fmt.Sprintf("peer %d", i)
		d.states[i] = max(d.states[i], len(states[i]))
		put(line, d.at(i), fmt.Sprint(i))
	}
	var b strings.Builder
	d.finish(&b, line, states)
	for number, s := range t.fromBeginning() {
		d.finish(&b, d.drawn(number, s), s.Peers)
	}
	return b.String()
}

// fromBeginning is the steps, from 1, behind one in which nothing happens.
func (t *Trace) fromBeginning() []Step {
	return append([]Step{{From: -1, Peer: -1, Peers: t.Peers}}, t.Steps...)
}

// spans says that the step is drawn between two lifelines.
func (s *Step) spans() bool { return s.SentAt > 0 || s.Kind == Cut || s.Kind == Mend }

func (s *Step) label() string {
	if s.SentAt > 0 {
		return fmt.Sprintf("%s @%d", s.Text, s.SentAt)
	}
	return s.Text
}

// diagram is the widths of a diagram.
type diagram struct {
	column int   // from one lifeline to the next
	last   int   // what the last lifeline needs to its right
	states []int // of each peer
}

func newDiagram(t *Trace) *diagram {
	d := &diagram{column: 12, last: 1, states: make([]int, len(t.Peers))}
	for _, s := range t.fromBeginning() {
		label := utf8.RuneCountInString(s.label())
		switch {
		case s.spans():
			d.column = max(d.column, (label+7)/max(s.Peer-s.From, s.From-s.Peer))
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

func (d *diagram) at(peer int) int {
	const margin = 7 // before the first lifeline
	return margin + peer*d.column
}

// drawn is one step.
func (d *diagram) drawn(number int, s Step) []rune {
	line := slices.Repeat([]rune{' '}, d.at(len(d.states)-1)+d.last)
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
func (d *diagram) span(line []rune, s Step) {
	left, right := d.at(min(s.From, s.Peer)), d.at(max(s.From, s.Peer))
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
	case s.Peer > s.From:
		line[left], line[right-1] = '├', '►'
	default:
		line[right], line[left+1] = '┤', '◄'
	}
	label := " " + s.label() + " "
	put(line, left+(right-left-utf8.RuneCountInString(label)+1)/2, label)
}

// finish writes a line, and the states beside it.
func (d *diagram) finish(b *strings.Builder, line []rune, states []string) {
	var text strings.Builder
	text.WriteString(string(line))
	for i, s := range states {
		fmt.Fprintf(&text, "  %-*s", d.states[i], s)
	}
	b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
}

func put(line []rune, at int, text string) {
	for _, r := range text {
		if at < len(line) {
			line[at] = r
		}
		at++
	}
}
