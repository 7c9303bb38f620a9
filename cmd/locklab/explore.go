package main

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/sentence"
	"locklab/locks/clock"
	"locklab/reports/page"
	"locklab/reports/table"
	"locklab/verify/explore"
)

// exploreFlags is what the user typed.
type exploreFlags struct {
	explore.Scope

	faults []string
	stuck  string
	page   string
	asJSON bool
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
down come back), crash (peers restart with what they keep on disk, if they do,
and else without their memory, --crashes of them), reorder (messages overtake
each other, which the real connections rule out).

Exit codes: 0 nothing was violated and all within the bounds was seen; 2
something was violated; 4 --states-max ended the search before a verdict; 1 bad
input; 130 interrupted.`,
		Example: `  locklab explore multiphase --peers 3                    safe, in a second
  locklab explore multiphase:rule=literal --page a.html   unsafe, with no fault
  locklab explore multiphase --faults disconnect          a partition splits it
  locklab explore lamport --faults crash,reconnect --give-ups 1
  locklab explore multiphase:fair=off --bypass 4`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			bound, err := catalog.ParsePeers(args[0])
			if err == nil {
				err = f.check(bound)
			}
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), bound, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
		ValidArgsFunction: specs(catalog.PeerNames),
	}
	fl := cmd.Flags()
	fl.IntVar(&f.Peers, "peers", 3, "peers, 2 to 8")
	fl.Var((*countList)(&f.Requests), "rounds", "how often each peer asks for the lock, or each single one, such as 2,1,0, or any (default any, but 1 with give-ups, faults or --forming, and of locks whose states never come back, such as multiphase:quorum)")
	fl.Var((*countFlag)(&f.GiveUps), "give-ups", "how often a peer gives up while waiting, or any")
	listFlag(fl, &f.faults, "faults", strings.Join(exploreFaults(), ", "))
	fl.Var((*countFlag)(&f.Cuts), "cuts", "links that break (default with disconnect: enough to cut one peer off)")
	fl.Var((*countFlag)(&f.Crashes), "crashes", "peers that restart (default with crash: 1)")
	fl.BoolVar(&f.Forming, "forming", false, "start with no connection, in place of all; they come with reconnect")
	fl.Var((*countFlag)(&f.Bypass), "bypass", "check that a waiting peer is passed at most so often (0: not checked)")
	fl.StringVar(&f.stuck, "stuck", "healed", "where no peer may be stuck: healed, anywhere or off")
	fl.Var((*countFlag)(&f.Expiries), "expiries", "leases that run out while a peer waits or holds, or any; only of locks with leases")
	fl.Var((*countFlag)(&f.Renewals), "renewals", "leases that are renewed, or any; only of locks with leases")
	fl.Var((*countFlag)(&f.Forgets), "forgets", "how often a peer forgets the resource while it is not wanted there, or any")
	fl.BoolVar(&f.Untimed, "untimed", false, "let votes and recoveries end before the leases that rely on them; only of locks with leases")
	fl.Int64Var(&f.StatesMax, "states-max", 80_000_000, "end the search when so many states were seen, which take about 200 bytes each")
	fl.StringVar(&f.page, "page", "", "file to write it to as a page, with the way to a violation drawn")
	fl.BoolVar(&f.asJSON, "json", false, "print a JSON object")
	completions(cmd, map[string]cobra.CompletionFunc{
		"faults": list(exploreFaults), "page": files(nothing),
		"stuck": words(func() []string { return []string{"healed", "anywhere", "off"} }),
	})
	return cmd
}

func exploreFaults() []string { return []string{"disconnect", "reconnect", "crash", "reorder"} }

// countFlag is how often something may happen.
type countFlag int

func (c *countFlag) Type() string { return "count" }

func (c *countFlag) String() string {
	if *c == explore.Any {
		return "any"
	}
	return strconv.Itoa(int(*c))
}

// Set implements pflag.Value.
func (c *countFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	if text == "any" {
		n, err = explore.Any, nil
	} else if n < 0 {
		n = explore.CountMost + 1
	}
	*c = countFlag(n)
	if err != nil || n > explore.CountMost {
		return fmt.Errorf("want 0 to %d, or any", explore.CountMost)
	}
	return nil
}

// countList is a count for each peer, or one for all of them.
type countList []int

func (l *countList) Type() string { return "counts" }

func (l *countList) String() string { return strings.Trim(fmt.Sprint([]int(*l)), "[]") }

// Set implements pflag.Value.
func (l *countList) Set(text string) error {
	*l = nil
	for word := range strings.SplitSeq(text, ",") {
		var c countFlag
		if err := c.Set(word); err != nil {
			return fmt.Errorf("%q: %w", word, err)
		}
		*l = append(*l, int(c))
	}
	return nil
}

// check fills in what follows from other flags, and refuses what makes no sense.
func (f *exploreFlags) check(bound catalog.Lock) error {
	for _, word := range f.faults {
		switch word {
		case "disconnect":
			if f.Cuts == 0 {
				f.Cuts = f.Peers - 1
			}
		case "crash":
			f.Crashes = max(f.Crashes, 1)
		case "reconnect":
			f.Mends = explore.Any
		case "reorder":
			f.Reorder = true
		default:
			return fmt.Errorf("--faults: unknown fault %q: want some of %s", word, strings.Join(exploreFaults(), ", "))
		}
	}
	if f.Requests == nil {
		f.Requests = []int{explore.Any}
		if f.GiveUps != 0 || f.Cuts+f.Crashes > 0 || f.Forming || f.Reorder || !bound.Core.Subject.Endless {
			f.Requests[0] = 1
		}
	}
	checks := map[string]explore.StuckCheck{
		"healed": explore.StuckHealed, "anywhere": explore.StuckAnywhere, "off": explore.StuckUnchecked,
	}
	var known bool
	f.Stuck, known = checks[f.stuck]
	switch {
	case f.Peers < 2 || f.Peers > explore.PeersMost:
		return fmt.Errorf("--peers %d: want 2 to %d", f.Peers, explore.PeersMost)
	case len(f.Requests) != 1 && len(f.Requests) != f.Peers:
		return fmt.Errorf("--rounds %v: want one number, or %d, one for each peer", f.Requests, f.Peers)
	case f.Cuts < 0 || f.Crashes < 0 || f.Bypass < 0:
		return fmt.Errorf("--cuts, --crashes, --bypass: want 0 to %d", explore.CountMost)
	case f.StatesMax < 1:
		return fmt.Errorf("--states-max %d: want 1 or more", f.StatesMax)
	case f.Forming && f.Mends == 0:
		return errors.New("--forming: want --faults reconnect with it, or the peers that start without a connection never have one")
	case !known:
		return fmt.Errorf("--stuck %q: want healed, anywhere or off", f.stuck)
	case bound.Core.Cohort && f.Bypass > 0:
		return fmt.Errorf("--bypass: %s has one acquisition serve several clients of a peer, and what is explored has one client at each: want a lock without a cohort", bound)
	}
	return nil
}

func (f *exploreFlags) run(ctx context.Context, bound catalog.Lock, stdout, stderr io.Writer) error {
	begun := clock.System().Now()
	r := bound.Core.Subject.Explore(ctx, f.Scope, exploreProgress(stderr))
	t := tale{r, clock.System().Now().Sub(begun), bound.Core.Cohort}
	if f.page != "" {
		if err := t.writePage(f.page); err != nil {
			return fmt.Errorf("--page: %w", err)
		}
	}
	if f.asJSON {
		if err := t.writeJSON(stdout); err != nil {
			return err
		}
	} else {
		t.write(stdout)
	}
	codes := map[explore.Ending]int{
		explore.Complete: exitOK, explore.Violated: exitViolated, explore.Interrupted: exitInterrupted,
	}
	code, decided := codes[r.Ended]
	if !decided {
		code = exitInconclusive
	}
	if code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// tale is what there is to say of an exploration.
type tale struct {
	*explore.Result
	elapsed time.Duration
	cohort  bool // of the lock, which is not explored
}

// write prints the result for people. The first lines are the same on every machine.
func (t tale) write(w io.Writer) {
	var b strings.Builder
	rate := sentence.Group(int64(float64(t.States) / max(t.elapsed.Seconds(), 1e-9)))
	tellFacts(&b, append(t.facts(),
		page.Fact{Name: "speed", Lines: []string{fmt.Sprintf("%s, %s states/s", sentence.Lasting(t.elapsed), rate)}},
		page.Fact{Name: "verdict", Lines: []string{t.conclusion()}}))
	if t.Trace != nil {
		fmt.Fprintf(&b, "\n%v\n%s\n", t.Trace, t.Violation)
	}
	_, _ = io.WriteString(w, folded(w, b.String()))
}

// tellFacts writes facts, each with its name before it and its lines below each other.
func tellFacts(w io.Writer, facts []page.Fact) {
	for _, fact := range facts {
		for i, text := range fact.Lines {
			fmt.Fprintf(w, "%s %s\n", padded([]string{fact.Name, ""}[min(i, 1)], 10), text)
		}
	}
}

// facts are what the console and the page tell.
func (t tale) facts() []page.Fact {
	modelled := t.Modelled()
	if t.cohort {
		modelled = append(modelled, "one client at each peer: no cohort forms, and nothing is said of one")
	}
	seen := []string{fmt.Sprintf("%s states, %s moves, up to %d moves away",
		sentence.Group(t.States), sentence.Group(t.Transitions), t.Depth)}
	if t.Shortened {
		seen = append(seen, "timestamps far apart were taken for somewhat closer ones: states may have been taken for each other")
	}
	return []page.Fact{
		{Name: "lock", Lines: []string{t.Spec}},
		{Name: "explored", Lines: []string{t.Explored()}},
		{Name: "modelled", Lines: modelled},
		{Name: "checked", Lines: t.checks()},
		{Name: "seen", Lines: seen},
	}
}

// checks says what was checked, and how far.
func (t tale) checks() (out []string) {
	check := func(name, violation, good string) {
		switch {
		case t.Violation == violation:
			good = "VIOLATED, " + violation
		case t.Ended != explore.Complete:
			good += ", as far as was seen"
		}
		out = append(out, name+": "+good)
	}
	check("mutual exclusion", explore.TwoHold, "never two holders")
	check("clients", explore.Untold, "each is told of every hold and of its end")
	if t.Timed {
		check("fencing tokens", explore.TokenBack, "each above all before")
	}
	where := "all states with all links up in which a peer waits"
	if t.Scope.Stuck == explore.StuckAnywhere {
		where = "all states in which a peer waits"
	}
	switch {
	case t.Scope.Stuck == explore.StuckUnchecked:
		out = append(out, "no stuck state: not checked")
	case t.StuckChecked:
		check("no stuck state", explore.Stuck, fmt.Sprintf("in %s, which are %s, each of them can still get the lock",
			where, sentence.Group(t.StuckStates)))
	default:
		check("no stuck state", explore.Stuck, "no dead end")
	}
	if t.Scope.Bypass > 0 {
		check("bounded bypass", explore.Starves,
			fmt.Sprintf("no waiting peer is passed more than %d times", t.Scope.Bypass))
	}
	return out
}

func (t tale) conclusion() string {
	switch t.Ended {
	case explore.Complete:
		return fmt.Sprintf("safe within these bounds, and nothing is said beyond them: %s", t.Explored())
	case explore.Violated:
		return fmt.Sprintf("VIOLATED: %s, after %d moves at the least", t.Violation, len(t.Trace.Steps))
	case explore.Interrupted:
		return t.undecided("interrupted")
	default:
		return t.undecided("--states-max ended the search")
	}
}

func (t tale) undecided(why string) string {
	return fmt.Sprintf("undecided: %s; nothing was violated as far as was seen, up to %d moves away: %s",
		why, t.Depth, t.Explored())
}

// writeJSON prints the result for programs.
func (t tale) writeJSON(w io.Writer) error {
	verdict := "undecided"
	switch t.Ended {
	case explore.Complete:
		verdict = "safe"
	case explore.Violated:
		verdict = "violated"
	default:
	}
	return writeJSON(w, struct {
		Schema   string   `json:"schema"`
		Verdict  string   `json:"verdict"`
		Explored string   `json:"explored"`
		Modelled []string `json:"modelled"`
		Checked  []string `json:"checked"`
		ElapsedS float64  `json:"elapsed_s"`
		*explore.Result
	}{"locklab/explore/v2", verdict, t.Explored(), t.Modelled(), t.checks(), t.elapsed.Seconds(), t.Result})
}

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
		fmt.Fprintf(w, "locklab: %s states, %d moves away, %v\n", sentence.Group(now.States), now.Depth,
			sentence.Lasting(at.Sub(begun).Round(time.Second)))
	}
}

// writePage writes an exploration as one page, with the way to a violation as a drawing.
func (t tale) writePage(path string) error {
	sheet := page.Sheet{
		Title: fmt.Sprintf("%s, explored", t.Spec), Lede: t.Explored(), Made: typed(),
		Verdict: table.Cell{Text: t.conclusion(), Mark: table.Unknown}, Facts: t.facts()[2:],
	}
	switch t.Ended {
	case explore.Complete:
		sheet.Verdict.Mark = table.OK
	case explore.Violated:
		sheet.Verdict.Mark = table.Violation
	default:
	}
	if t.Trace != nil {
		sheet.Sections = []page.Section{{
			Title:   "The shortest way to the violation",
			Notes:   []string{"Time runs downwards, one step a line. A message is drawn when it arrives; @N says that it was sent in step N. On the right is what each peer is after the step."},
			Drawing: template.HTML("<pre>" + template.HTMLEscapeString(t.Trace.String()) + "</pre>"), //nolint:gosec // escaped
		}}
	}
	return page.WriteSheet(path, sheet)
}

// typed is the command of this process.
func typed() string { return strings.Join(append([]string{"locklab"}, os.Args[1:]...), " ") }
