package live

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io"
	"maps"
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
			"broken": func(f ControlFault) string { return brokenText(say, f) },
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
func (p *painter) paint(v view, m *model, nowNS int64, charts bool) []part {
	say := p.langs[v.lang]
	text := func(name string, data any) part {
		var out bytes.Buffer
		if err := p.templates[v.lang].ExecuteTemplate(&out, name, data); err != nil {
			return part{name, template.HTMLEscapeString(err.Error())} // a template is wrong: show it
		}
		return part{name, out.String()}
	}
	parts := append(controlParts(say, m, text), text("now", nowOf(say, m, nowNS)), text("log", linesOf(say, m)))
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
	parts = append(
		parts, text("figures", figuresOf(say, m, chart.Bins)), text("locks", locksOf(m, nowNS)),
		text("schedule", scheduleOf(say, m, nowNS)), part{"map", string(m.drawing(say).Draw(say, v.narrow))},
	)
	if !charts {
		return parts
	}
	line := []plots.Line{{Name: m.run.Lock, Ink: plots.LockInk(1), Offered: m.offered, Series: chart}}
	scale := plots.ScaleOf(line)
	return append(parts, part{"rate", string(plots.Rate(say, m.run.Scenario, line, scale))},
		part{"latency", string(plots.Latency(say, m.run.Scenario, line, scale))})
}

// brokenText is a fault that can be healed.
func brokenText(say *lang.Lang, f ControlFault) string {
	name := say.Tell(history.FaultText(f.Kind, f.Target))
	switch {
	case f.Healing:
		return say.Sprintf("%s: is being healed", name)
	case f.Proven:
		return beganText(say, name, f.Target)
	}
	return say.Sprintf("%s: not proven yet", name)
}

// controlParts are the parts of the page with buttons; none if nothing can be controlled.
func controlParts(say *lang.Lang, m *model, text func(name string, data any) part) []part {
	if m.info.Control == nil {
		return nil
	}
	choices := struct {
		ControlState
		Over bool // there is nothing to control any more
	}{m.state, m.over}
	return []part{
		text("tour", tourOf(say, m)), text("choices", choices), text("targets", m.state),
		text("broken", m.state.Faults),
	}
}

type tourView struct {
	Number, Stops  int // Number is 0 before the first
	Step           int // of the stop, for the page's buttons
	Ended          bool
	Text, Evidence string
	Class, Shape   string
	Says           string // changes when the evidence says something else than before
}

// tourOf is the tour as it is shown.
func tourOf(say *lang.Lang, m *model) tourView {
	t := &m.tour
	v := tourView{Number: t.at + 1, Stops: len(t.stops), Step: t.at, Ended: t.at == len(t.stops), Class: "none"}
	if !t.on() {
		return v
	}
	here := t.stops[t.at]
	v.Text = say.Term(here.text)
	switch {
	case t.refused != "":
		v.Evidence = t.refused
	case !t.arrived && here.cut && m.state.Running && m.state.Lock == here.lock:
		v.Evidence = say.Text("The zones are being parted.")
	case !t.arrived:
		v.Evidence = say.Sprintf("The lab is getting %s ready: a few seconds.", here.lock)
	default:
		seen := m.counts().since(t.base)
		v.Evidence, v.Class = seen.text(say), here.judge(seen)
	}
	v.Shape = map[string]string{"ok": "✓", "bad": "✗", "none": "…"}[v.Class]
	v.Says = fmt.Sprint(t.at, t.run, t.arrived, t.refused, v.Class)
	return v
}

// nowMS is since the measured part began; 0 before.
func (m *model) nowMS(nowNS int64) float64 {
	if m.measureNS == 0 {
		return 0
	}
	return max(m.at(nowNS), 0)
}

type nowView struct {
	Lock, Scenario, Phase string
	Number, Runs          int
	Share                 float64 // of the runs, how many are over
	Over                  bool
	Report                string
}

func nowOf(say *lang.Lang, m *model, nowNS int64) nowView {
	v := nowView{Number: m.number, Share: float64(m.number), Runs: m.info.Runs, Over: m.over, Report: m.report}
	if m.run == nil {
		return v
	}
	now := m.nowMS(nowNS)
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
	if m.run.Workload == history.Matchmaking {
		f := figureView{
			Name: say.Text("duplicates"), Value: sentence.Group(m.rooms.duplicates), Class: "ok",
			Note: say.Sprintf("rooms: %d", m.rooms.created),
		}
		if m.rooms.duplicates > 0 {
			f.Class = "bad"
		}
		if m.rooms.unreachable > 0 {
			f.Note += ", " + say.Sprintf("+%s unreachable", sentence.Group(m.rooms.unreachable))
		}
		all = append(all, f)
	}
	return all
}

type locksView struct {
	Holds []holdView
	More  int
}

type holdView struct{ Resource, Node, Since string }

// locksOf are the holds that last longest, as many as can be read at a glance.
func locksOf(m *model, nowNS int64) (v locksView) {
	const shown = 8
	holds := slices.SortedFunc(maps.Values(m.holds), func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.AtNS, b.AtNS), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Node, b.Node))
	})
	v.More = max(len(holds)-shown, 0)
	for _, h := range holds[:len(holds)-v.More] {
		v.Holds = append(v.Holds, holdView{h.Resource, h.Node, table.Duration(inMS(max(nowNS-h.AtNS, 0)))})
	}
	return v
}

// plannedView is a fault of the scenario. From, Width and Now are percentages of the run.
type plannedView struct {
	Name, When, Class, Shape string
	From, Width, Now         float64
}

func scheduleOf(say *lang.Lang, m *model, nowNS int64) (all []plannedView) {
	share := func(ms float64) float64 { return math.Round(min(1000*ms/inMS(int64(m.run.Duration)), 1000)) / 10 }
	for _, one := range m.run.Planned {
		from, width := inMS(one.AtNS), inMS(one.ForNS)
		v := plannedView{
			Name: say.Tell(history.FaultText(one.Fault, one.Target)), Class: "none", Shape: "·",
			When: fmt.Sprintf("%.1f–%.1f s", from/1000, (from+width)/1000),
			From: share(from), Width: max(share(width), 0.5), Now: share(m.nowMS(nowNS)),
		}
		if i := slices.IndexFunc(m.faults, func(f *fault) bool { return f.ID == one.ID }); i >= 0 {
			switch f := m.faults[i]; {
			case f.unproven:
				v.Class, v.Shape = "warn", "?"
			case f.endedNS != 0:
				v.Class, v.Shape = "ok", "✓"
			case f.beganNS != 0:
				v.Class, v.Shape = "bad", "▲"
			}
		}
		all = append(all, v)
	}
	return all
}

type lineView struct{ At, Class, Shape, Text string }

func linesOf(say *lang.Lang, m *model) (all []lineView) {
	for _, l := range slices.Backward(m.log()) {
		v := lineView{Class: l.class, Shape: l.shape, Text: l.text(say)}
		if !math.IsNaN(l.atMS) {
			v.At = say.Sprintf("%.1f s", l.atMS/1000)
		}
		all = append(all, v)
	}
	return all
}
