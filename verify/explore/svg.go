package explore

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// WriteSVG draws the trace as a message-sequence diagram: arrows go from the step in
// which a message was sent to the one in which it arrives. The colours follow the
// reader's preference for light or dark.
func (t *Trace) WriteSVG(w io.Writer, title, violation string) error {
	d := svgDiagram{steps: t.fromBeginning()}
	d.draw(title, violation)
	_, err := io.WriteString(w, d.b.String())
	return err
}

const (
	svgTop    = 92 // of the first row
	svgRow    = 30
	svgLeft   = 110 // of the first lifeline
	svgColumn = 250
	svgBottom = 60
	svgPill   = 50 // half the width of a state's name
	svgBelow  = 14
)

const svgStyle = `
  svg { --page: #ffffff; --ink: #1f2328; --soft: #6e7781; --line: #c4cbd3; --none: #eef1f4; --wait: #fff1cc; --waitline: #b98900; --hold: #d6f0dc; --holdline: #1a7f37; --bad: #c62828; --arrow: #2462b8;
    background: var(--page); font: 13px ui-sans-serif, system-ui, "Liberation Sans", sans-serif; }
  @media (prefers-color-scheme: dark) {
    svg { --page: #14171c; --ink: #e4e8ee; --soft: #98a2b0; --line: #454d58; --none: #252b33; --wait: #453a12; --waitline: #e0b93f; --hold: #14401f; --holdline: #57c272; --bad: #ff7b72; --arrow: #79aef0; }
  }
  .page { fill: var(--page); }
  text { fill: var(--ink); paint-order: stroke; stroke: var(--page); stroke-width: 4px; stroke-linejoin: round; }
  .title { font-size: 16px; font-weight: 600; }
  .soft { fill: var(--soft); font-size: 11px; }
  .bad { fill: var(--bad); font-weight: 600; }
  .peer { font-weight: 600; text-anchor: middle; }
  .life { stroke: var(--line); stroke-width: 2; }
  .life.waits { stroke: var(--waitline); stroke-width: 4; }
  .life.holds { stroke: var(--holdline); stroke-width: 8; }
  .pill { fill: var(--none); stroke: var(--line); }
  .pill.waits { fill: var(--wait); stroke: var(--waitline); }
  .pill.holds { fill: var(--hold); stroke: var(--holdline); }
  .state { text-anchor: middle; font-size: 11px; stroke: none; }
  .arrow { stroke: var(--arrow); stroke-width: 1.5; fill: none; }
  .head { fill: var(--arrow); }
  .lost, .link { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 5 4; fill: none; }
  .link.made { stroke: var(--holdline); }
  .dot { fill: var(--ink); }
  .end { text-anchor: end; }
  .middle { text-anchor: middle; }
`

type svgDiagram struct {
	b     strings.Builder
	steps []Step
}

func (d *svgDiagram) x(peer int) int { return svgLeft + peer*svgColumn }
func (d *svgDiagram) y(step int) int { return svgTop + step*svgRow }

