package live

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/series"
	"locklab/reports/table"
	"locklab/workloads/history"
)

// painter renders the page in a language.
type painter struct {
	langs     map[string]*lang.Lang
	templates map[string]*template.Template // by language
}

func newPainter() *painter {
	p := &painter{langs: map[string]*lang.Lang{}, templates: map[string]*template.Template{}}
	for _, say := range lang.All() {
		funcs := template.FuncMap{
			"t": say.Text, "tf": say.Sprintf, "langs": lang.All, "lang": func() string { return say.Tag },
			"broken": func(f history.Event) string { return brokenText(say, f) },
			"delays": func() []string { return []string{"50ms", "20ms", "200ms", "1s"} }, // as faults have them
		}
		p.langs[say.Tag] = say
		p.templates[say.Tag] = template.Must(template.New("live").Funcs(funcs).ParseFS(assets, "assets/*.html"))
	}
	return p
}

// page writes the page before its first frame.
func (p *painter) page(w io.Writer, tag string, b *Board) error {
	view := struct {
		Title   string
		Control *ControlState // nil: nothing can be controlled
		Token   string
		Rooms   bool // some workload has them
	}{Title: b.info.Title, Token: b.token, Rooms: b.info.Rooms}
	if b.info.Control != nil {
		state := b.info.Control.State()
		view.Control = &state
	}
	return p.templates[tag].ExecuteTemplate(w, "live.html", view)
}

// paint renders all parts, or all but the charts.
func (p *painter) paint(tag string, m *model, nowNS int64, charts bool) (parts []part) {
	say := p.langs[tag]
	text := func(name string, data any) {
		var out bytes.Buffer
		if err := p.templates[tag].ExecuteTemplate(&out, name, data); err != nil {
			out.WriteString(template.HTMLEscapeString(err.Error())) // a template is wrong: show it
		}
		parts = append(parts, part{name, out.String()})
	}
	if m.info.Control != nil {
		choices := struct {
			ControlState
			Over bool // there is nothing to control any more
		}{m.state, m.over}
		text("choices", choices)
		text("targets", m.state)
		text("broken", m.state.Faults)
	}
	text("now", nowOf(say, m, nowNS))
	text("log", linesOf(say, m))
	if charts && m.info.Grids != nil { // the report's, of the rows so far
		grids := part{ID: "verdicts"}
		for _, grid := range m.info.Grids(say, m.file) {
			grids.HTML += string(table.HTML(grid))
		}
		parts = append(parts, grids)
	}
	if m.run == nil {
		return parts
	}
	chart := m.chart(nowNS)
	text("figures", figuresOf(say, m, chart.Bins))
	parts = append(parts, part{"map", string(m.drawing(say).Draw(say))})
	if !charts {
		return parts
	}
	line := []plots.Line{{Name: m.run.Lock, Ink: plots.LockInk(1), Offered: m.offered, Series: chart}}
	scale := plots.ScaleOf(line)
	return append(parts, part{"rate", string(plots.Rate(say, m.run.Scenario, line, scale))},
		part{"latency", string(plots.Latency(say, m.run.Scenario, line, scale))})
}

// brokenText describes a fault that can be healed.
func brokenText(say *lang.Lang, f history.Event) string {
	name := say.Tell(history.FaultText(f.Fault, f.Target))
	switch f.State {
	case history.FaultHealAsked:
		return say.Sprintf("%s: is being healed", name)
	case history.FaultBegan:
		return beganText(say, name, f.Aim)
	}
	return say.Sprintf("%s: not proven yet", name)
}

type nowView struct {
	Lock, Scenario, Phase string
	Number, Runs          int
	Share                 float64 // of all runs, how many are over
	Over                  bool
	Report                string
}

func nowOf(say *lang.Lang, m *model, nowNS int64) nowView {
	v := nowView{Number: m.number, Share: float64(m.number), Runs: m.info.Runs, Over: m.over, Report: m.report}
	if m.run == nil {
		return v
	}
	now := 0.0
	if m.measureNS != 0 {
		now = max(m.at(nowNS), 0)
	}
	v.Lock, v.Scenario, v.Share = m.run.Lock, m.run.Scenario, float64(m.number-1)+min(now/inMS(int64(m.run.Duration)), 1)
	switch {
	case m.measureNS == 0 && len(m.nodes) == 0:
		v.Phase = say.Text("the nodes are being started")
	case m.measureNS == 0:
		v.Phase = say.Text("warming up")
	case m.drainNS != 0:
		v.Phase = say.Text("the last answers are awaited, and judged")
	case m.run.Played:
		v.Phase = say.Sprintf("%.1f s", now/1000)
	default:
		v.Phase = say.Sprintf("%.0f of %.0f seconds", now/1000, m.run.Duration.Seconds())
	}
	return v
}

type figureView struct{ Name, Value, Note, Class string }

func figuresOf(say *lang.Lang, m *model, bins []series.Bin) []figureView {
	const window = 10 // bins: a second, if they are not of a long run
	last := bins[max(0, len(bins)-window):]
	rate, p99 := 0.0, math.NaN()
	for _, b := range last {
		rate += b.OKPerS / float64(len(last))
		if !(b.P99MS <= p99) && !math.IsNaN(b.P99MS) {
			p99 = b.P99MS
		}
	}
	served := table.Absent
	if m.all > 0 {
		served = table.Share(float64(m.okay) / float64(m.all))
	}
	all := []figureView{
		{Name: say.Text("served per second"), Value: fmt.Sprintf("%.0f", rate)},
		{Name: say.Text("p99, now"), Value: table.Duration(p99)},
		{Name: say.Text("requests served"), Value: served},
	}
	if m.run.Rooms {
		duplicates, unreachable := m.rooms.count()
		f := figureView{
			Name: say.Text("duplicates"), Value: sentence.Group(duplicates), Class: "ok",
			Note: say.Sprintf("rooms: %d", m.rooms.created),
		}
		if duplicates > 0 {
			f.Class = "bad"
		}
		if unreachable > 0 {
			f.Note += ", " + say.Sprintf("+%s unreachable", sentence.Group(unreachable))
		}
		all = append(all, f)
	}
	return all
}

type lineView struct{ At, Class, Shape, Text string }

// linesOf has the newest line first.
func linesOf(say *lang.Lang, m *model) (all []lineView) {
	classes := map[string]string{"▲": "warn", "?": "warn", "✓": "ok", "·": "none"}
	for _, l := range slices.Backward(m.lines) {
		v := lineView{Class: classes[l.shape], Shape: l.shape, Text: l.text(say)}
		if !math.IsNaN(l.atMS) {
			v.At = say.Sprintf("%.1f s", l.atMS/1000)
		}
		all = append(all, v)
	}
	return all
}
