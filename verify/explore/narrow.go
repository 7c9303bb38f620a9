package explore

import (
	"fmt"
	"strings"
)

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
