package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/reports/lang"
)

// Zone is an availability zone as the map shows it.
type Zone struct {
	Name  string // as shown
	Nodes []Node
	Note  string // such as the round trip inside
}

// Node is one process on the map.
type Node struct {
	Name, Role string
	Class      string // away, starting, up, paused or dead
	State      string // the same in words
	Note       string // its activity, in a few words
	Rooms      []Room
}

// Room is a room of a worker.
type Room struct {
	Class   string // starting, open or full, and duplicate, and unreachable
	Crossed bool
	Title   string // in words
}

// Way is the state of the traffic from one zone to another.
type Way struct {
	From, To string // their names
	Cut      bool   // nothing passes
	Slow     bool   // it passes, but late, or some of it
	Note     string // in a few words, such as "0.5 ms"
}

// Map has the zones, their nodes, and the ways between them.
type Map struct {
	Zones   []Zone
	Between []Way // of zones, each direction once
}

// Sizes of the map, in units of the drawing.
const (
	mapWidth   = 980.0
	mapGap     = 8.0  // between cards
	mapPad     = 10.0 // of a zone
	mapHead    = 26.0 // the zone's name
	mapBridge  = 118.0
	roomSize   = 9.0
	roomStep   = 12.0
	roomRows   = 2
	cardsInRow = 3     // at most
	mapCard    = 100.0 // the least width of a card: names have room
)

// placed is a node with its card.
type placed struct {
	Node
	box
}

// Draw draws the map, with zones side by side.
func (m Map) Draw(say *lang.Lang) []byte {
	s := &svg{}
	n := float64(max(len(m.Zones), 1))
	panel, height := (mapWidth-mapBridge*(n-1))/n, 0.0
	var zones []box
	var cards []placed
	for i, z := range m.Zones {
		b, own := layOut(z, float64(i)*(panel+mapBridge), panel)
		zones, cards = append(zones, b), append(cards, own...)
		height = max(height, b.h)
	}
	for i := range zones {
		b := &zones[i]
		b.h = height
		s.rect(*b, 8, "zone")
		s.text(point{b.x + mapPad, 18}, m.Zones[i].Name, "", "", "title")
		s.text(point{b.x + b.w - mapPad, 18}, m.Zones[i].Note, "end", "", "small")
	}
	for _, w := range m.Between {
		s.bridge(m, zones, w)
	}
	for _, c := range cards {
		s.card(c)
	}
	return s.sized(mapWidth, height, "img", m.label(say))
}

// layOut places the cards of a zone, role by role.
func layOut(z Zone, x, width float64) (box, []placed) {
	var cards []placed
	inRow := max(min(int((width-2*mapPad+mapGap)/(mapCard+mapGap)), cardsInRow), 1)
	card := (width-2*mapPad+mapGap)/float64(inRow) - mapGap
	y, column, tall := mapHead+4, 0, 0.0
	for i, n := range z.Nodes {
		if i > 0 && (n.Role != z.Nodes[i-1].Role || column == inRow) {
			y, column, tall = y+tall+mapGap, 0, 0
		}
		h := 42.0
		if n.Role == "worker" { // its rooms stand below
			h = 72
		}
		tall = max(tall, h)
		cards = append(cards, placed{n, box{x + mapPad + float64(column)*(card+mapGap), y, card, h}})
		column++
	}
	return box{x, 0, width, y + tall + mapPad}, cards
}

