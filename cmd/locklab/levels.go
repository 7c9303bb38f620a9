package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/levels"
	"locklab/internal/atomicfile"
	"locklab/internal/seed"
	"locklab/internal/sentence"
	"locklab/internal/strictjson"
	"locklab/locks"
	"locklab/locks/adapters"
	"locklab/locks/clock"
	"locklab/reports/table"
	"locklab/workloads/result"
)

type levelsFlags struct {
	out, publish, only string
	add                bool
	tries, jobs        int
}

func newLevels() *cobra.Command {
	var f levelsFlags
	cmd := &cobra.Command{
		Use:   "levels [LOCK...]",
		Short: "Show which named anomalies each lock and library has",
		Long: `levels runs locks and libraries, all of them unless some are named, through
what provokes each named anomaly, and prints a row for each and a column for
each anomaly. Runs in the directory that decided are not made again; a run there
that was made with other flags is refused.

  ✗     shown: the command below the table tries it again; 1/4: in one of four
        runs of the scenario that shows it most often; with ! its documentation
        promises the contrary
  ✓ n   not shown in n tries, where the control was shown; no proof
  ·     does not apply to the lock, or cannot be done to it here
  ?     undecided: no run was sound and long enough, or no control showed it

With --add the tries add up, cell by cell, each once, and only runs are made
that some cell needs to reach --tries. The cells of a library, settings or
scenario that changed begin anew.`,
		Example: `  locklab levels                                  all rows, 3 tries a cell
  locklab levels redis-py kazoo --only CK         two columns of two rows
  locklab levels redis-py kazoo --tries 20 --out reports/runs/mine
  locklab levels --tries 20 --publish reports/levels --add`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.out, "out", filepath.Join("reports", "runs", "levels"), "directory of the runs; those in it are kept")
	fl.StringVar(&f.only, "only", levels.Letters(), "letters of the columns")
	fl.IntVar(&f.tries, "tries", 3, "of each cell, at least; with --add together with those of before")
	fl.IntVar(&f.jobs, "jobs", runtime.NumCPU()+1,
		"runs at once; what decided nothing is repeated alone; 0 makes none and shows those there are")
	fl.StringVar(&f.publish, "publish", "", "directory for README.md, levels.svg, result.json and histories")
	fl.BoolVar(&f.add, "add", false, "make the tries that the page in --publish lacks to --tries, and add them")
	return cmd
}

// job is one locklab run of one lock, and where it leaves its result.
type job struct {
	of       levels.Result
	run, dir string
	flags    []string
	about    time.Duration
}

