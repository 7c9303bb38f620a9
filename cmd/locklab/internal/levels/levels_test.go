package levels_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/levels"
	"locklab/internal/must"
	"locklab/internal/strictjson"
	"locklab/locks/adapters"
	"locklab/workloads/result"
)

// seeds are those that runs have had.
var seeds uint64

// file is the result of runs of a lock, each safe or not, sound or not.
func file(zombieMS float64, runs ...string) (f result.File) {
	for i, run := range runs {
		seeds++
		r := result.Row{Repeat: i + 1, Seed: seeds, Figures: map[string]float64{"zombie_ms": zombieMS}}
		r.Verdict.Sound.State, r.Verdict.Safety.State = result.OK, result.OK
		switch run {
		case "unsafe":
			r.Verdict.Safety.State = result.Failed
		case "unsound": // what it says counts for nothing
			r.Verdict.Sound = result.Statement{State: result.Unknown, Code: result.Saturated}
			r.Verdict.Safety.State = result.Failed
		case "silent": // it must be unsafe
			r.Verdict.As, r.Verdict.Why.Code = result.Silent, result.ControlSilent
		case "thrice":
			for at := range 3 { // nodes are killed and paused while another is cut off
				ms := float64(1000 * at)
				r.Faults = append(r.Faults, result.Fault{Kind: "kill", AskedMS: ms + 100, HealMS: ms + 200},
					result.Fault{Kind: "pause", AskedMS: ms + 300, HealMS: ms + 400},
					result.Fault{Kind: "partition", AskedMS: ms, HealMS: ms + 500})
			}
			r.Faults = append(r.Faults, result.Fault{Kind: "kill", Unasked: true, AskedMS: 4000, HealMS: result.Never})
		}
		f.Rows = append(f.Rows, r)
	}
	return f
}

// TestCells: an anomaly is shown by any run; not shown in so many tries; undecided where no run was
// sound, or the control is silent; or does not apply.
func TestCells(t *testing.T) {
	none := levels.Result{Lock: "none", Files: map[string]result.File{"crowd": file(0, "safe", "unsafe")}}
	multiphase := levels.Result{Lock: "multiphase", Files: map[string]result.File{"cut": file(0, "safe"), "reset": file(0, "safe")}}
	kazoo := levels.Result{Lock: "kazoo", Files: map[string]result.File{"alone": file(1234, "unsafe")}}
	mine := levels.Result{
		Lock: "mine",
		Files: map[string]result.File{
			"crowd": file(0, "silent", "thrice", "unsound"), "cut": file(0, "safe"), "crash": file(0, "unsound"), "power": file(0, "silent"), "alone": file(0, "safe"), "client-clock": file(0, "safe"),
			"dies": {}, "lost": {},
		},
		Unfit: map[string]result.Unfit{"failover": {Why: "it has no replica"}, "leader-dies": {Why: "it has no leader"}, "server-clock": {Why: "its clock cannot be set", NotHere: true}},
	}
	dies := file(0, "safe", "safe")
	dies.Rows[0].Figures["resource_outage_ms"], dies.Rows[1].Figures["resource_outage_ms"] = 2799, 2801
	lease := levels.Result{Lock: "redis-py", Lease: time.Second, Files: map[string]result.File{"dies": dies}}
	crowd := file(0, "safe")
	crowd.Rows[0].Figures = map[string]float64{"requests": 78, "acquired": 0.5, "overtaken_max": 2}
	few := levels.Result{Lock: "few", Files: map[string]result.File{"line": crowd}}
	apart := file(0, "unsafe")
	apart.Rows[0].Figures["overtaken_max"] = 3
	noTurns := levels.Result{Lock: "apart", Files: map[string]result.File{"line": apart}}
	control := levels.Result{Lock: "redis", Files: map[string]result.File{"server-clock": file(0, "unsafe")}}
	all := []levels.Result{none, multiphase, kazoo, mine, lease, few, noTurns, control}
	for _, c := range []struct {
		of           levels.Result
		letter, want string
	}{
		{none, "A", "✗ 1/2"},
		{mine, "A", "✓ 4"},
		{mine, "B", "? the control multiphase was silent"},
		{mine, "E", "? crash: saturated"},
		{mine, "F", "? the control redis:persistence=everysec: it was not run"},
		{mine, "G", "· it has no replica"},
		{kazoo, "J", "✗ 1.2 s"},
		{mine, "J", "✓ 1"},
		{lease, "K", "✗ 1/2"},
		{mine, "H", "· its clock cannot be set"},
		{few, "M", "? a run had too few grants to tell"},
		{noTurns, "M", "· two hold at once with nothing broken, so that waiters have no turn"},
	} {
		cell := at(t, levels.Page{}.Add(all, []string{c.of.Lock}, levels.Letters()), c.of.Lock, c.letter)
		if got := strings.TrimSpace(cell.Glyph + " " + cell.Why); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.of.Lock, c.letter, got, c.want)
		}
	}
}

