package main

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/sentence"
	"locklab/locks/clock"
	"locklab/reports/lang"
	"locklab/reports/page"
	"locklab/reports/table"
	"locklab/verify/explore"
)

// exploreFlags is what the user typed.
type exploreFlags struct {
	peers, cuts, crashes, bypass int
	rounds, giveUps, mends       string
	requests                     []int
	expiries, renewals           string
	faults                       []string
	forgets                      string
	forming, untimed, deep       bool
	stuck                        string
	statesMax                    int64
	memoryMax                    string
	page                         string
	asJSON                       bool
}

func newExplore() *cobra.Command {
	var f exploreFlags
	cmd := &cobra.Command{
		Use:   "explore LOCK",
		Short: "Visit every state that a few peers of a lock can get into",
		Long: `explore runs the very core of a peer-to-peer lock through all interleavings of
what its peers may do, of deliveries, and of faults at any moment, within the
bounds given. It says what it has seen, and never more. What it checks:

  mutual exclusion   no two peers hold at once, by what their clients were told;
                     fencing tokens grow, where there are any
  clients            a hold begins and ends only where the client is told, or
                     ends it
  no stuck state     whoever waits can still get the lock, by nothing but
                     deliveries, releases, and pauses and leases that end:
                     where all links are up (--stuck healed), or everywhere,
                     also without a peer that is gone
  bounded bypass     while a peer waits, others get the lock at most so often
                     (--bypass)

A violation comes with the shortest way to it, as a message-sequence diagram.

"safe" is said only where all within the bounds was seen, and repeats the
bounds; a search that ends before is undecided, and says how far it went.

Faults: disconnect (links break, --cuts of them), reconnect (links that are
down come back, --mends of them), crash (peers restart with what they keep on
disk, if they do, and else without their memory, --crashes of them), reorder
(messages overtake each other, which the real connections rule out).

--deep keeps a hash of 64 bits of each state in place of the state: it sees
some times more of them in the same memory and finds of stuck states only those
in which nothing is left to happen. The probability that a state was missed is
printed.

Exit codes: 0 nothing was violated and all within the bounds was seen; 2
something was violated; 4 --states-max or --memory-max ended the search before
a verdict; 1 bad input; 130 interrupted.`,
		Example: `  locklab explore multiphase --peers 3                    safe, in a second
  locklab explore multiphase:rule=literal --page a.html   unsafe, with no fault
  locklab explore multiphase --faults disconnect          a partition splits it
  locklab explore lamport --faults crash,reconnect --give-ups 1
  locklab explore multiphase --rounds 2 --give-ups any --deep
  locklab explore multiphase:fair=off --bypass 4`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sc, err := f.scope(cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), args[0], sc, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
		ValidArgsFunction: specs(catalog.PeerNames),
	}
	fl := cmd.Flags()
	fl.IntVar(&f.peers, "peers", 3, "peers, 2 to 8")
	fl.StringVar(&f.rounds, "rounds", "auto", "how often each peer asks for the lock, or unlimited (auto: unlimited, but 1 with give-ups, faults or --forming, and of locks whose states never come back, such as multiphase:quorum)")
	fl.IntSliceVar(&f.requests, "requests", nil, "how often each single peer asks, such as 2,1,0, in place of --rounds")
	fl.StringVar(&f.giveUps, "give-ups", "0", "how often anybody gives up while waiting, or any")
	listFlag(fl, &f.faults, "faults", "disconnect, reconnect, crash, reorder")
	fl.IntVar(&f.cuts, "cuts", 0, "links that break (default with disconnect: enough to cut one peer off)")
	fl.StringVar(&f.mends, "mends", "any", "links that come back, or any; with reconnect")
	fl.IntVar(&f.crashes, "crashes", 0, "peers that restart (default with crash: 1)")
	fl.BoolVar(&f.forming, "forming", false, "start with no connection, in place of all; they come with reconnect")
	fl.IntVar(&f.bypass, "bypass", 0, "check that a waiting peer is passed at most so often (0: not checked)")
	fl.StringVar(&f.stuck, "stuck", "healed", "where nobody may be stuck: healed, anywhere or off")
	fl.StringVar(&f.expiries, "expiries", "0", "leases that run out while somebody waits or holds, or any; only of locks with leases")
	fl.StringVar(&f.renewals, "renewals", "0", "leases that are renewed, or any; only of locks with leases")
	fl.StringVar(&f.forgets, "forgets", "0", "how often a peer forgets the resource while nobody wants it there, or any")
	fl.BoolVar(&f.untimed, "untimed", false, "let votes and recoveries end before the leases that rely on them; only of locks with leases")
	fl.BoolVar(&f.deep, "deep", false, "keep only a hash of each state")
	fl.Int64Var(&f.statesMax, "states-max", 0, "end the search when so many states were seen (0: no bound)")
	fl.StringVar(&f.memoryMax, "memory-max", "4GiB", "end the search when it takes so much memory")
	fl.StringVar(&f.page, "page", "", "file to write it to as a page, with the way to a violation drawn")
	fl.BoolVar(&f.asJSON, "json", false, "print a JSON object")
	completions(cmd, map[string]cobra.CompletionFunc{
		"faults": list(exploreFaults), "requests": words(nothing), "page": files(nothing),
		"stuck": words(func() []string { return []string{"healed", "anywhere", "off"} }),
	})
	return cmd
}

