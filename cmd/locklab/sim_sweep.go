package main

import (
	"context"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/seed"
	"locklab/reports/lang"
	"locklab/reports/page"
	"locklab/reports/plots"
	"locklab/reports/table"
	"locklab/verify/sim"
)

// sweepJob is one point that is to be measured.
type sweepJob struct {
	catalog.Lock
	peers, zones int
}

// runSweep measures the lock, and those that it is compared with.
func (f *simFlags) runSweep(ctx context.Context, l catalog.Lock, stdout, stderr io.Writer) error {
	low, high, err := parseSweep(f.sweep)
	if err != nil {
		return err
	}
	jobs, err := f.sweepJobs(l, low, high)
	if err != nil {
		return err
	}
	points, err := measureAll(ctx, jobs, seed.Seed(f.seed))
	if err != nil {
		return err
	}
	all := withService(points)
	dir, err := f.writeSweep(l, all)
	if err != nil {
		return err
	}
	if f.asJSON {
		return writeJSON(stdout, struct {
			Schema string      `json:"schema"`
			Seed   uint64      `json:"seed"`
			Points []sim.Point `json:"points"`
		}{"locklab/sweep/v1", f.seed, all})
	}
	sweepText(stdout, all, l.String())
	fmt.Fprintf(stderr, "locklab: report: %s\n", filepath.Join(dir, page.File))
	return nil
}

// sweepZones are the geographies of a sweep: a region, four around the western
// Pacific, ten all over the world.
func sweepZones() []int { return []int{3, 10, 30} }

// sweepJobs makes the points: 1, 2, 5 of every power of ten and both ends.
func (f *simFlags) sweepJobs(l catalog.Lock, low, high int) (jobs []sweepJob, err error) {
	others, err := catalog.ParseList("--against", f.against)
	if err != nil {
		return nil, err
	}
	all := []catalog.Lock{l}
	for _, o := range others {
		if err := o.CheckCore(); err != nil {
			return nil, fmt.Errorf("--against: %w", err)
		}
		if o.String() != l.String() {
			all = append(all, o)
		}
	}
	sizes := []int{low}
	for ten := 1; ten <= high; ten *= 10 {
		for _, n := range []int{ten, 2 * ten, 5 * ten} {
			if n > low && n < high {
				sizes = append(sizes, n)
			}
		}
	}
	if high > low {
		sizes = append(sizes, high)
	}
	for _, l := range all {
		for _, zones := range sweepZones() {
			for _, peers := range sizes {
				jobs = append(jobs, sweepJob{l, peers, zones})
			}
		}
	}
	return jobs, nil
}

// measureAll measures all points, some at a time, the largest first.
func measureAll(ctx context.Context, jobs []sweepJob, s seed.Seed) ([]sim.Point, error) {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return jobs[b].peers - jobs[a].peers })
	points := make([]sim.Point, len(jobs))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for _, i := range order {
		all.Go(func() (err error) {
			j := jobs[i]
			if ctx.Err() != nil {
				return &exitError{code: exitInterrupted, err: ctx.Err()}
			}
			if points[i], err = sim.Measure(j.Core.Simulator, j.peers, j.zones, s); err != nil {
				return fmt.Errorf("%s with %d peers: %w", j, j.peers, err)
			}
			points[i].Lock = j.String()
			return nil
		})
	}
	return points, all.Wait()
}

// withService adds the computed lock service for each number of peers and zones.
func withService(points []sim.Point) []sim.Point {
	all := slices.Clone(points)
	for _, p := range points {
		if p.Lock == points[0].Lock {
			all = append(all, sim.Service(p.Peers, p.Zones))
		}
	}
	return all
}

func (f *simFlags) writeSweep(l catalog.Lock, points []sim.Point) (dir string, err error) {
	dir = f.out
	if dir == "" {
		dir = filepath.Join(simDir, "sweep-"+strings.NewReplacer(":", "-", "=", "-", ",", "-").Replace(l.String()))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a report holds nothing secret
		return "", fmt.Errorf("--out: %w", err)
	}
	return dir, writeSweepPage(filepath.Join(dir, page.File), l.String(), points, f.seed)
}