// at is a cell of a page.
func at(t *testing.T, p levels.Page, lock, letter string) levels.Cell {
	t.Helper()
	for _, row := range p.Rows {
		for _, c := range row.Cells {
			if row.Lock == lock && c.Letter == letter {
				return c
			}
		}
	}
	t.Fatalf("no cell %s of %s", letter, lock)
	return levels.Cell{}
}

// TestTriesAddUp: those of a published page and of more runs, each once, while the settings are the same.
func TestTriesAddUp(t *testing.T) {
	night := func(day int, does string, files map[string]result.File) []levels.Result {
		mine := levels.Result{
			Lock: "mine", Files: files, Again: map[string]string{"alone": "again", "crowd": "again"},
			Does: map[string]string{"crowd": does, "alone": "", "crash": ""},
		}
		for name, f := range files {
			f.Run = result.Run{Started: time.Date(2026, 11, day, 23, 0, 0, 0, time.UTC), Commit: "abc", Host: result.Host{CPUs: 2, CPUModel: "mine"}}
			files[name] = f
		}
		return []levels.Result{
			{Lock: "none", Files: map[string]result.File{"crowd": file(0, []string{"safe", "unsafe"}[day%2])}, Does: map[string]string{"crowd": ""}},
			{Lock: "kazoo", Files: map[string]result.File{"alone": file(0, "unsafe")}},
			mine,
		}
	}
	first := night(28, "hold 2ms", map[string]result.File{"crowd": file(0, "safe", "thrice"), "alone": file(1234, "safe", "unsafe"), "crash": file(0, "unsound")})
	second := night(29, "hold 2ms", map[string]result.File{"crowd": file(0, "safe", "unsound"), "alone": file(2345, "unsafe", "safe"), "crash": file(0, "silent")})
	other := night(29, "hold 3ms", map[string]result.File{"crowd": file(0, "safe")})
	rows := []string{"mine", "none"}
	// published is a page as it comes back from its file.
	published := func(p levels.Page) (back levels.Page) {
		text, err := json.Marshal(p)
		must.Do(t, err)
		must.Do(t, strictjson.Decode(text, &back))
		return back
	}
	says := func(p levels.Page, letter string) string {
		c := at(t, p, "mine", letter)
		return fmt.Sprintf("%s %s: %d of %d runs, %d tries", c.Glyph, c.Why, c.Shown, c.Runs, c.Tries)
	}
	one := published(levels.Page{}.Add(first, rows, levels.Letters()))
	if got := says(one, "A"); got != "? the control none was silent: 0 of 2 runs, 4 tries" {
		t.Error(got)
	}
	one.Rows[0].Cells[9].History = "histories/first"
	two := published(one.Add(second, rows, levels.Letters()))
	for letter, want := range map[string]string{
		"A": "✓ 5 : 0 of 3 runs, 5 tries", "E": "? the control redis: it was not run: 0 of 1 runs, 1 tries", "J": "✗ 2/4 2.3 s : 2 of 4 runs, 4 tries",
	} {
		if got := says(two, letter); got != want {
			t.Errorf("%s: %s, want %s", letter, got, want)
		}
	}
	if j := at(t, two, "mine", "J"); j.History != "histories/first" || j.Again != "again" {
		t.Errorf("the first history does not stay: %+v", j)
	}
	if two.Controls[0].Shown != 1 || two.Controls[0].Runs != 2 || two.Since != "2026-11-28" || two.Date != "2026-11-29" {
		t.Errorf("control %+v, from %s until %s", two.Controls[0], two.Since, two.Date)
	}
	if diff := cmp.Diff(two, published(published(two).Add(second, rows, levels.Letters()))); diff != "" {
		t.Errorf("the same runs count twice:\n%s", diff)
	}
	if diff := cmp.Diff(two.Rows, published(published(two).Add(other, nil, levels.Letters())).Rows); diff != "" {
		t.Errorf("a row that was not asked for has changed:\n%s", diff)
	}
	anew := published(two).Add(other, rows, levels.Letters())
	if got := says(anew, "A") + ", " + says(anew, "J"); got != "✓ 1 : 0 of 1 runs, 1 tries, ✗ 2/4 2.3 s : 2 of 4 runs, 4 tries" {
		t.Errorf("where only A has other settings: %s", got)
	}
	was := file(0, "safe")
	was.Rows[0].Figures = map[string]float64{"requests": 40, "acquired": 1, "overtaken_max": 3}
	passed := published(levels.Page{}.Add(night(28, "", map[string]result.File{"line": was}), rows, levels.Letters()))
	never := published(passed).Add(night(29, "", map[string]result.File{"line": file(0, "unsafe")}), rows, levels.Letters())
	if got := says(passed, "M") + "; " + says(never, "M"); !strings.HasPrefix(got, "✗ : 1 of 1 runs, 1 tries; · two hold") {
		t.Errorf("a column that does not apply keeps what was counted: %s", got)
	}
	one = published(levels.Page{}.Add(first, rows, levels.Letters()))
	changed := levels.Result{Lock: "mine", Does: other[2].Does}
	for _, c := range []struct {
		on          levels.Page
		of          levels.Result
		run         string
		row         bool
		tries, lack int
	}{
		{two, second[2], "crowd", true, 20, 15},
		{two, second[2], "crowd", true, 5, 0}, // M and N do not apply
		{two, second[2], "alone", true, 20, 16},
		{one, second[2], "crash", true, 20, 1}, // it has decided nothing
		{two, second[0], "crowd", false, 20, 18},
		{two, levels.Result{Lock: "new", Does: map[string]string{"crowd": ""}}, "crowd", true, 20, 20},
		{two, levels.Result{Lock: "new", Does: map[string]string{"dies": "", "lost": "", "cut": ""}}, "dies", true, 20, 7}, // of K
		{two, changed, "crowd", true, 20, 20},
	} {
		if got := c.on.Lack(c.of, c.run, levels.Letters(), c.row, c.tries); got != c.lack {
			t.Errorf("%s %s, of %d tries: lacks %d, want %d", c.of.Lock, c.run, c.tries, got, c.lack)
		}
	}
	skipped := levels.Result{Lock: "mine", Does: map[string]string{"crowd": "hold 2ms", "alone": ""}}
	if diff := cmp.Diff(two.Rows, published(published(two).Add([]levels.Result{skipped}, rows, "AJMN")).Rows); diff != "" {
		t.Errorf("cells whose runs were not made now have changed:\n%s", diff)
	}
	skipped.Does["alone"] = "hold 3ms"
	if got := says(published(two).Add([]levels.Result{skipped}, rows, "J"), "J"); got != says(two, "J") {
		t.Errorf("where no run with other settings was made: %s", got)
	}
	skipped.Lock = "new"
	if c := at(t, published(two).Add([]levels.Result{skipped}, []string{"new"}, "J"), "new", "J"); c.Glyph+c.Why != "?it was not run" {
		t.Errorf("a row without runs: %+v", c)
	}
	other = night(29, "hold 4ms", map[string]result.File{"crowd": file(0, "unsound")})
	if got := says(published(two).Add(other, rows, levels.Letters()), "A"); got != "✓ 5 : 0 of 3 runs, 5 tries" {
		t.Errorf("where no run with other settings decides: %s", got)
	}
}

