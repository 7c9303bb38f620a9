package suite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/cmd/locklab/internal/suite"
	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/workloads/result"
)

const good = `name: mine
summary: What I want to know.
parts:
  - {locks: "redis,redlock", scenarios: baseline, workload: mutex, duration: 2s}
claims:
  - claim: It is safe.
    source: I say so.
    cells:
      - {lock: redis, scenario: baseline, workload: mutex, shows: safe}
      - {lock: redlock, scenario: baseline, workload: mutex, shows: [live, stalls]}
`

func TestParse(t *testing.T) {
	s, err := suite.Parse("f.yaml", []byte(good))
	must.Do(t, err)
	want := []suite.Flag{{"locks", "redis,redlock", 4}, {"scenarios", "baseline", 4}, {"workload", "mutex", 4}, {"duration", "2s", 4}}
	if diff := cmp.Diff(want, s.Parts[0].Flags); diff != "" {
		t.Error(diff)
	}
	if got := s.Claims[0].Cells[1].Shows; !cmp.Equal(got, []string{"live", "stalls"}) {
		t.Errorf("shows %v", got)
	}
	made := map[result.Key]bool{s.Claims[0].Cells[0].Key: true}
	missing := s.CheckCells(made)
	if missing == nil || !errors.Is(missing, suite.ErrInvalid) || !strings.Contains(missing.Error(), "f.yaml:10: claims: no part runs redlock under baseline with the workload mutex") {
		t.Errorf("a row that nobody makes: %v", missing)
	}
	made[s.Claims[0].Cells[1].Key] = true
	if err := s.CheckCells(made); err != nil {
		t.Error(err)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ old, new, want string }{
		"no parts":       {"  - {locks: \"redis,redlock\", scenarios: baseline, workload: mutex, duration: 2s}\n", "", "f.yaml:3: parts: missing: want at least one comparison"},
		"a strange word": {"shows: safe", "shows: fast", `f.yaml:9: claims[0].cells[0].shows: "fast": want one of safe, unsafe, live, stalls, down`},
		"mixed words":    {"shows: [live, stalls]", "shows: [live, safe]", `f.yaml:10: claims[0].cells[1].shows[1]: "safe": want one of live, stalls, down`},
		"no source":      {"    source: I say so.\n", "", "claims[0].source: missing"},
		"no figure":      {"shows: safe", "shows: speed>3", `f.yaml:9: claims[0].cells[0].shows: "speed>3": unknown figure "speed"`},
		"a difference":   {"shows: safe", `shows: "outage_ms>+3"`, `f.yaml:9: claims[0].cells[0].shows: "outage_ms>+3": want a limit without a sign`},
		"a list":         {"duration: 2s", "duration: [2s]", "parts[0].duration: want a word or a number"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(good, tt.old, tt.new, 1)
			if text == good {
				t.Fatal("nothing was replaced")
			}
			if _, err := suite.Parse("f.yaml", []byte(text)); !errors.Is(err, suite.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v; want %q", err, tt.want)
			}
		})
	}
}

// TestShared: parts that name no locks have those of the suite, without the ones that another part names.
func TestShared(t *testing.T) {
	s, err := suite.Parse("f.yaml", []byte(`name: mine
locks: "redis:ttl=1s,redlock"
parts:
  - {scenarios: "zone-latency, herd"}
  - {scenarios: baseline}
  - {scenarios: herd, locks: "redis:ttl=1s,raft"}
`))
	must.Do(t, err)
	for part, want := range []string{"redlock", "redis:ttl=1s,redlock", "redis:ttl=1s,raft"} {
		flags := s.Parts[part].Flags
		if len(flags) != 2 || flags[1].Name != "locks" || flags[1].Value != want || flags[1].Line != []int{2, 2, 6}[part] {
			t.Errorf("part %d: %+v, want %s", part, flags, want)
		}
	}
}

// rowOf is a run with these statements; safety is safe, unsafe or "" for unclear.
func rowOf(lock, safety, word string) result.Row {
	states := map[string]result.State{result.Safe: result.OK, result.Unsafe: result.Failed, "": result.Unknown}
	return result.Row{Lock: lock, Scenario: "s", Workload: "w", Verdict: result.Verdict{
		Sound: result.Statement{State: result.OK}, Safety: result.Statement{State: states[safety]}, Word: word,
	}}
}

// TestFigures: a claim may be about a figure: the median of the repeats decides. Rows that do not
// have it decide nothing.
func TestFigures(t *testing.T) {
	s, err := suite.Parse("f.yaml", []byte(strings.Replace(good, "shows: safe", "shows: outage_ms>1500", 1)))
	must.Do(t, err)
	cells := s.Claims[0].Cells[:1]
	cells[0].Lock, cells[0].Scenario, cells[0].Workload = "redis", "s", "w"
	for name, tt := range map[string]struct {
		outages []float64 // of each repeat; negative: it was not sound
		want    string
	}{
		"crossed":      {[]float64{1501}, result.ClaimShown},
		"not crossed":  {[]float64{1500}, result.ClaimRefuted},
		"once in five": {[]float64{9000, 1, 1, 1, 1}, result.ClaimRefuted},
		"not sound":    {[]float64{-1501}, result.ClaimUndecided},
	} {
		var f result.File
		for _, ms := range tt.outages {
			row := rowOf("redis", result.Safe, result.Live)
			row.Figures = map[string]float64{"outage_ms": ms}
			if ms < 0 {
				row.Verdict.Sound.State = result.Failed
			}
			f.Rows = append(f.Rows, row)
		}
		if got := suite.Decide([]suite.Claim{{Cells: cells}}, f); got[0].Verdict != tt.want {
			t.Errorf("%s: %s, want %s", name, got[0].Verdict, tt.want)
		}
	}
	if got := suite.Decide([]suite.Claim{{Cells: cells}}, result.File{Rows: []result.Row{rowOf("redis", result.Safe, result.Live)}}); got[0].Verdict != result.ClaimUndecided {
		t.Errorf("without the figure: %s", got[0].Verdict)
	}
}

