package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"locklab/locks/clock"
	"locklab/verify/explore"
)

// tale is what there is to say of an exploration.
type tale struct {
	*explore.Result
	elapsed time.Duration
	peak    int64  // bytes of memory that the process had at most; 0 if not known
	page    string // the file that has it too
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
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", what, fmt.Sprintf(format, args...))
	}
	line("lock", "%s", t.Spec)
	line("explored", "%v", t.Scope)
	if t.Leases != "" {
		line("", "%s", t.Leases)
	}
	for i, m := range t.Modelled() {
		line([]string{"modelled", ""}[min(i, 1)], "%s", m)
	}
	for i, c := range t.checks() {
		line([]string{"checked", ""}[min(i, 1)], "%s", c)
	}
	line("seen", "%s", t.seen())
	if t.Scope.Deep {
		line("", "the probability that a state was missed is below %.1g", t.Missed())
	}
	if t.Shortened {
		line("", "timestamps far apart were taken for somewhat closer ones: states may have been taken for each other")
	}
	memory := fmt.Sprintf("%.0f bytes a state", t.BytesPerState())
	if t.peak > 0 {
		memory += fmt.Sprintf(", %s in all at most", mebibytes(t.peak))
	}
	line("speed", "%.1f s, %s states/s, %s", t.elapsed.Seconds(), grouped(int64(t.statesPerSecond())), memory)
	line("verdict", "%s", t.conclusion())
	if t.Trace != nil {
		b.WriteString("\n")
		if err := t.Trace.WriteText(&b); err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n%s\n", t.Violation)
	}
	if t.page != "" {
		line("report", "%s", t.page)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t tale) seen() string {
	return fmt.Sprintf("%s states, %s moves, up to %d moves away", grouped(t.States), grouped(t.Transitions), t.Depth)
}

// checks says what was checked, and how far.
func (t tale) checks() []string {
	out := []string{"mutual exclusion: " + t.outcome(explore.TwoHold, "never two holders")}
	out = append(out, "clients: "+t.outcome(explore.Untold, "each is told of every hold and of its end"))
	if t.Leases != "" {
		out = append(out, "fencing tokens: "+t.outcome(explore.TokenBack, "each above all before"))
	}
	out = append(out, "no stuck state: "+t.stuck())
	if t.Scope.Bypass > 0 {
		out = append(out, "bounded bypass: "+t.outcome(explore.Starves, fmt.Sprintf("no waiting peer is passed more than %d times", t.Scope.Bypass)))
	}
	return out
}

func (t tale) outcome(violation, good string) string {
	switch {
	case t.Violation == violation:
		return "VIOLATED, " + violation
	case t.Ended == explore.Complete:
		return good
	default:
		return good + ", as far as was seen"
	}
}

func (t tale) stuck() string {
	where := "in all states with all links up in which somebody waits, "
	if t.Scope.Stuck == explore.StuckAnywhere {
		where = "in all states in which somebody waits, "
	}
	if t.Scope.Deep {
		where = strings.Replace(where, "in all states", "only dead ends: in no state", 1)
	}
	switch {
	case t.Scope.Stuck == explore.StuckUnchecked:
		return "not checked"
	case t.Violation == explore.Stuck:
		return "VIOLATED, " + t.Violation
	case t.Scope.Deep:
		return t.outcome(explore.Stuck, where+"nothing is left to happen")
	case t.StuckChecked:
		return fmt.Sprintf("%swhich are %s, each of them can still get the lock", where, grouped(t.StuckStates))
	default:
		return "only dead ends, as far as was seen; the rest comes after the whole search"
	}
}

func (t tale) conclusion() string {
	var why string
	switch t.Ended {
	case explore.Complete:
		return "safe within these bounds, and nothing is said beyond them: " + t.Scope.String()
	case explore.Violated:
		return fmt.Sprintf("VIOLATED: %s, after %d moves at the least", t.Violation, len(t.Trace.Steps))
	case explore.StatesBound:
		why = "--states-max ended the search"
	case explore.MemoryBound:
		why = "--memory-max ended the search"
	case explore.Interrupted:
		why = "interrupted"
	}
	return fmt.Sprintf("undecided: %s; nothing was violated as far as was seen, up to %d moves away: %v", why, t.Depth, t.Scope)
}

// writeJSON prints the result for programs.
func (t tale) writeJSON(w io.Writer) error {
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
		"locklab/explore/v1", t.Spec, t.Scope.String(), t.Modelled(), t.checks(), t.verdict(), t.Ended.String(), t.Violation,
		t.States, t.Transitions, t.Depth, t.elapsed.Seconds(), t.statesPerSecond(), t.BytesPerState(), t.peak,
		t.missed(), t.Shortened, t.Trace,
	})
}

func (t tale) missed() *float64 {
	if !t.Scope.Deep {
		return nil
	}
	p := t.Missed()
	return &p
}

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
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
	w              io.Writer
	clock          clock.Clock
	begun, told    time.Time
	every, patient time.Duration
	inPlace        bool
}

func newExploreProgress(w io.Writer) *exploreProgress {
	p := &exploreProgress{w: w, clock: clock.System(), every: 10 * time.Second, patient: 3 * time.Second}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.inPlace, p.every = true, time.Second
	}
	p.begun = p.clock.Now()
	p.told = p.begun.Add(p.patient - p.every)
	return p
}

func (p *exploreProgress) update(now explore.Progress) {
	at := p.clock.Now()
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
	fmt.Fprintf(p.w, "locklab: %s states, %s, %v, %s/s, %s%s", grouped(now.States), what,
		elapsed.Round(time.Second), grouped(int64(float64(now.States)/elapsed.Seconds())), mebibytes(now.Memory), end)
}

// close clears the line.
func (p *exploreProgress) close() {
	if p.inPlace {
		fmt.Fprint(p.w, "\x1b[K")
	}
}
