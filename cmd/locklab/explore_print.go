package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/sentence"
	"locklab/locks/clock"
	"locklab/reports/lang"
	"locklab/verify/explore"
)

// tale is what there is to say of an exploration.
type tale struct {
	*explore.Result
	elapsed time.Duration
	peak    int64  // bytes of memory that the process had at most; 0 if not known
	page    string // the file that has it too
	cohort  bool   // of the lock, which is not explored
	say     *lang.Lang
}

func (t tale) exitCode() int {
	switch t.Ended {
	case explore.Complete:
		return exitOK
	case explore.Violated:
		return exitViolated
	case explore.Interrupted:
		return exitInterrupted
	default:
		return exitInconclusive
	}
}

// verdict is one word for scripts.
func (t tale) verdict() string {
	switch t.Ended {
	case explore.Complete:
		return "safe"
	case explore.Violated:
		return "violated"
	default:
		return "undecided"
	}
}

func (t tale) statesPerSecond() float64 { return float64(t.States) / max(t.elapsed.Seconds(), 1e-9) }

// write prints the result for people. The first lines say what is certain, the last
// ones depend on the machine.
func (t tale) write(w io.Writer) error {
	width, _ := progress.Width(w)
	var b strings.Builder
	say := t.say
	line := func(what, text string) {
		fmt.Fprintf(&b, "%s %s\n", padded(what, 10), text)
	}
	line(say.Text("lock"), t.Spec)
	line(say.Text("explored"), t.scope())
	for i, m := range t.modelled() {
		line([]string{say.Text("modelled"), ""}[min(i, 1)], m)
	}
	for i, c := range t.checks() {
		line([]string{say.Text("checked"), ""}[min(i, 1)], c)
	}
	for i, s := range t.seen() {
		line([]string{say.Text("seen"), ""}[min(i, 1)], s)
	}
	memory := say.Sprintf("%.0f bytes a state", t.BytesPerState())
	if t.peak > 0 {
		memory += say.Sprintf(", %s in all at most", mebibytes(t.peak))
	}
	line(say.Text("speed"), say.Sprintf("%s, %s states/s, %s", say.Lasting(t.elapsed), lang.Group(int64(t.statesPerSecond())), memory))
	line(say.Text("verdict"), t.conclusion())
	if t.Trace != nil {
		b.WriteString("\n")
		if err := t.Trace.WriteTextWithin(&b, width); err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n%s\n", say.Term(t.Violation))
	}
	if t.page != "" {
		line(say.Text("report"), t.page)
	}
	_, err := io.WriteString(w, folded(w, b.String()))
	return err
}

// seen says how much, and what may have been missed of it.
func (t tale) seen() []string {
	say := t.say
	out := []string{say.Sprintf("%s states, %s moves, up to %d moves away", lang.Group(t.States), lang.Group(t.Transitions), t.Depth)}
	if t.Scope.Deep {
		out = append(out, say.Sprintf("the probability that a state was missed is below %.1g", t.Missed()))
	}
	if t.Shortened {
		out = append(out, say.Text("timestamps far apart were taken for somewhat closer ones: states may have been taken for each other"))
	}
	return out
}

// scope says what was explored.
func (t tale) scope() string { return strings.Join(t.say.TellAll(t.Explored()), ", ") }

func (t tale) modelled() []string {
	say := t.say
	out := say.TellAll(t.Modelled())
	if t.cohort {
		out = append(out, say.Text("one client at each peer: no cohort forms, and nothing is said of one"))
	}
	return out
}

// checks says what was checked, and how far.
func (t tale) checks() []string {
	say := t.say
	out := []string{say.Sprintf("mutual exclusion: %s", t.outcome(explore.TwoHold, say.Text("never two holders")))}
	out = append(out, say.Sprintf("clients: %s", t.outcome(explore.Untold, say.Text("each is told of every hold and of its end"))))
	if len(t.Leases) > 0 {
		out = append(out, say.Sprintf("fencing tokens: %s", t.outcome(explore.TokenBack, say.Text("each above all before"))))
	}
	out = append(out, say.Sprintf("no stuck state: %s", t.stuck()))
	if t.Scope.Bypass > 0 {
		out = append(out, say.Sprintf("bounded bypass: %s", t.outcome(explore.Starves, say.Sprintf("no waiting peer is passed more than %d times", t.Scope.Bypass))))
	}
	return out
}

func (t tale) outcome(violation, good string) string {
	say := t.say
	switch {
	case t.Violation == violation:
		return say.Sprintf("VIOLATED, %s", say.Term(violation))
	case t.Ended == explore.Complete:
		return good
	default:
		return say.Sprintf("%s, as far as was seen", good)
	}
}

