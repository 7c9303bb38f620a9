package check

import (
	"cmp"
	"math"
	"slices"

	"locklab/internal/sentence"
	"locklab/workloads/history"
)

// nodeEvent is a change in the life of a process.
type nodeEvent struct {
	asked, at int64 // asked: when a signal was sent for it, 0 if none was
	state     string
	why       string // of its end
	log       []string
}

// pointEvent is that a process stopped itself at a point of its work.
type pointEvent struct {
	node  int32
	point string
	at    int64
}

// life is what became of the processes of one node.
type life struct {
	events  []nodeEvent // sorted
	away    []span      // when it did not run: dead, or stopped for a while
	deaths  []death
	started int64 // the last time
	starts  int
	left    bool // it goes on after the run
}

// death is the end of a process: it was seen at one moment and may have happened at any
// time since the signal for it was sent.
type death struct {
	from, seen int64
	state      string
}

// never is the end of a process that did not end.
func never() death { return death{from: math.MaxInt64, seen: math.MaxInt64} }

// inOrder says that the process was asked to end, and had time to record all it did.
func (d death) inOrder() bool { return d.state == history.NodeStopped && d.seen-d.from <= orderly }

// next is the first end of the node's process after a moment.
func (l life) next(after int64) death {
	i, _ := slices.BinarySearchFunc(l.deaths, after, func(d death, at int64) int { return cmp.Compare(d.seen, at) })
	if i == len(l.deaths) {
		return never()
	}
	return l.deaths[i]
}

// hitTime is from when a node stood still, after it was asked to, until it may have gone
// on; for ever if it was killed.
func (l life) hitTime(asked, end int64) span {
	hit := span{math.MinInt64, math.MaxInt64} // nothing is old enough to be hit then
	for _, e := range l.events {
		switch {
		case e.at < asked:
		case e.state == history.NodeKilled:
			return span{e.at, math.MaxInt64}
		case e.state == history.NodePaused && hit.from == math.MinInt64:
			hit = span{e.at, end} // where it stood still to the end
		case e.state == history.NodeResumed && hit.from != math.MinInt64:
			return span{hit.from, cmp.Or(e.asked, e.at)}
		}
	}
	return hit
}

// aliveUntil is until when a process that lived at a moment surely did.
func (l life) aliveUntil(from int64) int64 { return max(from, l.next(from).from) }

// settleLives makes lives of the events of nodes.
func (c *Checker) settleLives() {
	c.lives = make(map[int32]life, len(c.nodes))
	for node, events := range c.nodes {
		c.lives[node] = c.lifeOf(node, events)
	}
}

func (c *Checker) lifeOf(node int32, events []nodeEvent) life {
	slices.SortStableFunc(events, func(a, b nodeEvent) int { return cmp.Compare(a.at, b.at) })
	l := life{events: events}
	var since int64 // of being away
	running, away, dead := false, false, false
	leave := func(at int64) {
		if !away {
			since, away = at, true
		}
	}
	back := func(at int64) {
		if away {
			l.away = append(l.away, span{since, at})
			away = false
		}
	}
	for _, e := range events {
		switch {
		case history.NodeEnds(e.state):
			if dead && e.state != history.NodeLost && l.deaths[len(l.deaths)-1].state != history.NodeLost {
				c.flaws.add(twice, 1, sentence.Of("the end of node %s", c.name(node)))
			}
			if !dead {
				l.deaths = append(l.deaths, death{min(cmp.Or(e.asked, e.at), e.at), e.at, e.state})
			}
			leave(e.at)
			running, dead = false, true
		case e.state == history.NodeLeft:
			l.left = running
		case e.state == history.NodeStarted || e.state == history.NodeShared:
			if running {
				c.flaws.add(missing, 1, sentence.Of("the end of node %s before it was started again", c.name(node)))
			}
			l.started, l.starts, running, dead = e.at, l.starts+1, true, false
			back(e.at)
		case e.state == history.NodeReady:
			dead = false
			back(e.at)
		case e.state == history.NodePaused || e.state == history.NodeSuspended:
			leave(e.at)
		case e.state == history.NodeResumed || e.state == history.NodeContinued:
			if !dead {
				back(e.at)
			}
		}
	}
	if away {
		l.away = append(l.away, span{since, math.MaxInt64})
	}
	return l
}
