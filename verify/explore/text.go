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
	const margin = 7                            // before the first lifeline
	column, last, state := 12, 1, len("peer 0") // from one lifeline to the next, behind the last, of a state
	steps := append([]Step{{Peers: t.Peers}}, t.Steps...)
	for _, s := range steps {
		label := utf8.RuneCountInString(s.label())
		switch {
		case s.spans():
			column = max(column, (label+7)/max(s.Peer-s.From, s.From-s.Peer))
		case s.Peer == len(t.Peers)-1:
			last = max(last, label+3)
		default:
			column = max(column, label+4)
		}
		for _, p := range s.Peers {
			state = max(state, utf8.RuneCountInString(p))
		}
	}
	var b strings.Builder
	write := func(number string, lines []rune, states []string) {
		words := []string{fmt.Sprintf("%4s%*s%s", number, margin-4, "", string(lines))}
		for _, s := range states {
			words = append(words, fmt.Sprintf("%-*s", state, s))
		}
		b.WriteString(strings.TrimRight(strings.Join(words, "  "), " ") + "\n")
	}
	blank := slices.Repeat([]rune{' '}, (len(t.Peers)-1)*column+last)
	lines := slices.Clone(blank)
	var states []string
	for i := range t.Peers {
		put(lines, i*column, fmt.Sprint(i))
		states = append(states, fmt.Sprintf("peer %d", i))
	}
	write("step", lines, states)
	for number, s := range steps {
		lines := slices.Clone(blank)
		for i := range t.Peers {
			lines[i*column] = '│'
		}
		s.draw(lines, column)
		write(fmt.Sprint(number), lines, s.Peers)
	}
	return b.String()
}

// spans says that the step is drawn between two lifelines.
func (s *Step) spans() bool { return s.SentAt > 0 || s.Kind == Cut || s.Kind == Mend }

func (s *Step) label() string {
	if s.SentAt > 0 {
		return fmt.Sprintf("%s @%d", s.Text, s.SentAt)
	}
	return s.Text
}

// draw draws the step over the lifelines: at one, or as an arrow, or as a link that breaks or is made.
func (s *Step) draw(lines []rune, column int) {
	switch {
	case s.Kind == 0: // the beginning
		return
	case s.Kind == Crash:
		put(lines, s.Peer*column, "✖ "+s.Text)
		return
	case !s.spans():
		put(lines, s.Peer*column, "● "+s.Text)
		return
	}
	left, right := min(s.From, s.Peer)*column, max(s.From, s.Peer)*column
	dash := '─'
	if s.SentAt == 0 {
		dash = '╌'
	}
	for x := left + 1; x < right; x++ {
		if lines[x] == '│' {
			lines[x] = '┼'
		} else {
			lines[x] = dash
		}
	}
	switch {
	case s.Kind == Cut:
		lines[left], lines[right] = '╳', '╳'
	case s.Kind == Mend:
		lines[left], lines[right] = '●', '●'
	case s.Peer > s.From:
		lines[left], lines[right-1] = '├', '►'
	default:
		lines[right], lines[left+1] = '┤', '◄'
	}
	label := " " + s.label() + " "
	put(lines, left+(right-left-utf8.RuneCountInString(label)+1)/2, label)
}

func put(lines []rune, at int, text string) {
	copy(lines[at:], []rune(text))
}