// TestShare: the runs of a column, and of each control, make together as many tries as are asked for, whichever apply.
func TestShare(t *testing.T) {
	for _, a := range levels.Anomalies() {
		for some := 1; some < 1<<len(a.Runs); some++ {
			of := levels.Result{Lock: a.Control, Does: map[string]string{}}
			for i, run := range a.Runs {
				if some>>i&1 == 1 {
					of.Does[run] = ""
				}
			}
			for _, row := range []bool{true, false} {
				made := 0
				for _, run := range levels.Runs() {
					if _, applies := of.Does[run.Name]; applies {
						made += run.Repeat(levels.Page{}.Lack(of, run.Name, a.Letter, row, 20)) * run.Tries
					}
				}
				_, fired := of.Does[a.Runs[0]]
				if made > 20+3*len(a.Runs) || made < 20 && (row || fired) {
					t.Errorf("%s, %v, as a row: %v: %d tries", a.Letter, of.Does, row, made)
				}
			}
		}
	}
}

// TestShareOfEach: the tries of one run do not stand for those of another one.
func TestShareOfEach(t *testing.T) {
	of := levels.Result{
		Lock: "mine", Does: map[string]string{"reset": "", "cut": ""},
		Files: map[string]result.File{"reset": file(0, "safe"), "cut": file(0, slices.Repeat([]string{"safe"}, 30)...)},
	}
	p := levels.Page{}.Add([]levels.Result{of}, []string{"mine"}, "B")
	for run, want := range map[string]int{"reset": 9, "cut": 0} {
		if got := p.Lack(of, run, "B", true, 20); got != want {
			t.Errorf("%s lacks %d tries, want %d: %+v", run, got, want, at(t, p, "mine", "B"))
		}
	}
}

