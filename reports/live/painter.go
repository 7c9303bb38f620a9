package live

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/series"
	"locklab/reports/table"
	"locklab/workloads/history"
)

// painter renders the parts of the page.
type painter struct {
	langs     map[string]*lang.Lang
	templates map[string]*template.Template // by language
}

func newPainter() (*painter, error) {
	p := &painter{langs: map[string]*lang.Lang{}, templates: map[string]*template.Template{}}
	for _, tag := range lang.Tags() {
		say, err := lang.Of(tag)
		if err != nil {
			return nil, err
		}
		t, err := template.New("parts.html").Funcs(funcs(say)).ParseFS(assets, "assets/parts.html", "assets/control.html")
		if err != nil {
			return nil, err
		}
		p.langs[tag], p.templates[tag] = say, t
	}
	return p, nil
}

func funcs(say *lang.Lang) template.FuncMap {
	return template.FuncMap{"t": say.Text, "tf": say.Sprintf, "lang": func() string { return say.Tag }}
}

// page is the page before its first frame.
func (b *Board) page(tag string) ([]byte, error) {
	say, err := lang.Of(tag)
	if err != nil {
		return nil, err
	}
	all, err := lang.All()
	if err != nil {
		return nil, err
	}
	t, err := template.New("live.html").Funcs(funcs(say)).ParseFS(assets, "assets/live.html", "assets/control.html")
	if err != nil {
		return nil, err
	}
	panel, err := b.panel(t)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, struct {
		Title string
		Langs []*lang.Lang
		Parts []string
		Panel template.HTML // to control it; nothing if that is not to be
		Token string
		Rooms bool // some workload has them
	}{b.info.Title, all, partIDs(), panel, b.token, slices.ContainsFunc(b.info.Rows, func(k Key) bool { return k.Workload == history.Matchmaking })})
	return out.Bytes(), err
}

// partIDs are the parts of the page, as they stand on it.
func partIDs() []string {
	return []string{"now", "tour-stop", "tour-evidence", "tour-steps", "choices", "targets", "broken", "schedule", "map", "figures", "rate", "latency", "served", "locks", "verdicts", "log"}
}

// paint renders all parts, or all but the charts.
func (p *painter) paint(v view, m *model, nowNS int64, charts bool) []part {
	say := p.langs[v.lang]
	svg := func(drawing []byte) string { return string(drawing) }
	text := func(name string, data any) string {
		var out bytes.Buffer
		if err := p.templates[v.lang].ExecuteTemplate(&out, name, data); err != nil {
			return template.HTMLEscapeString(err.Error()) // seen by whoever changes a template
		}
		return out.String()
	}
	parts := []part{{"now", text("now", nowOf(say, m, nowNS))}, {"verdicts", text("verdicts", verdictsOf(say, m))}, {"log", text("log", linesOf(say, m))}}
	parts = append(parts, controlParts(say, m, text)...)
	if m.run == nil {
		return parts
	}
	chart := m.chart(nowNS)
	parts = append(
		parts,
		part{"map", svg(m.drawing(say).Draw(say, v.narrow))},
		part{"figures", text("figures", figuresOf(say, m, chart.Bins))},
		part{"locks", text("locks", locksOf(say, m, nowNS))},
	)
	if !charts {
		return parts
	}
	line := []plots.Line{{Name: m.run.Lock, Ink: plots.LockInk(1), Offered: m.offered, Series: chart}}
	scale := plots.ScaleOf(line)
	return append(
		parts,
		part{"schedule", svg(plots.Schedule(say, m.planned(say, nowNS), inMS(int64(m.run.Duration)), m.nowMS(nowNS)))},
		part{"rate", svg(plots.Rate(say, m.run.Scenario, line, scale))},
		part{"latency", svg(plots.Latency(say, m.run.Scenario, line, scale))},
		part{"served", svg(plots.Served(say, m.run.Scenario, line))},
	)
}

// nowMS is since the measured part began; -1 before.
func (m *model) nowMS(nowNS int64) float64 {
	if m.measureNS == 0 {
		return -1
	}
	return m.at(nowNS)
}

// planned are the faults of the scenario, with what became of them.
func (m *model) planned(say *lang.Lang, nowNS int64) (all []plots.Planned) {
	for _, one := range m.run.Planned {
		p := plots.Planned{Name: say.Tell(history.FaultText(one.Fault, one.Target)), FromMS: inMS(one.AtNS), ToMS: inMS(one.AtNS + one.ForNS)}
		if i := slices.IndexFunc(m.faults, func(f *fault) bool { return f.id == one.ID && f.beganNS != 0 }); i >= 0 && m.measureNS != 0 {
			p.BeganMS, p.NowMS = m.at(m.faults[i].beganNS), m.at(cmp.Or(m.faults[i].endedNS, nowNS))
		}
		all = append(all, p)
	}
	return all
}