func TestDecide(t *testing.T) {
	partial, unsound := rowOf("partial", result.Unsafe, result.Live), rowOf("unsound", result.Unsafe, result.Live)
	partial.Partial, unsound.Verdict.Sound.State = true, result.Failed
	f := result.File{Rows: []result.Row{
		rowOf("unsafe", result.Unsafe, result.Stalls), rowOf("safe", result.Safe, result.Live), rowOf("doubt", "", result.Down),
		rowOf("unasked", result.Safe, result.NotJudged), partial, unsound,
		rowOf("mixed", result.Safe, result.Live), rowOf("mixed", result.Unsafe, result.Stalls), rowOf("mixed", "", result.Live),
	}}
	cell := func(lock string, shows ...string) suite.Cell {
		return suite.Cell{Key: result.Key{Lock: lock, Scenario: "s", Workload: "w"}, Shows: shows}
	}
	for name, tt := range map[string]struct {
		cells []suite.Cell
		want  string
	}{
		"shown":                 {[]suite.Cell{cell("unsafe", "unsafe")}, result.ClaimShown},
		"in doubt":              {[]suite.Cell{cell("doubt", "safe")}, result.ClaimUndecided},
		"not judged":            {[]suite.Cell{cell("unasked", "live")}, result.ClaimUndecided},
		"refuted":               {[]suite.Cell{cell("safe", "unsafe")}, result.ClaimRefuted},
		"one of two words":      {[]suite.Cell{cell("unsafe", "live", "stalls")}, result.ClaimShown},
		"down is neither":       {[]suite.Cell{cell("doubt", "live", "stalls")}, result.ClaimRefuted},
		"not sound":             {[]suite.Cell{cell("unsound", "unsafe")}, result.ClaimUndecided},
		"interrupted":           {[]suite.Cell{cell("partial", "unsafe")}, result.ClaimUndecided},
		"unsafe in one repeat":  {[]suite.Cell{cell("mixed", "unsafe")}, result.ClaimShown},
		"so not safe":           {[]suite.Cell{cell("mixed", "safe")}, result.ClaimRefuted},
		"live in some":          {[]suite.Cell{cell("mixed", "live")}, result.ClaimUndecided},
		"not run":               {[]suite.Cell{cell("absent", "safe")}, result.ClaimNotRun},
		"some not run":          {[]suite.Cell{cell("absent", "safe"), cell("unsound", "unsafe")}, result.ClaimUndecided},
		"only some":             {[]suite.Cell{cell("unsafe", "unsafe"), cell("safe", "unsafe")}, result.ClaimPartly},
		"refuted and undecided": {[]suite.Cell{cell("safe", "unsafe"), cell("absent", "unsafe")}, result.ClaimUndecided},
	} {
		t.Run(name, func(t *testing.T) {
			got := suite.Decide([]suite.Claim{{Claim: "c", Source: "s", Cells: tt.cells}}, f)
			if len(got) != 1 || got[0].Verdict != tt.want || len(got[0].Evidence) != len(tt.cells) {
				t.Errorf("%+v, want %s", got, tt.want)
			}
		})
	}
}

// TestOnly: the suite of one claim has the parts that make its rows, and no others.
func TestOnly(t *testing.T) {
	track, err := suite.Load("track")
	must.Do(t, err)
	one, err := track.Only([]string{"symfony-pdo"})
	if err != nil || len(one.Claims) != 1 || one.Claims[0].ID != "symfony-pdo" || len(one.Parts) != 1 ||
		!strings.Contains(fmt.Sprint(one.Parts), "symfony-pdo") {
		t.Errorf("%+v, %v", one, err)
	}
	text := strings.NewReplacer("- claim:", "- id: mine\n    claim:", `locks: "redis,redlock", `, "").Replace(good)
	usual, err := suite.Parse("f.yaml", []byte(text))
	must.Do(t, err)
	if one, err := usual.Only([]string{"mine"}); err != nil || len(one.Parts) != 1 {
		t.Errorf("a part that names no locks: %+v, %v", one, err)
	}
	if _, err := track.Only([]string{"symfony-pod"}); err == nil || !strings.Contains(err.Error(), "symfony-pdo") {
		t.Errorf("an unknown claim: %v", err)
	}
}

// TestTrackIsWhole: each claim has its program, and each program its row in the README.
func TestTrackIsWhole(t *testing.T) {
	const adapters = "../../../../locks/adapters"
	track, err := suite.Load("track")
	must.Do(t, err)
	for _, c := range track.Claims {
		if found, _ := filepath.Glob(filepath.Join(adapters, "track", c.ID+".*")); len(found) != 1 {
			t.Errorf("%s: programs %v; want one", c.ID, found)
		}
	}
	readme := string(testfile.Read(t, filepath.Join(adapters, "README.md")))
	programs, _ := filepath.Glob(filepath.Join(adapters, "track", "*.*"))
	for _, program := range programs {
		id, _, _ := strings.Cut(filepath.Base(program), ".")
		inLab := slices.ContainsFunc(track.Claims, func(c suite.Claim) bool { return c.ID == id })
		if !strings.Contains(readme, "track/"+filepath.Base(program)) || inLab != strings.Contains(readme, "`--only "+id+"`") {
			t.Errorf("%s: the README names no program of it, or another command", id)
		}
	}
}