// TestLevel: what is shown or undecided takes a name away, and so does it that nothing of it applies. Who never wrote late was not fenced.
func TestLevel(t *testing.T) {
	var got []string
	for _, marks := range []string{"A✓ B✓ I· E✓ G✓ H✗ D✗", "A✓ B✓ I· C✗ E✓ G✓ H· D✓", "A✓ B✓ I· C✓ D✓", "A✓ B? I✓ E✓", "A✓ B✗ H✗"} {
		var cells []levels.Cell
		for mark := range strings.FieldsSeq(marks) {
			cells = append(cells, levels.Cell{Letter: mark[:1], Glyph: mark[1:]})
		}
		got = append(got, levels.Level(cells))
	}
	want := []string{"lease-safe, crash-safe", "lease-safe, crash-safe, fenced", "lease-safe", "crash-safe", "best effort"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEveryColumnCanBeMade: of locks, scenarios and workloads that there are, and of runs that make its tries.
func TestEveryColumnCanBeMade(t *testing.T) {
	runs := map[string]bool{}
	for _, run := range levels.Runs() {
		runs[run.Name] = true
		if _, err := scenario.Load(run.Scenario, "a"); err != nil {
			t.Error(err)
		}
		flags := strings.Join(run.Flags("redis", 3*time.Second, 7), " ")
		if !strings.Contains(flags, "--repeat") || strings.Contains(flags, "%") {
			t.Errorf("%s: %s", run.Name, flags)
		}
	}
	for _, a := range levels.Anomalies() {
		for _, run := range a.Runs {
			if !runs[run] || !levels.Needs(a.Letter, a.Control, a.Runs[0], false) {
				t.Errorf("%s: there is no run %s, or its control is not in it", a.Letter, run)
			}
		}
	}
	rows := map[string]bool{}
	for _, row := range levels.Rows() {
		if _, library := adapters.Find(row); !library {
			if _, err := catalog.ParseList([]string{row}); err != nil {
				t.Error(err)
			}
		}
		rows[row] = true
	}
	apart := map[string]string{
		"local":           "between masters it is none",
		"lamport":         "one peer that does not answer blocks it, so that most faults show nothing else",
		"ricart-agrawala": "likewise",
		"2pc":             "likewise",
	}
	for _, e := range catalog.Entries() {
		if rows[e.Name] == (apart[e.Name] != "") {
			t.Errorf("%s: want it in a row, or a reason in the list of this test", e.Name)
		}
	}
	for name := range adapters.Promises() {
		if !rows[name] {
			t.Errorf("promises.yaml speaks of %s, which has no row", name)
		}
	}
}

// TestHowOften: a cell has the count of the run that shows it most often. Counts that belong to no run are one group.
func TestHowOften(t *testing.T) {
	mine := levels.Result{Lock: "redis-py", Files: map[string]result.File{}, Again: map[string]string{"cut": "--scenarios zone-partition -"}}
	of := func(unsafe, safe int) result.File {
		return file(0, append(slices.Repeat([]string{"unsafe"}, unsafe), slices.Repeat([]string{"safe"}, safe)...)...)
	}
	mine.Files["cut"], mine.Files["reset"] = of(1, 4), of(2, 1)
	p := levels.Page{}.Add([]levels.Result{mine}, []string{"redis-py"}, "B")
	if got := at(t, p, "redis-py", "B"); got.Glyph != "✗ 2/3" || got.Shown != 3 || got.Runs != 8 || got.Command() != "--scenarios zone-partition - --repeat 15" {
		t.Errorf("%+v", got)
	}
	before := levels.Page{Rows: []levels.Row{{Lock: "redis-py", Cells: slices.Clone(p.Rows[0].Cells)}}}
	before.Rows[0].Version = p.Rows[0].Version
	before.Rows[0].Cells[1].By = nil
	mine.Files["cut"], mine.Files["reset"] = of(0, 1), of(0, 1)
	if got := at(t, before.Add([]levels.Result{mine}, []string{"redis-py"}, "B"), "redis-py", "B"); got.Glyph != "✗ 3/8" {
		t.Errorf("%+v", got)
	}
	if got := p.Picture(); !strings.Contains(got, ">✗2/3<") {
		t.Errorf("the picture does not say how often:\n%s", got)
	}
	before.Rows[0].Version = "of before"
	kept := before.Add([]levels.Result{{Lock: "redis-py"}}, []string{"redis-py"}, "A") // nothing was run
	if got := at(t, kept, "redis-py", "B"); got.Runs == 0 {
		t.Errorf("a cell of another version has gone, and none has come: %+v", got)
	}
	after := before.Add([]levels.Result{mine}, []string{"redis-py"}, "A")
	if got := at(t, after, "redis-py", "B"); after.Rows[0].Version != p.Rows[0].Version || got.Glyph != "?" || got.Runs != 0 {
		t.Errorf("a cell of another version has stayed: %+v", got)
	}
}

// TestPage: a shown cell leads to its history, the page lists the promise that it breaks, and the reasons of cells
// without a decision.
func TestPage(t *testing.T) {
	shown := file(1234, "unsafe")
	shown.Run.Started = time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	shown.Run.Commit, shown.Run.Host = "abc", result.Host{CPUs: 2, CPUModel: "mine"}
	shown.Run.Versions = map[string]string{"etcd": "etcd 3", "locklab": "v0", "raft": "v0", "go.etcd.io/etcd/client/v3": "v3.7.3"}
	tooz := levels.Result{
		Lock: "tooz-redis", Files: map[string]result.File{"alone": shown, "crowd": file(0, "safe")},
		Again: map[string]string{"alone": "locklab run --locks tooz-redis"}, Unfit: map[string]result.Unfit{"failover": {Why: "no replica"}},
	}
	none := levels.Result{Lock: "none", Files: map[string]result.File{"crowd": file(0, "unsafe"), "line": file(0, "unsafe")}, Unfit: tooz.Unfit}
	late := levels.Result{Lock: "redis", Files: map[string]result.File{"stop": file(0, "safe")}, Again: map[string]string{"stop": "locklab run --locks redis"}}
	late.Files["stop"].Rows[0].Figures["stale_writes"] = 1
	p := levels.Page{}.Add([]levels.Result{tooz, none, late}, []string{"tooz-redis", "none", "redis"}, levels.Letters())
	for i, c := range p.Rows[2].Cells {
		if c.Letter == "J" {
			p.Rows[2].Cells[i].History = "histories/tooz-redis.alone.jsonl.gz"
		}
	}
	page := p.Markdown()
	for _, want := range []string{
		"Measured from 2026-11-29 until 2026-11-29 with 2 CPUs (mine), etcd 3; [result.json]", "| tooz-redis | ✓ 1 |",
		"| A | two at once, calm | two held at once, or a token went back, with nothing broken | the verdict | herd | none | 1 of 1 |",
		"| [✗ 1.2 s !](<histories/tooz-redis.alone.jsonl.gz>) |", "| tooz-redis | J | only one",
		"| lease-safe |", "| G | · no replica | all rows except redis |",
		"| M | · two hold at once with nothing broken, so that waiters have no turn | none |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q in\n%s", want, page)
		}
	}
	if len(p.Rows) != 3 || p.Controls[0].Shown != 1 {
		t.Errorf("%d rows, control %+v", len(p.Rows), p.Controls[0])
	}
}