func (f *levelsFlags) run(ctx context.Context, rows []string, stdout, stderr io.Writer) error {
	if len(rows) == 0 {
		rows = levels.Rows()
	}
	before, _, err := f.published(rows)
	err = errors.Join(err, catalog.Within("--tries", f.tries, 1, 1000), catalog.Within("--jobs", f.jobs, 0, 64))
	if f.publish != "" && !f.add && f.only != levels.Letters() {
		err = errors.Join(err, errors.New("--only: want --add beside --publish, or the other columns would be lost"))
	}
	if f.only == "" || strings.Trim(f.only, levels.Letters()) != "" {
		err = errors.Join(err, fmt.Errorf("--only %q: want letters of columns, of %s", f.only, levels.Letters()))
	}
	if err != nil {
		return err
	}
	if f.jobs > 0 {
		if err := os.MkdirAll(f.out, 0o755); err != nil { //nolint:gosec // reports are to be read by others
			return named("--out", err)
		}
		log, _, err := lab.OpenLog(f.out)
		if err != nil {
			return named("--out", err)
		}
		defer func() { _ = log.Close() }() // it only marks the directory as in use
	}
	jobs, all, err := f.plan(ctx, rows, before, stderr)
	if err != nil {
		return err
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	if err := makeAll(ctx, jobs, own, f.jobs, stderr); err != nil {
		return err
	}
	for _, j := range jobs {
		j.of.Files[j.run] = j.result()
	}
	page, around, err := f.published(rows) // again: another one may have published since
	if err != nil {
		return err
	}
	had := page.Tries()
	page = page.Add(all, rows, f.only)
	asked := page
	asked.Rows = slices.DeleteFunc(slices.Clone(page.Rows), func(r levels.Row) bool {
		return !slices.Contains(rows, r.Lock)
	})
	for _, part := range []table.Table{asked.Glyphs(f.only), asked.Columns(f.only)} {
		if err := table.Console(stdout, part, widthOf(stdout)); err != nil {
			return err
		}
	}
	for _, row := range asked.Rows {
		for _, c := range row.Cells {
			switch {
			case !strings.Contains(f.only, c.Letter):
			case c.Shown > 0:
				fmt.Fprintf(stdout, "%s %s  %s\n", row.Lock, c.Letter, c.Command())
			case c.Glyph == "?":
				fmt.Fprintf(stdout, "%s %s  undecided: %s\n", row.Lock, c.Letter, c.Why)
			}
		}
	}
	if f.publish == "" {
		return nil
	}
	if f.add {
		fmt.Fprintf(stderr, "locklab: %s had %d tries and has %d\n", f.publish, had, page.Tries())
	}
	return f.write(page, around, jobs)
}

// The lines between which README.md has the table of levels.
const (
	levelsBegin = "<!-- levels: made by locklab levels -->\n"
	levelsEnd   = "<!-- end of levels -->\n"
)

// published is the page that the tries are added to, and the text of README.md before and after its tables. Without
// --add that page is empty, and it refuses to drop rows of the one there is.
func (f *levelsFlags) published(rows []string) (p levels.Page, around [2]string, err error) {
	if f.publish == "" && f.add {
		return p, around, errors.New("--add: want --publish with the directory that has the tries of before")
	} else if f.publish == "" {
		return p, around, nil
	}
	readme, path := filepath.Join(f.publish, "README.md"), filepath.Join(f.publish, result.FileName)
	text, err := os.ReadFile(readme) //nolint:gosec // the user names it
	if err != nil {
		return p, around, err
	}
	before, rest, begins := strings.Cut(string(text), levelsBegin)
	_, after, ends := strings.Cut(rest, levelsEnd)
	if around = [2]string{before, after}; !begins || !ends {
		return p, around, fmt.Errorf("%s: want a line %q and below it a line %q, between which the table is written",
			readme, strings.TrimSpace(levelsBegin), strings.TrimSpace(levelsEnd))
	}
	text, err = os.ReadFile(path) //nolint:gosec // likewise
	switch {
	case errors.Is(err, fs.ErrNotExist) && !f.add:
		return p, around, nil
	case err != nil:
		return p, around, fmt.Errorf("--publish: %w", err)
	}
	if err = strictjson.Decode(text, &p); err == nil {
		err = p.Check()
	}
	if err != nil {
		return p, around, fmt.Errorf("--publish: %s: %w", path, err)
	}
	for _, row := range p.Rows {
		if !f.add && !slices.Contains(rows, row.Lock) {
			return p, around, fmt.Errorf("--publish: %s has a row of %s, which would be lost: --add keeps it", path, row.Lock)
		}
	}
	if !f.add {
		p = levels.Page{}
	}
	return p, around, nil
}

// plan makes the jobs of the rows and of the controls, whose silence would leave a column undecided. A control that is
// no row has only the runs of its column.
func (f *levelsFlags) plan(
	ctx context.Context, rows []string, before levels.Page, stderr io.Writer,
) (jobs []job, all []levels.Result, err error) {
	names := slices.Clone(rows)
	for _, a := range levels.Anomalies() {
		names = append(names, a.Control)
	}
	asked := map[string]library{}
	config := func(flags ...string) (lab.Config, error) {
		one := &runFlags{Config: lab.Config{Suite: true}, asked: asked}
		if err := one.parse(flags); err != nil {
			return lab.Config{}, err
		}
		c, _, err := one.config(ctx, stderr)
		return c, err
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		row := slices.Contains(rows, name)
		what := map[bool]string{true: "row", false: "control"}[row]
		if a, is := adapters.Find(name); !is {
			if _, err := catalog.ParseList([]string{name}); err != nil {
				return nil, nil, named("LOCK", err)
			}
		} else if a.Installed() != nil {
			fmt.Fprintf(stderr, "locklab: no %s %s: %v\n", what, name, a.Installed())
			continue
		}
		c, err := config("--locks", name, "--scenarios", "baseline")
		if err != nil {
			return nil, nil, err
		}
		if len(c.Locks) == 0 {
			fmt.Fprintf(stderr, "locklab: no %s: %s\n", what, strings.Join(c.Unavailable, "; "))
			continue
		}
		lock := c.Locks[0]
		r := levels.Result{
			Lock: name, Lease: lock.Lease,
			Files: map[string]result.File{}, Unfit: map[string]result.Unfit{},
			Again: map[string]string{}, Does: map[string]string{},
		}
		fit := map[string]lab.Config{} // by the names of the runs
		for _, run := range levels.Runs() {
			if !levels.Needs(f.only, name, run.Name, row) {
				continue
			}
			c, err := config(run.Flags(name, lock.Lease, 1)...)
			switch {
			case err != nil:
				return nil, nil, err
			case lock.Traits.Agree == locks.AgreeNobody && run.Scenario != "herd":
				r.Unfit[run.Name] = result.Unfit{Why: "masters agree on nothing, so that two hold at once all the time"}
			case len(c.Unfit) > 0:
				_, why, _ := strings.Cut(c.Unfit[0].Why, ": ") // behind the file and the line
				if _, behind, cut := strings.Cut(why, ": "); cut && strings.HasPrefix(why, "fault ") {
					why = behind
				}
				why, _, _ = strings.Cut(why, ": want ") // of a scenario
				r.Unfit[run.Name] = result.Unfit{Why: why, NotHere: c.Unfit[0].NotHere}
			default:
				r.Does[run.Name] = strings.Join(run.Flags(name, lock.Lease, 1), " ") + " " + c.Scenarios[0].Does
				fit[run.Name] = c
			}
		}
		for _, run := range levels.Runs() {
			c, fits := fit[run.Name]
			if !fits {
				continue
			}
			tries, lack := f.tries, 0
			if row {
				lack = before.Lack(r, run.Name, f.only, true, tries)
			}
			if levels.Needs(f.only, name, run.Name, false) { // one silent run of a control leaves a column open
				tries = max(tries, 3*run.Tries)
				lack = max(lack, before.Lack(r, run.Name, f.only, false, tries))
			}
			dir := filepath.Join(f.out, strings.NewReplacer(":", "+", ",", "+").Replace(name), run.Name)
			if !hasResult(dir) && (lack == 0 || f.jobs == 0) {
				continue
			}
			flags := run.Flags(name, lock.Lease, max(lack, 1))
			c.Repeat = run.Repeat(max(lack, 1))
			_, about := lab.Remaining([]lab.Config{c}, nil)
			r.Again[run.Name] = "locklab run " + strings.Join(run.Flags(name, lock.Lease, 1), " ")
			j := job{r, run.Name, dir, flags, about + time.Second}
			if err := j.check(f.jobs > 0); err != nil {
				return nil, nil, err
			}
			jobs = append(jobs, j)
		}
		all = append(all, r)
	}
	return jobs, all, nil
}

// repeats are how often a run was to be made.
var repeats = regexp.MustCompile(` --repeat \d+`)

// check refuses a directory with a run that was made with other flags. How often matters where a whole one is to go on.
func (j job) check(goOn bool) error {
	f, err := result.Read(j.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	made, flags := strings.Join(f.Run.Args, " ")+" --out", strings.Join(j.flags, " ")
	if !goOn || f.Run.Interrupted || f.Run.Unfinished {
		made, flags = repeats.ReplaceAllString(made, ""), repeats.ReplaceAllString(flags, "")
	}
	if err == nil && !strings.Contains(made, flags+" --out") {
		err = fmt.Errorf("%s has a run with other flags than %s: want another --out, or --jobs 0 to show or publish it",
			j.dir, flags)
	}
	return err
}

// result is what the job left; one that was not made to its end has a row besides that decides nothing.
func (j job) result() result.File {
	f, err := result.Read(j.dir)
	if err != nil || f.Run.Unfinished || f.Run.Interrupted || len(f.Rows) == 0 {
		none := result.Row{Lock: j.of.Lock}
		none.Verdict.Sound = result.Statement{State: result.Unknown, Code: result.GivenUp}
		f.Rows = append([]result.Row{none}, f.Rows...) // what the others say of why comes behind it
	}
	return f
}

// undecided is why a row of the job says nothing; "" if all do.
func (j job) undecided() (why string) {
	for _, r := range j.result().Rows {
		if !levels.Tells(&r) {
			why = "undecided: " + string(cmp.Or(r.Verdict.Sound.Code, r.Verdict.Why.Code))
		}
	}
	return why
}

// makeAll runs undecided jobs, atOnce of them at a time; what is still undecided runs once more, alone.
func makeAll(ctx context.Context, jobs []job, own string, atOnce int, stderr io.Writer) error {
	for _, atOnce := range []int{atOnce, min(atOnce, 1)} {
		todo := slices.DeleteFunc(slices.Clone(jobs), func(j job) bool { return atOnce == 0 || j.undecided() == "" })
		if len(todo) == 0 {
			return nil
		}
		// Libraries of a slow language are neighbours in the list.
		seed.Seed(1).Rand().Shuffle(len(todo), func(i, k int) { todo[i], todo[k] = todo[k], todo[i] })
		var left time.Duration
		for _, j := range todo {
			left += j.about
		}
		fmt.Fprintf(stderr, "locklab: %s, %d at once, about %v\n", sentence.Plural(len(todo), "run"), atOnce,
			sentence.Lasting((left / time.Duration(atOnce)).Round(time.Second)))
		var mu sync.Mutex
		done, group := 0, new(errgroup.Group)
		group.SetLimit(atOnce)
		for _, j := range todo {
			group.Go(func() error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				began := clock.System().Now()
				said := j.make(ctx, own)
				mu.Lock()
				defer mu.Unlock()
				done, left = done+1, left-j.about
				fmt.Fprintf(stderr, "%4d/%d  %s %s: %s in %v of %v; %v left\n", done, len(todo), j.of.Lock, j.run, said,
					clock.System().Now().Sub(began).Round(time.Second), j.about.Round(time.Second),
					(left / time.Duration(atOnce)).Round(time.Second))
				return ctx.Err()
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// make runs the job, or what is left of it, and says what came of it.
func (j job) make(ctx context.Context, own string) (said string) {
	flags := append(slices.Clone(j.flags), "--out", j.dir)
	if hasResult(j.dir) {
		flags = []string{"--resume", j.dir, "--redo", "inconclusive"}
	}
	cmd := exec.CommandContext(ctx, own, slices.Concat([]string{"run", "--ui", "off"}, flags)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	if out, err := cmd.CombinedOutput(); err != nil && !hasResult(j.dir) {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Sprintf("%v: %s", err, lines[len(lines)-1])
	}
	return cmp.Or(j.undecided(), "decided")
}

// write publishes the page with its result.json, picture and histories.
func (f *levelsFlags) write(p levels.Page, around [2]string, jobs []job) error {
	if err := f.keepAll(p, jobs); err != nil {
		return err
	}
	text, err := json.Marshal(p, jsontext.WithIndent(" "))
	if err != nil {
		return err
	}
	return errors.Join(
		atomicfile.Write(filepath.Join(f.publish, result.FileName), append(text, '\n')),
		atomicfile.Write(filepath.Join(f.publish, "levels.svg"), []byte(p.Picture())),
		atomicfile.Write(filepath.Join(f.publish, "README.md"),
			[]byte(around[0]+levelsBegin+"\n"+p.Markdown()+"\n"+levelsEnd+around[1])),
	)
}

// maxKept is the size up to which a packed history is published.
const maxKept = 32 << 10

// keepAll publishes packed histories that show something, names them in their cells, and removes all others.
func (f *levelsFlags) keepAll(p levels.Page, jobs []job) error {
	dir := filepath.Join(f.publish, lab.HistoryDir)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // to be read by others
		return err
	}
	kept := map[string]bool{}
	for _, row := range p.Rows {
		for k, c := range row.Cells {
			kept[filepath.Base(c.History)] = true
			at := slices.IndexFunc(jobs, func(j job) bool { return j.of.Lock == row.Lock && j.run == c.Run })
			if at < 0 {
				continue
			}
			packed, err := jobs[at].packed(c.Mark)
			if err != nil {
				return err
			}
			if len(packed) > maxKept {
				continue
			}
			name := fmt.Sprintf("%s.%s.%s.jsonl.gz", filepath.Base(filepath.Dir(jobs[at].dir)), c.Run, c.Mark)
			if err := atomicfile.Write(filepath.Join(dir, name), packed); err != nil {
				return err
			}
			row.Cells[k].History, kept[name] = filepath.Join(lab.HistoryDir, name), true
		}
	}
	files, err := os.ReadDir(dir)
	for _, file := range files {
		if !kept[file.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(dir, file.Name())))
		}
	}
	return err
}

// packed is the history of a run. Where that is above maxKept, it is of the resource of a violation alone.
func (j job) packed(mark string) ([]byte, error) {
	rows := j.result().Rows
	r := rows[slices.IndexFunc(rows, func(r result.Row) bool { return levels.Mark(&r) == mark })]
	text, err := os.ReadFile(filepath.Join(j.dir, r.History))
	if err != nil {
		return nil, err
	}
	whole, err := pack(string(text))
	v, _ := r.Subject()
	if err != nil || len(whole) <= maxKept || v == nil {
		return whole, err
	}
	var part strings.Builder
	for line := range strings.Lines(string(text)) {
		others := strings.Contains(line, `"resource":"`) && !strings.Contains(line, `"resource":"`+v.Resource+`"`)
		if !others && !strings.Contains(line, `"kind":"usage"`) {
			part.WriteString(line)
		}
	}
	return pack(part.String())
}

func pack(text string) ([]byte, error) {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // there is this level
	_, err := io.WriteString(w, text)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}