func (d *svgDiagram) print(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

// text writes escaped text.
func (d *svgDiagram) text(x, y int, class, text string) {
	d.print(`<text x="%d" y="%d" class="%s">%s</text>`, x, y, class, html.EscapeString(text))
}

func (d *svgDiagram) draw(title, violation string) {
	n := len(d.steps[0].Peers)
	width := d.x(n-1) + svgColumn
	height := d.y(len(d.steps)-1) + svgBottom
	d.print(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`, width, height, width, height)
	d.print("<title>%s</title><style>%s</style>", html.EscapeString(title+": "+violation), svgStyle)
	d.print(`<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0L10 5L0 10z"/></marker></defs>`)
	d.print(`<rect class="page" width="%d" height="%d"/>`, width, height)
	d.text(20, 28, "title", title)
	for i := range n {
		d.text(d.x(i), 64, "peer", fmt.Sprintf("peer %d", i))
		d.life(i)
	}
	for k, s := range d.steps[1:] {
		d.lines(k+1, s)
	}
	for i := range n { // above the lines
		d.states(i)
	}
	for k, s := range d.steps[1:] {
		d.label(k+1, s)
	}
	d.text(20, height-20, "bad", violation)
	d.print("</svg>")
}

// status is the class of a peer's state after a step.
func (d *svgDiagram) status(peer, step int) string {
	switch s := d.steps[step]; {
	case s.Holds[peer]:
		return " holds"
	case s.Waits[peer]:
		return " waits"
	default:
		return ""
	}
}

// life draws a peer's lifeline: thin, thicker while it waits, thickest while it holds.
func (d *svgDiagram) life(peer int) {
	last := len(d.steps) - 1
	for begin := 0; begin <= last; {
		end := begin + 1
		for end <= last && d.status(peer, end) == d.status(peer, begin) {
			end++
		}
		bottom := d.y(min(end, last))
		if end > last {
			bottom += svgRow / 2
		}
		d.print(`<line class="life%s" x1="%d" y1="%d" x2="%d" y2="%d"/>`, d.status(peer, begin), d.x(peer), d.y(begin), d.x(peer), bottom)
		begin = end
	}
}

func (d *svgDiagram) changes(peer, step int) bool {
	return step == 0 || d.steps[step].Peers[peer] != d.steps[step-1].Peers[peer]
}

// states draws the name of a peer's state where it changes.
func (d *svgDiagram) states(peer int) {
	for step, s := range d.steps {
		if d.changes(peer, step) {
			d.print(`<rect class="pill%s" x="%d" y="%d" width="%d" height="18" rx="9"/>`, d.status(peer, step), d.x(peer)-svgPill, d.y(step)-9, 2*svgPill)
			d.text(d.x(peer), d.y(step)+4, "state", s.Peers[peer])
		}
	}
}

// lines draws the arrow of a message, or a link that breaks or is made.
func (d *svgDiagram) lines(number int, s Step) {
	y := d.y(number)
	switch {
	case s.SentAt > 0:
		side := 1
		if s.From < s.Peer {
			side = -1
		}
		d.print(`<line class="arrow" marker-end="url(#head)" x1="%d" y1="%d" x2="%d" y2="%d"/>`,
			d.edge(s.From, s.SentAt, -side), d.y(s.SentAt), d.edge(s.Peer, number, side), y)
	case s.spans():
		class := "link"
		if s.Kind == Mend {
			class = "link made"
		}
		d.print(`<line class="%s" x1="%d" y1="%d" x2="%d" y2="%d"/>`, class, d.x(s.Peer), y, d.x(s.From), y)
	case !d.changes(s.Peer, number):
		d.print(`<circle class="dot" cx="%d" cy="%d" r="4"/>`, d.x(s.Peer), y)
	}
}

// label says what a step is: of a message below the head of its arrow, which comes from above,
// of a link below it, so that neither stands upon the other.
func (d *svgDiagram) label(number int, s Step) {
	x, y := d.x(s.Peer), d.y(number)
	d.text(14, y+4, "soft", fmt.Sprint(number))
	switch {
	case s.SentAt > 0 && s.From < s.Peer:
		d.text(x-svgPill-6, y+svgBelow, "end", s.Text)
	case s.SentAt > 0:
		d.text(x+svgPill+6, y+svgBelow, "", s.Text)
	case s.spans():
		d.text((x+d.x(s.From))/2, y+svgBelow, "middle", s.Text)
	case d.changes(s.Peer, number):
		d.text(x+svgPill+6, y+4, "", s.Text)
	default:
		d.text(x+10, y+4, "", s.Text)
	}
}

// edge is where an arrow at a peer in a step begins or ends: at the lifeline, or at the
// side of the name of a state that stands there.
func (d *svgDiagram) edge(peer, step, side int) int {
	if d.changes(peer, step) {
		return d.x(peer) + side*svgPill
	}
	return d.x(peer)
}
