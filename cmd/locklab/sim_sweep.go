package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/seed"
	"locklab/reports/page"
	"locklab/reports/sweep"
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
	sweepText(stdout, told(all), l.String())
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

// told are the points with names in a language.
func told(points []sim.Point) []sim.Point {
	all := slices.Clone(points)
	for i := range all {
		all[i].Lock = toldLock(all[i].Lock)
	}
	return all
}

// toldLock is the name of a lock, which is the same in every language, or of what is no lock.
func toldLock(name string) string {
	if name == sim.ServiceName {
		return "service of 5 (computed)"
	}
	return name
}

func (f *simFlags) writeSweep(l catalog.Lock, points []sim.Point) (dir string, err error) {
	dir = f.out
	if dir == "" {
		dir = filepath.Join(simDir, "sweep-"+strings.NewReplacer(":", "-", "=", "-", ",", "-").Replace(l.String()))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a report holds nothing secret
		return "", fmt.Errorf("--out: %w", err)
	}
	var drawn []sweep.Point
	for _, p := range points {
		drawn = append(drawn, sweep.Point{
			Lock: p.Lock, Peers: p.Peers, Zones: p.Zones, Messages: p.Messages, MessagesContended: p.MessagesContended,
			Acquire: sweep.Spread(p.Acquire), Contended: sweep.Spread(p.Contended), Handoff: sweep.Spread(p.Handoff),
		})
	}
	table, err := sweep.CSV(drawn)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "sweep.csv"), table, 0o644); err != nil { //nolint:gosec // nothing secret
		return "", fmt.Errorf("--out: %w", err)
	}
	for i := range drawn { // of the page, after the file
		drawn[i].Lock = toldLock(drawn[i].Lock)
	}
	points = told(points)
	return dir, writeSweepPage(filepath.Join(dir, page.File), l.String(), points, drawn, f.seed)
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