func exploreFaults() []string { return []string{"disconnect", "reconnect", "crash", "reorder"} }

// scope checks the flags.
func (f *exploreFlags) scope(changed func(string) bool) (sc explore.Scope, err error) {
	sc = explore.Scope{
		Peers: f.peers, Forming: f.forming, Bypass: f.bypass, Untimed: f.untimed,
		Cuts: f.cuts, Crashes: f.crashes, StatesMax: f.statesMax, Deep: f.deep,
	}
	if f.peers < 2 || f.peers > 8 {
		return sc, fmt.Errorf("--peers %d: want 2 to 8", f.peers)
	}
	for _, word := range f.faults {
		switch word {
		case "disconnect":
			if !changed("cuts") {
				sc.Cuts = f.peers - 1
			}
		case "crash":
			if !changed("crashes") {
				sc.Crashes = 1
			}
		case "reorder":
			sc.Reorder = true
		case "reconnect":
		default:
			return sc, fmt.Errorf("--faults: unknown fault %q: want some of %s", word, strings.Join(exploreFaults(), ", "))
		}
	}
	counts := []struct {
		flag, value string
		to          *int
	}{
		{"give-ups", f.giveUps, &sc.GiveUps},
		{"mends", f.mends, &sc.Mends},
		{"expiries", f.expiries, &sc.Expiries},
		{"renewals", f.renewals, &sc.Renewals},
		{"forgets", f.forgets, &sc.Forgets},
	}
	for _, c := range counts {
		if *c.to, err = parseBound(c.flag, c.value, "any"); err != nil {
			return sc, err
		}
	}
	if !slices.Contains(f.faults, "reconnect") && !changed("mends") {
		sc.Mends = 0
	}
	sc.Rounds = explore.Any
	if f.rounds != "auto" {
		if sc.Rounds, err = parseBound("rounds", f.rounds, "unlimited"); err != nil {
			return sc, err
		}
	} else if sc.GiveUps != 0 || sc.Cuts+sc.Crashes > 0 || f.forming || sc.Reorder {
		sc.Rounds = 1
	}
	if f.requests != nil {
		if len(f.requests) != f.peers || slices.Min(f.requests) < 0 || slices.Max(f.requests) > 250 || changed("rounds") {
			return sc, fmt.Errorf("--requests %v: want %d numbers from 0 to 250, one for each peer, and no --rounds", f.requests, f.peers)
		}
		sc.Requests = f.requests
	}
	for _, c := range []struct {
		flag  string
		value int
	}{{"cuts", sc.Cuts}, {"crashes", sc.Crashes}, {"bypass", sc.Bypass}} {
		if c.value < 0 || c.value > 250 {
			return sc, fmt.Errorf("--%s %d: want 0 to 250", c.flag, c.value)
		}
	}
	if f.statesMax < 0 {
		return sc, fmt.Errorf("--states-max %d: want 0 or more", f.statesMax)
	}
	if sc.MemoryMax, err = parseMemory(f.memoryMax); err != nil {
		return sc, err
	}
	if f.forming && sc.Mends == 0 {
		return sc, errors.New("--forming: want --faults reconnect with it, or the peers that start without a connection never have one")
	}
	checks := map[string]explore.StuckCheck{"healed": explore.StuckHealed, "anywhere": explore.StuckAnywhere, "off": explore.StuckUnchecked}
	var known bool
	if sc.Stuck, known = checks[f.stuck]; !known {
		return sc, fmt.Errorf("--stuck %q: want healed, anywhere or off", f.stuck)
	}
	return sc, nil
}

func parseBound(flag, value, anyWord string) (int, error) {
	if value == anyWord || value == "any" || value == "unlimited" {
		return explore.Any, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 250 {
		return 0, fmt.Errorf("--%s %q: want 0 to 250, or %s", flag, value, anyWord)
	}
	return n, nil
}

// parseMemory reads bytes with a unit such as 4GiB.
func parseMemory(text string) (int64, error) {
	units := []struct {
		name  string
		bytes int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n*float64(u.bytes) >= 1 && n*float64(u.bytes) < 1<<60) {
			break
		}
		return int64(n * float64(u.bytes)), nil
	}
	return 0, fmt.Errorf("--memory-max %q: want bytes such as 4GiB or 500MB", text)
}

