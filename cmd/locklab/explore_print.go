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
	line := func(what, text string) {
		fmt.Fprintf(&b, "%s %s\n", padded(what, 10), text)
	}
	line("lock", t.Spec)
	line("explored", t.scope())
	for i, m := range t.modelled() {
		line([]string{"modelled", ""}[min(i, 1)], m)
	}
	for i, c := range t.checks() {
		line([]string{"checked", ""}[min(i, 1)], c)
	}
	for i, s := range t.seen() {
		line([]string{"seen", ""}[min(i, 1)], s)
	}
	memory := fmt.Sprintf("%.0f bytes a state", t.BytesPerState())
	if t.peak > 0 {
		memory += fmt.Sprintf(", %s in all at most", mebibytes(t.peak))
	}
	line("speed", fmt.Sprintf("%s, %s states/s, %s", sentence.Lasting(t.elapsed).String(), lang.Group(int64(t.statesPerSecond())), memory))
	line("verdict", t.conclusion())
	if t.Trace != nil {
		b.WriteString("\n")
		if err := t.Trace.WriteTextWithin(&b, width); err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n%s\n", t.Violation)
	}
	if t.page != "" {
		line("report", t.page)
	}
	_, err := io.WriteString(w, folded(w, b.String()))
	return err
}

// seen says how much, and what may have been missed of it.
func (t tale) seen() []string {
	out := []string{fmt.Sprintf("%s states, %s moves, up to %d moves away", lang.Group(t.States), lang.Group(t.Transitions), t.Depth)}
	if t.Scope.Deep {
		out = append(out, fmt.Sprintf("the probability that a state was missed is below %.1g", t.Missed()))
	}
	if t.Shortened {
		out = append(out, "timestamps far apart were taken for somewhat closer ones: states may have been taken for each other")
	}
	return out
}

// scope says what was explored.
func (t tale) scope() string { return strings.Join(t.Explored(), ", ") }

func (t tale) modelled() []string {
	out := t.Modelled()
	if t.cohort {
		out = append(out, "one client at each peer: no cohort forms, and nothing is said of one")
	}
	return out
}

// checks says what was checked, and how far.
func (t tale) checks() []string {
	out := []string{fmt.Sprintf("mutual exclusion: %s", t.outcome(explore.TwoHold, "never two holders"))}
	out = append(out, fmt.Sprintf("clients: %s", t.outcome(explore.Untold, "each is told of every hold and of its end")))
	if len(t.Leases) > 0 {
		out = append(out, fmt.Sprintf("fencing tokens: %s", t.outcome(explore.TokenBack, "each above all before")))
	}
	out = append(out, fmt.Sprintf("no stuck state: %s", t.stuck()))
	if t.Scope.Bypass > 0 {
		out = append(out, fmt.Sprintf("bounded bypass: %s", t.outcome(explore.Starves, fmt.Sprintf("no waiting peer is passed more than %d times", t.Scope.Bypass))))
	}
	return out
}

func (t tale) outcome(violation, good string) string {
	switch {
	case t.Violation == violation:
		return fmt.Sprintf("VIOLATED, %s", violation)
	case t.Ended == explore.Complete:
		return good
	default:
		return fmt.Sprintf("%s, as far as was seen", good)
	}
}

func (t tale) stuck() string {
	anywhere := t.Scope.Stuck == explore.StuckAnywhere
	switch {
	case t.Scope.Stuck == explore.StuckUnchecked:
		return "not checked"
	case t.Violation == explore.Stuck:
		return fmt.Sprintf("VIOLATED, %s", t.Violation)
	case t.Scope.Deep && anywhere:
		return t.outcome(explore.Stuck, "only dead ends: in no state in which somebody waits, nothing is left to happen")
	case t.Scope.Deep:
		return t.outcome(explore.Stuck, "only dead ends: in no state with all links up in which somebody waits, nothing is left to happen")
	case t.StuckChecked && anywhere:
		return fmt.Sprintf("in all states in which somebody waits, which are %s, each of them can still get the lock", lang.Group(t.StuckStates))
	case t.StuckChecked:
		return fmt.Sprintf("in all states with all links up in which somebody waits, which are %s, each of them can still get the lock", lang.Group(t.StuckStates))
	default:
		return "only dead ends, as far as was seen; the rest comes after the whole search"
	}
}

func (t tale) conclusion() string {
	var why string
	switch t.Ended {
	case explore.Complete:
		return fmt.Sprintf("safe within these bounds, and nothing is said beyond them: %s", t.scope())
	case explore.Violated:
		return fmt.Sprintf("VIOLATED: %s, after %d moves at the least", t.Violation, len(t.Trace.Steps))
	case explore.StatesBound:
		why = "--states-max ended the search"
	case explore.MemoryBound:
		why = "--memory-max ended the search"
	case explore.Interrupted:
		why = "interrupted"
	}
	return fmt.Sprintf("undecided: %s; nothing was violated as far as was seen, up to %d moves away: %s", why, t.Depth, t.scope())
}

// writeJSON prints the result for programs.
func (t tale) writeJSON(w io.Writer) error {
	var missed *float64
	if t.Scope.Deep {
		missed = new(t.Missed())
	}
	english := tale{Result: t.Result, cohort: t.cohort}
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