func (t tale) stuck() string {
	say := t.say
	anywhere := t.Scope.Stuck == explore.StuckAnywhere
	switch {
	case t.Scope.Stuck == explore.StuckUnchecked:
		return say.Text("not checked")
	case t.Violation == explore.Stuck:
		return say.Sprintf("VIOLATED, %s", say.Term(t.Violation))
	case t.Scope.Deep && anywhere:
		return t.outcome(explore.Stuck, say.Text("only dead ends: in no state in which somebody waits, nothing is left to happen"))
	case t.Scope.Deep:
		return t.outcome(explore.Stuck, say.Text("only dead ends: in no state with all links up in which somebody waits, nothing is left to happen"))
	case t.StuckChecked && anywhere:
		return say.Sprintf("in all states in which somebody waits, which are %s, each of them can still get the lock", lang.Group(t.StuckStates))
	case t.StuckChecked:
		return say.Sprintf("in all states with all links up in which somebody waits, which are %s, each of them can still get the lock", lang.Group(t.StuckStates))
	default:
		return say.Text("only dead ends, as far as was seen; the rest comes after the whole search")
	}
}

func (t tale) conclusion() string {
	say := t.say
	var why string
	switch t.Ended {
	case explore.Complete:
		return say.Sprintf("safe within these bounds, and nothing is said beyond them: %s", t.scope())
	case explore.Violated:
		return say.Sprintf("VIOLATED: %s, after %d moves at the least", say.Term(t.Violation), len(t.Trace.Steps))
	case explore.StatesBound:
		why = say.Text("--states-max ended the search")
	case explore.MemoryBound:
		why = say.Text("--memory-max ended the search")
	case explore.Interrupted:
		why = say.Text("interrupted")
	}
	return say.Sprintf("undecided: %s; nothing was violated as far as was seen, up to %d moves away: %s", why, t.Depth, t.scope())
}

// writeJSON prints the result for programs.
func (t tale) writeJSON(w io.Writer) error {
	var missed *float64
	if t.Scope.Deep {
		missed = new(t.Missed())
	}
	english := tale{Result: t.Result, cohort: t.cohort, say: lang.English()}
	return writeJSON(w, struct {
		Schema        string         `json:"schema"`
		Lock          string         `json:"lock"`
		Explored      string         `json:"explored"`
		Modelled      []string       `json:"modelled"`
		Checked       []string       `json:"checked"`
		Verdict       string         `json:"verdict"`
		Ended         string         `json:"ended"`
		Violation     string         `json:"violation,omitempty"`
		States        int64          `json:"states"`
		Moves         int64          `json:"moves"`
		Depth         int            `json:"depth"`
		ElapsedS      float64        `json:"elapsed_s"`
		StatesPerS    float64        `json:"states_per_s"`
		BytesPerState float64        `json:"bytes_per_state"`
		MemoryMax     int64          `json:"memory_bytes_max,omitempty"`
		Missed        *float64       `json:"missed_probability,omitempty"`
		Shortened     bool           `json:"timestamps_shortened,omitempty"`
		Trace         *explore.Trace `json:"trace,omitempty"`
	}{
		"locklab/explore/v1", t.Spec, english.scope(), english.modelled(), english.checks(), t.verdict(), t.Ended.String(), t.Violation,
		t.States, t.Transitions, t.Depth, t.elapsed.Seconds(), t.statesPerSecond(), t.BytesPerState(), t.peak,
		missed, t.Shortened, t.Trace,
	})
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// peakMemory is what the process had at most, where the system says so.
func peakMemory() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kB, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kB << 10
		}
	}
	return 0
}

// exploreProgress tells how far an exploration is when it takes long: in place on a
// terminal, in lines elsewhere.
type exploreProgress struct {
	w           io.Writer
	begun, told time.Time
	every       time.Duration
	inPlace     bool
}

func newExploreProgress(w io.Writer) *exploreProgress {
	p := &exploreProgress{w: w, begun: clock.System().Now(), every: 10 * time.Second}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.inPlace, p.every = true, time.Second
	}
	p.told = p.begun.Add(3*time.Second - p.every) // what is over by then says nothing
	return p
}

func (p *exploreProgress) update(now explore.Progress) {
	at := clock.System().Now()
	if at.Sub(p.told) < p.every {
		return
	}
	p.told = at
	end := "\n"
	if p.inPlace {
		end = "\x1b[K\r"
	}
	what := fmt.Sprintf("%d moves away", now.Depth)
	if now.Settling {
		what = "looking for stuck ones"
	}
	elapsed := at.Sub(p.begun)
	fmt.Fprintf(p.w, "locklab: %s states, %s, %v, %s/s, %s%s", lang.Group(now.States), what,
		sentence.Lasting(elapsed.Round(time.Second)), lang.Group(int64(float64(now.States)/elapsed.Seconds())), mebibytes(now.Memory), end)
}

// close clears the line.
func (p *exploreProgress) close() {
	if p.inPlace {
		fmt.Fprint(p.w, "\x1b[K")
	}
}
