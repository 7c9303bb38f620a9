package plots

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// TestCanvasTransforms checks the parts of vg.Canvas that today's figures do not
// need but that gonum may call.
func TestCanvasTransforms(t *testing.T) {
	c := newCanvas(100, 100)
	line := vg.Path{}
	line.Move(vg.Point{})
	line.Line(vg.Point{X: 10})
	c.Push()
	c.Translate(vg.Point{X: 20, Y: 30})
	c.Rotate(math.Pi / 2)
	c.Scale(2, 1)
	c.Stroke(line) // from (20,30) upwards by 20
	c.Pop()
	c.Stroke(line)
	svg := string(c.svg("x"))
	for _, want := range []string{`d="M20 70l0-20"`, `d="M0 100l10 0"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in %s", want, svg)
		}
	}
}

func TestCanvasPaths(t *testing.T) {
	c := newCanvas(10, 10)
	var p vg.Path
	p.Move(vg.Point{})
	p.QuadTo(vg.Point{X: 1, Y: 1}, vg.Point{X: 2})
	p.CubeTo(vg.Point{X: 3, Y: 1}, vg.Point{X: 4, Y: 1}, vg.Point{X: 5})
	p.Arc(vg.Point{X: 5, Y: 5}, 5, -math.Pi/2, math.Pi)
	p.Close()
	c.SetColor(Ink("k3"))
	c.Fill(p)
	svg := string(c.svg("x"))
	for _, want := range []string{`class="fl k3"`, "M0 10Q1 9 2 10C3 9 4 9 5 10l0 0", "l-.7 0Z"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in %s", want, svg)
		}
	}
}

func TestNiceNumbers(t *testing.T) {
	for v, want := range map[float64]float64{0.3: 0.5, 1: 1, 1.1: 2, 7: 10, 0: 1, math.Inf(1): 1} {
		if have := niceStep(v); math.Abs(have-want) > 1e-9 {
			t.Errorf("niceStep(%v) = %v, want %v", v, have, want)
		}
	}
	if have := niceTop(235); have != 250 {
		t.Errorf("niceTop(235) = %v, want 250", have)
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		name string
		n    int
		want string
	}{{"raft", 10, "raft"}, {"redlock:order=sequential", 11, "redlo…ntial"}, {"äöüäöü", 5, "äö…öü"}} {
		if have := clip(test.name, test.n); have != test.want {
			t.Errorf("clip(%q, %d) = %q, want %q", test.name, test.n, have, test.want)
		}
	}
}