func (f *exploreFlags) run(ctx context.Context, lock string, sc explore.Scope, stdout, stderr io.Writer) error {
	bound, err := catalog.ParsePeers(lock)
	if err != nil {
		return err
	}
	if bound.Core.Cohort && sc.Bypass > 0 {
		return fmt.Errorf("--bypass: %s has one acquisition serve several clients of a peer, and what is explored has one client at each: want a lock without a cohort", bound)
	}
	subject := bound.Core.Subject
	if !subject.Endless() && f.rounds == "auto" {
		sc.Rounds = 1
	}
	begun := clock.System().Now()
	r, err := subject.Explore(ctx, sc, exploreProgress(stderr))
	if err != nil {
		return err
	}
	told := tale{Result: r, elapsed: clock.System().Now().Sub(begun), cohort: bound.Core.Cohort}
	if told.page = f.page; f.page != "" {
		if err := told.writePage(f.page); err != nil {
			return fmt.Errorf("--page: %w", err)
		}
	}
	if f.asJSON {
		err = told.writeJSON(stdout)
	} else {
		err = told.write(stdout)
	}
	if err != nil {
		return err
	}
	if code := told.exitCode(); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// tale is what there is to say of an exploration.
type tale struct {
	*explore.Result
	elapsed time.Duration
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
	line := func(name, text string) { fmt.Fprintf(&b, "%s %s\n", padded(name, 10), text) }
	line("lock", t.Spec)
	line("explored", t.scope())
	for _, fact := range t.facts() {
		for i, text := range fact.Lines {
			line([]string{fact.Name, ""}[min(i, 1)], text)
		}
	}
	line("speed", fmt.Sprintf("%s, %s states/s, %.0f bytes a state, %s in all", sentence.Lasting(t.elapsed).String(),
		lang.Group(int64(t.statesPerSecond())), t.BytesPerState(), mebibytes(t.Memory)))
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

// facts are what the console and the page tell.
func (t tale) facts() []page.Fact {
	return []page.Fact{{Name: "modelled", Lines: t.modelled()}, {Name: "checked", Lines: t.checks()}, {Name: "seen", Lines: t.seen()}}
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
		MemoryMax     int64          `json:"memory_bytes_max"`
		Missed        *float64       `json:"missed_probability,omitempty"`
		Shortened     bool           `json:"timestamps_shortened,omitempty"`
		Trace         *explore.Trace `json:"trace,omitempty"`
	}{
		"locklab/explore/v1", t.Spec, t.scope(), t.modelled(), t.checks(), t.verdict(), t.Ended.String(), t.Violation,
		t.States, t.Transitions, t.Depth, t.elapsed.Seconds(), t.statesPerSecond(), t.BytesPerState(), t.Memory,
		missed, t.Shortened, t.Trace,
	})
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// exploreProgress tells how far an exploration is when it takes long.
func exploreProgress(w io.Writer) func(explore.Progress) {
	const every = 5 * time.Second
	begun := clock.System().Now()
	told := begun
	return func(now explore.Progress) {
		at := clock.System().Now()
		if at.Sub(told) < every {
			return
		}
		told = at
		what := fmt.Sprintf("%d moves away", now.Depth)
		if now.Settling {
			what = "looking for stuck ones"
		}
		elapsed := at.Sub(begun)
		fmt.Fprintf(w, "locklab: %s states, %s, %v, %s/s, %s\n", lang.Group(now.States), what,
			sentence.Lasting(elapsed.Round(time.Second)), lang.Group(int64(float64(now.States)/elapsed.Seconds())), mebibytes(now.Memory))
	}
}

// writePage writes an exploration as one page: the verdict, what was explored, and the way
// to a violation as a drawing and as a table.
func (t tale) writePage(path string) error {
	sheet := page.Sheet{
		Title: fmt.Sprintf("%s, explored", t.Spec), Lede: t.scope(), Made: typed(),
		Verdict: table.Cell{Text: t.conclusion(), Mark: table.Unknown},
		Facts:   t.facts(),
	}
	switch t.Ended {
	case explore.Complete:
		sheet.Verdict.Mark = table.OK
	case explore.Violated:
		sheet.Verdict.Mark = table.Violation
	default:
	}
	if t.Trace != nil {
		var drawing strings.Builder
		if err := t.Trace.WriteSVG(&drawing, t.Spec, t.Violation); err != nil {
			return err
		}
		section := page.Section{
			Title: "The shortest way to the violation", Drawing: template.HTML(drawing.String()), //nolint:gosec // drawn and escaped by explore
			Notes: []string{
				"Time runs downwards, one step a line. An arrow is a message, from the step that sent it to the step in which it arrives. A box is what a peer has become; its line is thick while it waits, and thickest while it holds the lock.",
				"A step is one thing that happens at one peer: its client asks for the lock or releases it, a message arrives (its name, and what it carries), or something breaks.",
			},
			Table: table.Table{Columns: []table.Column{{Title: "step", Key: true}, {Title: "at peer", Right: true}, {Title: "what happens"}}},
		}
		for i := range t.Trace.Peers {
			section.Table.Columns = append(section.Table.Columns, table.Column{Title: fmt.Sprintf("peer %d after it", i)})
		}
		var rows [][]string
		for i, s := range t.Trace.Steps {
			rows = append(rows, append([]string{strconv.Itoa(i + 1), strconv.Itoa(s.Peer), s.Text}, s.Peers...))
		}
		section.Table.Rows = tableCells(rows)
		sheet.Sections = append(sheet.Sections, section)
	}
	return page.WriteSheet(path, sheet)
}

// typed is the command of this process.
func typed() string { return strings.Join(append([]string{"locklab"}, os.Args[1:]...), " ") }