// rect draws a rectangle with round corners.
func (s *svg) rect(b box, round float64, class string) {
	fmt.Fprintf(s, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="%s"/>`, class, short(b.x), short(b.y),
		short(b.w), short(b.h), short(round))
}

// card draws a node. A shape, a word and the frame show its state.
func (s *svg) card(c placed) {
	fmt.Fprintf(s, `<g class="card %s"><title>%s</title>`, c.Class, escape(c.Name+": "+c.State))
	s.rect(c.box, 5, "frame")
	shape := map[string]string{"away": "·", "starting": "◌", "up": "●", "paused": "‖", "dead": "✕"}[c.Class]
	s.text(point{c.x + 8, c.y + 17}, shape, "", "", "shape")
	s.text(point{c.x + 22, c.y + 17}, clip(c.Name, 16), "", "", "name k0")
	note := c.Note
	if c.Class != "up" {
		note = c.State
	}
	s.text(point{c.x + 8, c.y + 33}, note, "", "", "small")
	if c.Class == "up" || c.Class == "paused" {
		s.rooms(c)
	}
	s.WriteString("</g>")
}

// rooms draws the newest rooms of a worker.
func (s *svg) rooms(c placed) {
	perRow := max(int((c.w-13)/roomStep), 1)
	for i, r := range c.Rooms[max(0, len(c.Rooms)-roomRows*perRow):] {
		b := box{c.x + 8 + float64(i%perRow)*roomStep, c.y + 41 + float64(i/perRow)*roomStep, roomSize, roomSize}
		fmt.Fprintf(s, `<g class="room %s"><title>%s</title>`, r.Class, escape(r.Title))
		s.rect(b, 2, "cell")
		if r.Crossed {
			s.cross(pen{"cross", 1.5, ""}, point{b.x + 4.5, b.y + 4.5}, 2.5)
		}
		s.WriteString("</g>")
	}
}

// cross draws a cross around a point.
func (s *svg) cross(p pen, at point, r float64) {
	s.stroke(p, []point{{at.x - r, at.y - r}, {at.x + r, at.y + r}}, []point{{at.x + r, at.y - r}, {at.x - r, at.y + r}})
}

// bridge draws the way from one zone to another, beside the way back.
func (s *svg) bridge(m Map, zones []box, w Way) {
	number := func(name string) int { return slices.IndexFunc(m.Zones, func(z Zone) bool { return z.Name == name }) }
	i, j := number(w.From), number(w.To)
	lane := 0.0 // which of the ways of this bridge
	if i > j {
		lane = 1
	}
	low, high := zones[min(i, j)], zones[max(i, j)]
	away := float64(max(i, j) - min(i, j) - 1) // zones between them
	y := low.h/2 - 34 + 68*lane + 40*away
	from, to := point{low.x + low.w + 4, y}, point{high.x - 4, y}
	if i > j {
		from, to = to, from
	}
	s.way(w, from, to)
}

// way draws an arrow with its note: solid if all is well, long dashes if it is slow, short dashes and a cross if
// it is cut.
func (s *svg) way(w Way, from, to point) {
	class, dashes := "well", ""
	switch {
	case w.Cut:
		class, dashes = "cut", "3 4"
	case w.Slow:
		class, dashes = "slow", "10 4"
	}
	fmt.Fprintf(s, `<g class="way %s">`, class)
	s.stroke(pen{"line", 2, dashes}, []point{from, to})
	dx, dy := to.x-from.x, to.y-from.y
	length := max(math.Hypot(dx, dy), 1)
	ux, uy := dx/length, dy/length
	left, right := point{to.x - 7*ux - 4*uy, to.y - 7*uy + 4*ux}, point{to.x - 7*ux + 4*uy, to.y - 7*uy - 4*ux}
	s.stroke(pen{"line", 2, ""}, []point{left, to, right})
	middle := point{(from.x + to.x) / 2, (from.y + to.y) / 2}
	if w.Cut {
		s.cross(pen{"line", 3, ""}, middle, 6)
	}
	s.text(point{middle.x, middle.y - 10}, w.Note, "middle", "", "note")
	s.WriteString("</g>")
}

// label describes the map in words: nodes that are up, and ways that are cut.
func (m Map) label(say *lang.Lang) string {
	up, all := 0, 0
	for _, z := range m.Zones {
		all += len(z.Nodes)
		up += len(slices.DeleteFunc(slices.Clone(z.Nodes), func(n Node) bool { return n.Class != "up" }))
	}
	var cut []string
	for _, w := range m.Between {
		if w.Cut {
			cut = append(cut, w.From+" → "+w.To)
		}
	}
	return say.Sprintf("%d of %d nodes are up. Cut: %s.", up, all, cmp.Or(strings.Join(cut, ", "), "-"))
}