type nowView struct {
	Lock, Scenario, Workload, Phase string
	Number, Runs                    int
	Share                           float64 // of the runs, how many are over
	Over                            bool
	Report                          string
}

func nowOf(say *lang.Lang, m *model, nowNS int64) nowView {
	v := nowView{Number: m.number, Share: float64(m.number), Runs: len(m.info.Rows) * m.info.Repeats, Over: m.over, Report: m.report}
	if m.run == nil {
		return v
	}
	v.Share = float64(m.number-1) + min(max(m.nowMS(nowNS)/inMS(int64(m.run.Duration)), 0), 1)
	v.Lock, v.Scenario, v.Workload = m.run.Lock, m.run.Scenario, m.run.Workload
	switch {
	case m.measureNS == 0 && len(m.nodes) == 0:
		v.Phase = say.Text("the nodes are being started")
	case m.measureNS == 0:
		v.Phase = say.Text("warming up")
	case m.drainNS != 0:
		v.Phase = say.Text("the last answers are awaited, and judged")
	case m.run.Played:
		v.Phase = say.Sprintf("%.0f seconds so far", max(m.at(nowNS)/1000, 0))
	default:
		v.Phase = say.Sprintf("%.0f of %.0f seconds", max(m.at(nowNS)/1000, 0), m.run.Duration.Seconds())
	}
	return v
}

type figureView struct{ Name, Value, Note, Class string }

func figuresOf(say *lang.Lang, m *model, bins []series.Bin) (all []figureView) {
	const window = 10 // bins: a second, if they are not of a long run
	last := bins[max(0, len(bins)-window):]
	rate, p99 := 0.0, math.NaN()
	for _, b := range last {
		rate += b.OKPerS / float64(len(last))
		if !(b.P99MS <= p99) && !math.IsNaN(b.P99MS) {
			p99 = b.P99MS
		}
	}
	served, slowest := "–", "–"
	if !math.IsNaN(p99) {
		slowest = say.Sprintf("%.0f ms", p99)
	}
	if m.all > 0 {
		served = fmt.Sprintf("%.1f%%", 100*float64(m.okay)/float64(m.all))
	}
	all = append(all, figureView{Name: say.Text("served per second"), Value: fmt.Sprintf("%.0f", rate)},
		figureView{Name: say.Text("p99, now"), Value: slowest},
		figureView{Name: say.Text("requests served"), Value: served})
	if m.run.Workload == history.Matchmaking {
		class := "ok"
		if m.rooms.duplicates > 0 {
			class = "bad"
		}
		f := figureView{Name: say.Text("duplicates"), Value: lang.Group(m.rooms.duplicates), Class: class, Note: say.Count(m.rooms.created, "of 1 room", "of %s rooms")}
		if m.rooms.unreachable > 0 {
			f.Note += ", " + say.Sprintf("+%s unreachable", lang.Group(m.rooms.unreachable))
		}
		all = append(all, f)
	}
	return all
}

type lockView struct {
	Holds []holdView
	More  int
	Waits []waitView
}

type holdView struct{ Resource, Node, Since string }

type waitView struct {
	Node, Text string
}

// shownHolds are as many as one can read at a glance.
const shownHolds = 8

func locksOf(say *lang.Lang, m *model, nowNS int64) (v lockView) {
	var holds []hold
	for _, h := range m.holds {
		holds = append(holds, h)
	}
	slices.SortFunc(holds, func(a, b hold) int {
		return cmp.Or(cmp.Compare(a.sinceNS, b.sinceNS), cmp.Compare(a.resource, b.resource), cmp.Compare(a.node, b.node))
	})
	for i, h := range holds {
		if i == shownHolds {
			v.More = len(holds) - shownHolds
			break
		}
		v.Holds = append(v.Holds, holdView{h.resource, h.node, say.Lasting(time.Duration(max(nowNS-h.sinceNS, 0)).Round(time.Millisecond))})
	}
	for _, h := range m.run.Hosts {
		for _, n := range h.Nodes {
			if waits, known := m.waiting[n.Name]; known && waits >= 0 {
				v.Waits = append(v.Waits, waitView{n.Name, say.Count(int64(waits), "1 waits", "%s wait")})
			}
		}
	}
	return v
}

