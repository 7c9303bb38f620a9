package reports_test

import (
	"html"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/internal/browser"
	"locklab/internal/sentence"
	"locklab/reports"
	"locklab/reports/lang"
	"locklab/reports/noise"
	"locklab/reports/result"
)

// repeated gives every row of a run some repeats around its figures, up to a tenth apart.
func repeated(t *testing.T, dir string, repeats int, p99, others float64) {
	t.Helper()
	edit(t, dir, func(f *result.File) {
		for i := range f.Results {
			r := &f.Results[i]
			r.Repeats, r.PerRepeat = repeats, nil
			for k := range repeats {
				one := result.RepeatOf(*r)
				one.Figures["latency_ms.p99"] *= p99 * (1 + float64(k)/100)
				one.Figures[result.OthersField] = others
				one.Spread = map[string]float64{"latency_ms.p99": one.Figures["latency_ms.p99"] / 20, "availability": 0.001}
				r.PerRepeat = append(r.PerRepeat, one)
			}
		}
	})
}

func files(t *testing.T, dirs ...string) (all []result.File) {
	t.Helper()
	for _, dir := range dirs {
		f, err := result.Read(filepath.Join(dir, result.FileName))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// TestDifferencesAreJudged: what is shown, what is noise, and what nobody can say.
func TestDifferencesAreJudged(t *testing.T) {
	for name, tt := range map[string]struct {
		repeats  int
		p99      float64
		others   float64
		plan     string
		want     noise.Outcome
		untested bool
	}{
		"twice as slow, with repeats":        {12, 2, 0, "", noise.Shown, false},
		"the same, with repeats":             {12, 1, 0, "", noise.Noise, false},
		"twice as slow, three repeats":       {3, 2, 0, "", noise.Open, false},
		"twice as slow, one run each":        {1, 2, 0, "", noise.Open, false},
		"the same, one run each":             {1, 1.05, 0, "", noise.Noise, false},
		"twice as slow on a busy machine":    {12, 2, 0.9, "", noise.Open, true},
		"twice as slow under twice the load": {12, 2, 0, "rate=600", noise.Open, true},
	} {
		a, b := sample(t), sample(t)
		repeated(t, a, tt.repeats, 1, 0)
		repeated(t, b, tt.repeats, tt.p99, tt.others)
		edit(t, a, func(f *result.File) { f.Run.Load = "rate=300 warmup=1s" })
		edit(t, b, func(f *result.File) {
			f.Run.Load = strings.TrimSpace(tt.plan + " warmup=1s")
			if tt.plan == "" {
				f.Run.Load = "rate=300 warmup=1s"
			}
		})
		seen := 0
		for _, d := range reports.Differences(files(t, a, b)) {
			if d.Figure.Field != "latency_ms.p99" {
				continue
			}
			seen++
			if d.Outcome != tt.want && !tt.untested || (d.Untested != "") != tt.untested {
				t.Errorf("%s: %s under %s: outcome %d, untested %q", name, d.Lock, d.Scenario, d.Outcome, d.Untested)
			}
		}
		if seen != 6 {
			t.Errorf("%s: %d rows were compared, want 6", name, seen)
		}
	}
}

// TestOfWhichRunDifferencesAreNotJudged: of three runs, only that of which other things were asked.
func TestOfWhichRunDifferencesAreNotJudged(t *testing.T) {
	dirs := []string{sample(t), sample(t), sample(t)}
	for i, rate := range []string{"300", "300", "600"} {
		repeated(t, dirs[i], 12, 1, 0)
		edit(t, dirs[i], func(f *result.File) { f.Run.ID, f.Run.Load = "run"+strconv.Itoa(i), "rate="+rate })
	}
	for _, tt := range []struct {
		dirs []string
		says string
		rows int
	}{
		{dirs, "Other things were asked of the locks in run2, whose differences are not judged.", 6},
		{[]string{dirs[0], dirs[2]}, "Other things were asked of the locks, so no difference is judged.", 0},
	} {
		out := t.TempDir()
		generate(t, tt.dirs, out)
		text := string(read(t, out, reports.MarkdownFile))
		if !strings.Contains(text, tt.says) {
			t.Errorf("%d runs: no %q", len(tt.dirs), tt.says)
		}
		if n := strings.Count(text, "not judged: other conditions"); n != tt.rows {
			t.Errorf("%d runs: %d rows say that other conditions held, want %d", len(tt.dirs), n, tt.rows)
		}
	}
}

// TestComparisonTellsDifferences in words that are found again in the table.
func TestComparisonTellsDifferences(t *testing.T) {
	a, b, out := sample(t), sample(t), t.TempDir()
	repeated(t, a, 12, 1, 0)
	repeated(t, b, 12, 2, 0)
	generate(t, []string{a, b}, out)
	for _, name := range []string{reports.MarkdownFile, reports.PageFile} {
		text := html.UnescapeString(string(read(t, out, name)))
		for _, want := range []string{"Shown to differ: 6 of", "none under baseline: latency p99 +100% (worse)", "worse", "Mann-Whitney", "Holm"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
	if page := string(read(t, out, reports.PageFile)); !strings.Contains(page, `class="whisker"`) {
		t.Error("no interval is drawn")
	}
}

// TestComparisonShowsWhatItCompares: of a run of which one repeat was undisturbed, the figures of that
// one, and no others, stand beside the difference, also where nobody knows its spread.
func TestComparisonShowsWhatItCompares(t *testing.T) {
	a, b, out := sample(t), sample(t), t.TempDir()
	repeated(t, b, 3, 1, 0)
	repeated(t, a, 3, 1, 0)
	edit(t, a, func(f *result.File) {
		for i := range f.Results {
			stall := 4321.0
			f.Results[i].StallMS = &stall
			for k, one := range f.Results[i].PerRepeat {
				one.Figures[result.OutageField] = 1234
				if k > 0 {
					one.Figures[result.OthersField], one.Figures[result.OutageField] = 0.7, 4321
				}
			}
		}
	})
	generate(t, []string{a, b}, out)
	_, text, _ := strings.Cut(string(read(t, out, reports.MarkdownFile)), "## baseline")
	text, _, _ = strings.Cut(text, "## What each lock")
	if !strings.Contains(text, "1,234") || strings.Contains(text, "4,321") {
		t.Errorf("not the figures of the repeats that are compared:\n%s", text)
	}
}

// TestWhatIsLeftOutIsSaid: which repeats of which run are not compared, also where nothing is judged; and of
// a run all of whose repeats are such, that they are shown.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		busy int // of the first run's three repeats of one row
		load string
		says string
		not  string
		// apart says that the other run has no such row; else its verdict is another.
		apart bool
	}{
		"one of three":           {1, "rate=300", "are left out of the figures that are compared: 1 of none under baseline in first. Verdicts", "During all repeats", false},
		"one, nothing is judged": {1, "rate=600", "are left out of the figures that are compared: 1 of none under baseline in first. Verdicts", "During all repeats", false},
		"of a row of one run":    {1, "rate=300", "are left out of the figures that are compared: 1 of none under baseline in first. Verdicts", "with repeats during", true},
		"a verdict of all":       {1, "rate=300", "second: none under baseline, with repeats during which others used the machine: liveness is stalls; it was live.", "During all repeats", false},
		"all of them":            {3, "rate=300", "so that their figures are shown, but no difference from them is judged: none under baseline in first.", "left out of the figures that are compared", false},
	} {
		a, b, out := sample(t), sample(t), t.TempDir()
		repeated(t, a, 3, 1, 0)
		repeated(t, b, 3, 1, 0)
		edit(t, a, func(f *result.File) {
			f.Run.ID, f.Run.Load = "first", "rate=300"
			for k := range tt.busy {
				f.Results[0].PerRepeat[k].Figures[result.OthersField] = 0.7
			}
		})
		edit(t, b, func(f *result.File) {
			if f.Run.ID, f.Run.Load = "second", tt.load; tt.apart {
				f.Results = f.Results[1:]
				return
			}
			f.Results[0].Verdict.Liveness, f.Results[0].Verdict.Expected.Liveness = "stalls", []string{"stalls"}
		})
		generate(t, []string{a, b}, out)
		text := strings.ReplaceAll(string(read(t, out, reports.MarkdownFile)), "**", "")
		if !strings.Contains(text, tt.says) || strings.Contains(text, tt.not) {
			t.Errorf("%s: want %q and not %q in\n%.3000s", name, tt.says, tt.not, text)
		}
	}
}

// wide gives every row all that a comparison of this workload has columns for.
func wide(t *testing.T, dir string, times float64) {
	t.Helper()
	edit(t, dir, func(f *result.File) {
		for i := range f.Results {
			r := &f.Results[i]
			if r.Lock == "multiphase" {
				r.Lock = "multiphase:quorum"
			}
			n, rooms, stall := int64(198*times), int64(2000), 2725.4*times
			r.Duplicates = &result.Duplicates{Total: int64(251 * times), Raced: int64(229 * times), Unreachable: int64(22 * times), Warmup: int64(34 * times)}
			r.RoomsCreated, r.Overlaps, r.StallMS, r.AchievedPerS, r.Availability = &rooms, &n, &stall, 237.125*times, 0.782
			r.Verdict.Safety, r.Verdict.Expected.Safety = result.Unsafe, result.Unsafe
			r.LatencyMS = &result.Quantiles{P50: 2.41 * times, P99: 996.7 * times, P999: 1140 * times, Max: 1500 * times}
			r.AcquireMS = &result.Quantiles{P50: 2.62 * times, P99: 979.1 * times, P999: 1140 * times, Max: 1500 * times}
		}
	})
}

// scattered moves every figure of the repeats of a run a little.
func scattered(t *testing.T, dir string) {
	t.Helper()
	edit(t, dir, func(f *result.File) {
		for i := range f.Results {
			for k, one := range f.Results[i].PerRepeat {
				for field := range one.Figures {
					if field != result.OthersField {
						one.Figures[field] *= 1 - float64(k)/20
					}
				}
			}
		}
	})
}

// TestComparisonBeginsWithTheTable: warnings do not push it off the first screen, and no
// column of it is cut off.
func TestComparisonBeginsWithTheTable(t *testing.T) {
	a, b, out := sample(t), sample(t), t.TempDir()
	for dir, times := range map[string]float64{a: 1, b: 1.5} {
		wide(t, dir, times)
		repeated(t, dir, 6, times, 0)
		scattered(t, dir)
	}
	edit(t, b, func(f *result.File) {
		f.Run.Host.Kernel, f.Run.Host.CPUs, f.Run.Host.Go = "another", 64, "go1.99"
		f.Run.Versions = maps.Clone(f.Run.Versions)
		for range 20 {
			f.Run.Warnings = append(f.Run.Warnings, strings.Repeat("a long warning ", 20))
		}
	})
	generate(t, []string{a, b}, out)
	tab, _ := openBrowser(t)
	for at, page := range []string{reports.PageFile, reports.PageFile, "index.ko.html"} {
		width := []int64{360, 1280, 1280}[at]
		if err := browser.Show(tab, filepath.Join(out, page), width, 800, browser.Light); err != nil {
			t.Fatal(err)
		}
		if top := evaluate[float64](tab, t, `document.querySelector("table.compare tbody tr").getBoundingClientRect().top`); top > 780 {
			t.Errorf("%s, %d pixels wide: the first row begins %v pixels down", page, width, top)
		}
		if wide := evaluate[int64](tab, t, `[...document.querySelectorAll(".box:has(.compare)")].filter((b) => b.scrollWidth > b.clientWidth + 1).length`); wide > 0 {
			t.Errorf("%s, %d pixels wide: %d tables are cut off", page, width, wide)
		}
	}
}

// TestComparisonTakesTheWorstOfTheSame: a run with a scenario more is not the worse for it.
func TestComparisonTakesTheWorstOfTheSame(t *testing.T) {
	a, b, out := sample(t), sample(t), t.TempDir()
	edit(t, b, func(f *result.File) {
		f.Results = slices.DeleteFunc(f.Results, func(r result.Row) bool { return r.Scenario == "zone-partition" })
	})
	generate(t, []string{a, b}, out)
	text := string(read(t, out, reports.PageFile))
	const want = "of each figure the worst of 1 scenario, with that scenario; left out, because not every run has it: zone-partition"
	if !strings.Contains(text, want) || !strings.Contains(string(read(t, out, reports.MarkdownFile)), want) {
		t.Errorf("the page, or its Markdown, does not say %q", want)
	}
	_, answer, _ := strings.Cut(text, `id="answer"`)
	answer, _, _ = strings.Cut(answer, "</table>")
	if !strings.Contains(answer, "<small>baseline</small>") || strings.Contains(answer, "<small>zone-partition</small>") {
		t.Errorf("the worst is of a scenario that one run does not have:\n%s", answer)
	}
}

// TestComparisonLeadsToEvidence: every number of a comparison leads to the row's evidence in its
// own directory, in the language of the page; where there is no such page it says so.
func TestComparisonLeadsToEvidence(t *testing.T) {
	runs := []string{sample(t), sample(t)}
	for _, dir := range runs {
		generate(t, []string{dir}, "")
	}
	link := regexp.MustCompile(`<a href="([^"]*evidence[^"#]*)#([^"]*)">`)
	proven, bare := t.TempDir(), t.TempDir()
	generate(t, runs, proven)
	for page, evidence := range map[string]string{"index.html": "evidence.html", "index.ko.html": "evidence.ko.html"} {
		met := map[string]int{}
		for _, found := range link.FindAllStringSubmatch(string(read(t, proven, page)), -1) {
			way, err := url.PathUnescape(found[1])
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(proven, filepath.FromSlash(way))
			if filepath.IsAbs(way) || filepath.Base(file) != evidence || !strings.Contains(string(read(t, filepath.Dir(file), evidence)), `id="`+found[2]+`"`) {
				t.Errorf("%s leads to %s, which has no %s", page, found[1], found[2])
			}
			met[filepath.Dir(file)]++
		}
		for _, dir := range runs {
			if met[dir] < 20 { // latencies of six rows, and the answer
				t.Errorf("%s: %d links lead to one of the runs: %v", page, met[dir], met)
			}
		}
		if text := string(read(t, proven, page)); strings.Contains(text, "<code>locklab report DIR</code> writes it") {
			t.Errorf("%s: misses evidence that is there", page)
		}
	}
	generate(t, []string{sample(t), sample(t)}, bare)
	text := string(read(t, bare, "index.html"))
	if link.MatchString(text) || !strings.Contains(text, "<code>locklab report DIR</code> writes it") {
		t.Error("it is not said that there is no evidence")
	}
}

// TestComparisonSaysWhyARowIsInconclusive on its pages, once for the row, and where only what it
// came to is told.
func TestComparisonSaysWhyARowIsInconclusive(t *testing.T) {
	a, b, out := sample(t), sample(t), t.TempDir()
	const reason = "machine of the lab was saturated"
	edit(t, b, func(f *result.File) {
		for i := range f.Results {
			v := &f.Results[i].Verdict
			v.Status, v.Own, v.Reason, v.Why = result.StatusInconclusive, nil, sentence.Text{}, "the "+reason+"."
		}
	})
	rows := len(files(t, b)[0].Results)
	generate(t, []string{a, b}, out)
	for _, name := range []string{reports.MarkdownFile, reports.PageFile} {
		text := string(read(t, out, name))
		if n := strings.Count(text, reason); n != rows {
			t.Errorf("%s has the reason %d times, want it once in each of %d rows", name, n, rows)
		}
		if !strings.Contains(text, "No difference is judged: inconclusive.") || strings.Contains(text, "Some differences are not judged") {
			t.Errorf("%s does not say that no difference is judged", name)
		}
	}
	if came, known := reports.CameTo(lang.English(), out); !known || !strings.Contains(strings.Join(came.Said, " "), reason) {
		t.Errorf("it came to %v", came.Said)
	}
}

// TestAVerdictThatChangedStandsFirst: that a lock is unsafe in the other run is a finding, whatever
// the figures show.
func TestAVerdictThatChangedStandsFirst(t *testing.T) {
	a, b, out := sample(t), sample(t), t.TempDir()
	edit(t, b, func(f *result.File) {
		for i := range f.Results {
			if r := &f.Results[i]; r.Lock == "raft" {
				r.Verdict.Safety, r.Verdict.Status, r.Verdict.Liveness = result.Unsafe, result.StatusViolated, "down"
				r.ViolationsAtMS = []float64{100}
			}
		}
	})
	generate(t, []string{a, b}, out)
	const want = "raft under baseline: safety is unsafe; it was safe."
	came, known := reports.CameTo(lang.English(), out)
	if first := strings.Join(came.Said[:1], ""); !known || !strings.HasSuffix(first, want) || !strings.Contains(came.Check, want) {
		t.Errorf("it came to %q, in lists %q", came.Said, came.Check)
	}
	if text := strings.Join(came.Said, " "); !strings.Contains(text, "more verdicts are others: see the report.") {
		t.Errorf("it came to %q", text)
	}
	for _, name := range []string{reports.MarkdownFile, reports.PageFile} {
		head, _, _ := strings.Cut(string(read(t, out, name)), "of each figure the worst")
		if !strings.Contains(head, want) {
			t.Errorf("the head of %s does not say it", name)
		}
	}
}

// TestBracketsAreExplainedWhereThereAreSome, sentence by sentence.
func TestBracketsAreExplainedWhereThereAreSome(t *testing.T) {
	dir := sample(t)
	edit(t, dir, func(f *result.File) {
		for i := range f.Results {
			f.Results[i].HandoffMS = f.Results[i].LatencyMS // nothing of its interval
		}
	})
	for _, text := range reports.Headline(lang.English(), files(t, dir)[0]) {
		if strings.Contains(text, "From a release") && strings.Contains(text, "In brackets") {
			t.Errorf("no interval is known in %q", text)
		}
	}
}

// TestTheMedianOfOutagesThatWentOn is one of at least so long only if one that went on is not
// above it.
func TestTheMedianOfOutagesThatWentOn(t *testing.T) {
	for open, want := range map[int]bool{0: true, 1: true, 2: false} {
		dirs := []string{sample(t), sample(t)}
		for _, dir := range dirs {
			edit(t, dir, func(f *result.File) {
				for i := range f.Results {
					r := &f.Results[i]
					r.Repeats, r.PerRepeat, r.ZoneStallMS = 3, nil, nil
					for k := range 3 {
						one, stall := *r, 1000+200*float64(k)
						one.Measured, one.StallMS = nil, &stall
						if k == open {
							one.Measure(result.StallOpen, 1)
						}
						r.PerRepeat = append(r.PerRepeat, result.RepeatOf(one))
					}
					r.StallMS = new(1400.0)
				}
			})
		}
		out := t.TempDir()
		generate(t, dirs, out)
		if got := strings.Contains(string(read(t, out, reports.MarkdownFile)), "≥ 1,200"); got != want {
			t.Errorf("the outage of %d ms went on: that the median did: %v, want %v", 1000+200*open, got, want)
		}
		for _, d := range reports.Differences(files(t, dirs...)) {
			if d.Figure.Field == result.OutageField && d.Untested == "" {
				t.Errorf("the outage of %d ms went on: %s under %s is judged", 1000+200*open, d.Lock, d.Scenario)
			}
		}
	}
}