// sweepText prints a table for each number of zones, and from where on another way
// is faster.
func sweepText(out io.Writer, points []sim.Point, lock string) {
	width, _ := progress.Width(out)
	w := new(strings.Builder)
	for _, zones := range sweepZones() {
		fmt.Fprintf(w, "%d zones\n", zones)
		figures := textTable{rows: append([][]string{sweepColumns()}, sweepRows(points, zones)...), keys: 2, breaks: []int{6}}
		for _, row := range figures.rows {
			row[0] = "  " + row[0]
		}
		figures.write(w, width)
		for _, text := range crossings(points, lock, zones) {
			fmt.Fprintf(w, "  %s\n", text)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, clearlyText())
	_, _ = io.WriteString(out, folded(out, w.String()))
}

func sweepColumns() []string {
	return []string{
		"lock", "peers", "messages", "contended", "acquire p50 ms", "p99",
		"contended p50", "p99", "handoff mean", "p99",
	}
}

func sweepRows(points []sim.Point, zones int) (rows [][]string) {
	for _, p := range points {
		if p.Zones != zones {
			continue
		}
		contended, late := "-", "-" // the computed service has no queue
		if p.Contended.Max > 0 {
			contended, late = ms(p.Contended.P50), ms(p.Contended.P99)
		}
		rows = append(rows, []string{
			p.Lock, strconv.Itoa(p.Peers), fmt.Sprintf("%.1f", p.Messages), fmt.Sprintf("%.1f", p.MessagesContended),
			ms(p.Acquire.P50), ms(p.Acquire.P99), contended, late, ms(p.Handoff.Mean), ms(p.Handoff.P99),
		})
	}
	return rows
}

// compared is a figure of a sweep of which less is better. Messages are counted, not timed.
type compared struct {
	name    string
	counted bool
	of      func(sim.Point) float64 // NaN if it does not have it
}

// less says that the figure is clearly less: a time that is below 95 % of the other, or one message fewer
// of those that the table shows.
func (f *compared) less(a, b float64) bool {
	if f.counted {
		return math.Round(10*a) < math.Round(10*b)
	}
	return a < 0.95*b
}

// lessInAll says that the figure is less in each round of p than in any of o: both differ by chance from
// round to round.
func (f *compared) lessInAll(p, o sim.Point) bool {
	for _, mine := range rounds(p) {
		for _, others := range rounds(o) {
			if !f.less(f.of(mine), f.of(others)) {
				return false
			}
		}
	}
	return true
}

// rounds of a point that is computed are that point.
func rounds(p sim.Point) []sim.Point {
	if len(p.Rounds) == 0 {
		return []sim.Point{p}
	}
	return p.Rounds
}

// comparedFigures are those of the tables.
func comparedFigures() []compared {
	queued := func(p sim.Point, d time.Duration) float64 { // the computed service has no queue
		if p.Contended.Max == 0 {
			return math.NaN()
		}
		return float64(d)
	}
	return []compared{
		{"messages where nobody else wants it", true, func(p sim.Point) float64 { return p.Messages }},
		{"messages where up to ten want it", true, func(p sim.Point) float64 { return p.MessagesContended }},
		{"acquire p50 where nobody else wants it", false, func(p sim.Point) float64 { return float64(p.Acquire.P50) }},
		{"acquire p99 where nobody else wants it", false, func(p sim.Point) float64 { return float64(p.Acquire.P99) }},
		{"acquire p50 where up to ten want it", false, func(p sim.Point) float64 { return queued(p, p.Contended.P50) }},
		{"acquire p99 where up to ten want it", false, func(p sim.Point) float64 { return queued(p, p.Contended.P99) }},
		{"mean handoff", false, func(p sim.Point) float64 { return float64(p.Handoff.Mean) }},
		{"handoff p99", false, func(p sim.Point) float64 { return float64(p.Handoff.P99) }},
	}
}

// draw has a panel for each number of zones, all with the same logarithmic axes.
func (f *compared) draw(points []sim.Point) template.HTML {
	unit, scale := "ms", 1e-6
	if f.counted {
		unit, scale = "messages", 1
	}
	most, low, high := 2, math.Inf(1), 0.0
	panels := map[int][]plots.Curve{}
	for _, p := range points {
		v := f.of(p) * scale
		if !(v > 0) {
			continue
		}
		most, low, high = max(most, p.Peers), min(low, v), max(high, v)
		curves := panels[p.Zones]
		i := slices.IndexFunc(curves, func(c plots.Curve) bool { return c.Name == p.Lock })
		if i < 0 {
			i, curves = len(curves), append(curves, plots.Curve{Name: p.Lock})
		}
		curves[i].Points = append(curves[i].Points, plots.Peers{N: p.Peers, Value: v})
		panels[p.Zones] = curves
	}
	var out strings.Builder
	out.WriteString(`<div class="figures">`)
	for _, zones := range slices.Sorted(maps.Keys(panels)) {
		title := fmt.Sprintf("%d zones", zones)
		label := fmt.Sprintf("%s, in %s, against the number of peers, to %d: %s.", f.name, unit, most, title)
		fmt.Fprintf(&out, `<div><b>%s</b> <small>%s, on a logarithmic scale</small>%s</div>`, title, unit, plots.Growth(lang.English(), label, panels[zones], most, low, high))
	}
	out.WriteString(`</div>`)
	return template.HTML(out.String()) //nolint:gosec // drawn and escaped by plots
}

// crossings say of each of the others in what it needs less than the lock and in what more, and with
// how many peers.
func crossings(points []sim.Point, lock string, zones int) (texts []string) {
	own, others, theirs := map[int]sim.Point{}, []string(nil), map[string][]sim.Point{}
	for _, p := range points {
		switch {
		case p.Zones != zones:
		case p.Lock == lock:
			own[p.Peers] = p
		default:
			if len(theirs[p.Lock]) == 0 {
				others = append(others, p.Lock)
			}
			theirs[p.Lock] = append(theirs[p.Lock], p)
		}
	}
	for _, other := range others {
		var less, more places
		for _, f := range comparedFigures() {
			var sizes, below, above []int
			for _, p := range theirs[other] {
				if math.IsNaN(f.of(p)) || math.IsNaN(f.of(own[p.Peers])) {
					continue
				}
				sizes = append(sizes, p.Peers)
				switch {
				case f.lessInAll(p, own[p.Peers]):
					below = append(below, p.Peers)
				case f.lessInAll(own[p.Peers], p):
					above = append(above, p.Peers)
				}
			}
			less.add(f.name, below, sizes)
			more.add(f.name, above, sizes)
		}
		texts = append(texts,
			fmt.Sprintf("%s needs less than %s %s", other, lock, less.text()),
			fmt.Sprintf("%s needs more than %s %s", other, lock, more.text()))
	}
	return texts
}

// places are the figures of which something is so, by the numbers of peers with which it is.
type places []place

type place struct {
	where string
	names []string
}

func (p *places) add(name string, so, all []int) {
	if len(so) == 0 {
		return
	}
	where := withPeers(so, all)
	i := slices.IndexFunc(*p, func(at place) bool { return at.where == where })
	if i < 0 {
		i, *p = len(*p), append(*p, place{where: where})
	}
	(*p)[i].names = append((*p)[i].names, name)
}

func (p places) text() string {
	if len(p) == 0 {
		return "nowhere"
	}
	parts := make([]string, len(p))
	for i, at := range p {
		parts[i] = at.where + ": " + strings.Join(at.names, ", ")
	}
	return strings.Join(parts, "; ")
}

// withPeers says with how many peers something is so, of all numbers of them that were measured.
func withPeers(so, all []int) string {
	from := so[0]
	rest := all[slices.Index(all, from):]
	if !slices.Equal(so, rest) {
		words := make([]string, len(so))
		for i, n := range so {
			words[i] = strconv.Itoa(n)
		}
		return fmt.Sprintf("with %s peers", strings.Join(words, ", "))
	}
	if before := len(all) - len(rest) - 1; before >= 0 && all[before] < from-1 { // nobody looked between
		return fmt.Sprintf("from %d peers on (not shown with %d)", from, all[before])
	}
	return fmt.Sprintf("from %d peers on", from)
}

// clearlyText says what is told apart.
func clearlyText() string {
	return fmt.Sprintf("Each point is measured in %d rounds, which differ by chance; the tables have all together. Told apart is what differs in each round of the one from every round of the other: times where one is below 95 %% of the other, messages where they are different numbers. The computed service is a lower bound, without queues, disks or jitter; it has no times where up to ten want it, and is compared in none of them.", sim.Rounds)
}

// writeSweepPage writes a sweep as one page: a plot of each figure, then the tables.
func writeSweepPage(path, lock string, points []sim.Point, seed uint64) error {
	sheet := page.Sheet{
		Title: fmt.Sprintf("%s against the number of peers", lock), Lede: fmt.Sprintf("Simulated in virtual time, seed %d", seed), Made: typed(),
		Facts: []page.Fact{{Name: "all points", Lines: []string{
			"the flag --json prints them with all digits; medians and p99 come from histograms and are up to 0.4 % too high",
		}}},
	}
	shown := page.Section{Title: "What it shows"}
	for _, zones := range sweepZones() {
		for _, text := range crossings(points, lock, zones) {
			shown.Notes = append(shown.Notes, fmt.Sprintf("%d zones", zones)+": "+text+".")
		}
	}
	shown.Notes = append(shown.Notes, clearlyText())
	sheet.Sections = append(sheet.Sections, shown)
	for _, f := range comparedFigures() {
		sheet.Sections = append(sheet.Sections, page.Section{Title: upper(f.name), Drawing: f.draw(points)})
	}
	var columns []table.Column
	for i, title := range []string{
		"lock", "peers", "messages, nobody else", "messages, up to ten want it",
		"acquire, nobody else, median, ms", "acquire, nobody else, p99, ms", "acquire, up to ten want it, median, ms",
		"acquire, up to ten want it, p99, ms", "release to next holder, mean, ms", "release to next holder, p99, ms",
	} {
		columns = append(columns, table.Column{Title: title, Key: i == 0, Right: i > 0})
	}
	for _, zones := range sweepZones() {
		sheet.Sections = append(sheet.Sections, page.Section{
			Title: fmt.Sprintf("All figures with %d zones", zones), Table: table.Table{Columns: columns, Rows: tableCells(sweepRows(points, zones))},
		})
	}
	return page.WriteSheet(path, sheet)
}

// upper makes the first letter of a title a capital.
func upper(title string) string {
	first, size := utf8.DecodeRuneInString(title)
	return string(unicode.ToUpper(first)) + title[size:]
}
