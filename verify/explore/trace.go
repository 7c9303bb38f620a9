package explore

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// step is one move on the way to a violation, as it is drawn.
type step struct {
	kind       MoveKind
	peer, from int
	text       string   // the message with the step in which it was sent, or what happened
	peers      []string // in what state each is then
}

// trace draws the way to the violation as a message-sequence diagram: time goes down, each peer has a
// column, and every line is one step with the state of each peer after it. A message is drawn when it
// arrives; @N says that it was sent in step N. Rounds and timestamps are those that the peers would really use.
func (s *search[S, M, P]) trace() []string {
	var way []Move
	for at := s.at; at != 0; at = s.seen[at].from {
		way = append(way, s.seen[at].move)
	}
	w := NewWalk[S, M, P](s.all.Alg, s.scope, nil).w
	steps := []step{{peers: w.describe()}}
	for _, m := range slices.Backward(way) {
		w.step++
		text := w.textOf(m)
		if m.Kind == Deliver {
			if it := w.wire(int(m.From), int(m.Peer)).items[m.Index]; !it.news() {
				text += fmt.Sprintf(" @%d", it.sent)
			}
		}
		w.apply(m)
		steps = append(steps, step{m.Kind, int(m.Peer), int(m.From), text, w.describe()})
	}
	return draw(steps, w.n)
}

// describe is the states of all peers in words.
func (w *world[S, M, P]) describe() (words []string) {
	for i := range w.peers {
		words = append(words, P(&w.peers[i].State).String())
	}
	return words
}

// spans says that the step is drawn between two lifelines.
func (s *step) spans() bool {
	return s.kind == Cut || s.kind == Mend || s.kind == Deliver && strings.Contains(s.text, " @")
}

func draw(steps []step, peers int) (out []string) {
	const margin = 7                            // before the first lifeline
	column, last, state := 12, 1, len("peer 0") // from one lifeline to the next, behind the last, of a state
	for _, s := range steps {
		width := utf8.RuneCountInString(s.text)
		switch {
		case s.spans():
			column = max(column, (width+7)/max(s.peer-s.from, s.from-s.peer))
		case s.peer == peers-1:
			last = max(last, width+3)
		default:
			column = max(column, width+4)
		}
		for _, p := range s.peers {
			state = max(state, utf8.RuneCountInString(p))
		}
	}
	write := func(number string, line []rune, states []string) {
		words := []string{fmt.Sprintf("%4s%*s%s", number, margin-4, "", string(line))}
		for _, s := range states {
			words = append(words, fmt.Sprintf("%-*s", state, s))
		}
		out = append(out, strings.TrimRight(strings.Join(words, "  "), " "))
	}
	blank := slices.Repeat([]rune{' '}, (peers-1)*column+last)
	line := slices.Clone(blank)
	var states []string
	for i := range peers {
		put(line, i*column, fmt.Sprint(i))
		states = append(states, fmt.Sprintf("peer %d", i))
	}
	write("step", line, states)
	for number, s := range steps {
		line := slices.Clone(blank)
		for i := range peers {
			line[i*column] = '│'
		}
		s.draw(line, column)
		write(fmt.Sprint(number), line, s.peers)
	}
	return out
}

// draw draws the step over the lifelines: at one, or as an arrow, or as a link that breaks or is made.
func (s *step) draw(line []rune, column int) {
	switch {
	case s.kind == 0: // the beginning
		return
	case s.kind == Crash:
		put(line, s.peer*column, "✖ "+s.text)
		return
	case !s.spans():
		put(line, s.peer*column, "● "+s.text)
		return
	}
	left, right := min(s.from, s.peer)*column, max(s.from, s.peer)*column
	dash := '╌'
	if s.kind == Deliver {
		dash = '─'
	}
	for x := left + 1; x < right; x++ {
		if line[x] == '│' {
			line[x] = '┼'
		} else {
			line[x] = dash
		}
	}
	switch {
	case s.kind == Cut:
		line[left], line[right] = '╳', '╳'
	case s.kind == Mend:
		line[left], line[right] = '●', '●'
	case s.peer > s.from:
		line[left], line[right-1] = '├', '►'
	default:
		line[right], line[left+1] = '┤', '◄'
	}
	label := " " + s.text + " "
	put(line, left+(right-left-utf8.RuneCountInString(label)+1)/2, label)
}

func put(line []rune, at int, text string) { copy(line[at:], []rune(text)) }