type verdictsView struct {
	Columns []verdictColumn
	Rows    []verdictRow
}

// verdictColumn is a scenario, and what is done in it where that is not always the same.
type verdictColumn struct{ Scenario, Workload string }

type verdictRow struct {
	Lock  string
	Cells []verdictCell
}

type verdictCell struct {
	There, Running, Done bool
	table.Cell
}

func verdictsOf(say *lang.Lang, m *model) (v verdictsView) {
	var locks []string
	for _, k := range m.info.Rows {
		if !slices.Contains(locks, k.Lock) {
			locks = append(locks, k.Lock)
		}
		if one := (verdictColumn{k.Scenario, k.Workload}); !slices.Contains(v.Columns, one) {
			v.Columns = append(v.Columns, one)
		}
	}
	for _, lock := range locks {
		row := verdictRow{Lock: lock}
		for _, column := range v.Columns {
			key := Key{lock, column.Scenario, column.Workload}
			c := verdictCell{There: slices.Contains(m.info.Rows, key), Running: m.run != nil && m.run.Key == key}
			if row, done := m.rows[key]; done {
				c.Done, c.Cell = true, row.Cell(say)
			}
			row.Cells = append(row.Cells, c)
		}
		v.Rows = append(v.Rows, row)
	}
	for i := range v.Columns {
		if !m.manyWorkloads() {
			v.Columns[i].Workload = ""
		}
	}
	return v
}

// manyWorkloads says whether a lock and a scenario do not tell which run it is.
func (m *model) manyWorkloads() bool {
	return slices.ContainsFunc(m.info.Rows, func(k Key) bool { return k.Workload != m.info.Rows[0].Workload })
}

type lineView struct{ At, Class, Shape, Text string }

func linesOf(say *lang.Lang, m *model) (all []lineView) {
	for _, l := range slices.Backward(m.lines) {
		all = append(all, lineOf(say, l))
	}
	return all
}

// faultName is the fault that a line is about.
func faultName(say *lang.Lang, words []string) string {
	return say.Tell(history.FaultText(words[0], words[1]))
}

func lineOf(say *lang.Lang, l line) lineView {
	v := lineView{Class: "none", Shape: "·"}
	switch {
	case l.atMS < 0:
		v.At = say.Text("warm-up")
	case !math.IsNaN(l.atMS):
		v.At = say.Sprintf("%.1f s", l.atMS/1000)
	}
	switch w := l.words; l.kind {
	case lineFaultAsked:
		v.Text = say.Sprintf("The fault is asked for: %s", faultName(say, w))
	case lineFaultBegan:
		v.Class, v.Shape, v.Text = "warn", "▲", say.Sprintf("Broken, and proven: %s", faultName(say, w))
		if ofHolder(w[1]) {
			v.Text = say.Sprintf("Broken, as probes saw: %s. The report says whether it hit a hold, or counts as not proven", faultName(say, w))
		}
	case lineFaultEnded:
		v.Class, v.Shape, v.Text = "ok", "✓", say.Sprintf("Healed, and proven: %s", faultName(say, w))
	case lineFaultUnproven:
		v.Class, v.Shape, v.Text = "warn", "?", say.Sprintf("Not proven: %s", faultName(say, w))
		if w[2] != "" {
			v.Text += ": " + say.Recorded(w[2])
		}
	case lineNode:
		v.Text = w[0] + ": " + say.Tell(series.NodeText(w[1]))
	case lineDuplicate:
		v.Class, v.Shape = "bad", "✗"
		v.Text = say.Sprintf("A second room of %s began on %s while one on %s was starting or had free seats", w[0], w[1], w[2])
		if times := len(l.rooms); times > 1 {
			v.Text = say.Sprintf("%d duplicates since then. The last one of %s began on %s while one on %s was starting or had free seats", times, w[0], w[1], w[2])
		}
	case lineUnreached:
		v.Shape, v.Text = "⊠", say.Sprintf("A second room of %s began on %s: the one on %s could not be reached", w[0], w[1], w[2])
		if times := len(l.rooms); times > 1 {
			v.Text = say.Sprintf("%d unreachable duplicates since then. The last one of %s began on %s: the one on %s could not be reached", times, w[0], w[1], w[2])
		}
	case lineVerdict:
		v.Text = say.Sprintf("%s under %s", w[0], w[1]) + ": " + say.Term(w[2])
	default:
		v.Text = say.Recorded(w[0])
	}
	return v
}
