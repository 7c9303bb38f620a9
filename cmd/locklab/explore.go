package main

import (
	"cmp"
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

	rounds, faults []string
	stuck, page    string
	asJSON         bool
}

func newExplore() *cobra.Command {
	var f exploreFlags
	cmd := &cobra.Command{
		Use:   "explore LOCK",
		Short: "Visit every state that a few peers of a lock can get into",
		Long: `explore runs the very core of a peer-to-peer lock through all interleavings of
what its peers may do, of deliveries, and of faults at any moment, within the
bounds given. What it checks:

  mutual exclusion   no two peers hold at once, by what their clients were told;
                     fencing tokens grow, where there are any
  clients            a hold begins and ends only where the client is told
  no stuck state     a peer that waits can still get the lock, by deliveries,
                     releases, pauses and leases that end alone: where all links
                     are up (--stuck healed), or everywhere
  bounded bypass     while a peer waits, others get the lock at most so often

A violation comes with the shortest way to it, as a message-sequence diagram.
"safe" is said only where all within the bounds was seen.

Faults: disconnect (links break), reconnect (they come back), crash (peers
restart with what their lock keeps on disk), reorder (messages overtake each
other, which the real connections rule out).

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
			lock, err := catalog.ParsePeers(args[0])
			if err == nil {
				err = f.check(lock)
			}
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), lock, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
		ValidArgsFunction: specs(catalog.PeerNames),
	}
	fl := cmd.Flags()
	count := func(value *int, name, usage string) {
		fl.Func(name, "`count`: "+usage, func(text string) (err error) {
			*value, err = parseCount(text)
			return err
		})
	}
	fl.IntVar(&f.Peers, "peers", 3, "peers, 2 to 8")
	fl.StringSliceVar(&f.rounds, "rounds", nil, "how often each peer asks for the lock, or each single one, such as "+
		"2,1,0, or any (default any, but 1 with give-ups, faults or --forming, and of locks whose states never "+
		"come back, such as multiphase:quorum)")
	count(&f.GiveUps, "give-ups", "how often a peer gives up while waiting, or any")
	fl.StringSliceVar(&f.faults, "faults", nil, strings.Join(exploreFaults(), ", "))
	count(&f.Cuts, "cuts", "links that break (default with disconnect: enough to cut one peer off)")
	count(&f.Crashes, "crashes", "peers that restart (default with crash: 1)")
	fl.BoolVar(&f.Forming, "forming", false,
		"start with no connection, in place of all; they come with reconnect")
	count(&f.Bypass, "bypass", "check that a waiting peer is passed at most so often (0: not checked)")
	fl.StringVar(&f.stuck, "stuck", "healed", "where no peer may be stuck: healed, anywhere or off")
	count(&f.Expiries, "expiries", "leases that run out while a peer waits or holds, or any; only of locks with leases")
	count(&f.Renewals, "renewals", "leases that are renewed, or any; only of locks with leases")
	count(&f.Forgets, "forgets", "how often a peer forgets the resource while it is not wanted there, or any")
	fl.BoolVar(&f.Untimed, "untimed", false,
		"let votes and recoveries end before the leases that rely on them; only of locks with leases")
	fl.Int64Var(&f.StatesMax, "states-max", 30_000_000,
		"end the search when so many states were seen, which take about 200 bytes each")
	fl.StringVar(&f.page, "page", "", "file to write it to as a page, with the way to a violation drawn")
	fl.BoolVar(&f.asJSON, "json", false, "print a JSON object")
	completions(cmd, map[string]cobra.CompletionFunc{
		"faults": list(exploreFaults), "rounds": words(func() []string { return []string{"any"} }), "page": files(nothing),
		"stuck": words(func() []string { return []string{"healed", "anywhere", "off"} }),
	})
	return cmd
}

func exploreFaults() []string { return []string{"disconnect", "reconnect", "crash", "reorder"} }

// parseCount reads how often something may happen.
func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case text == "any":
		return explore.Any, nil
	case err != nil, n < 0, n > explore.CountMost:
		return 0, fmt.Errorf("%q: want 0 to %d, or any", text, explore.CountMost)
	}
	return n, nil
}

// check fills in what follows from other flags, and refuses what makes no sense.
func (f *exploreFlags) check(lock catalog.Lock) error {
	for _, word := range f.faults {
		switch strings.TrimSpace(word) {
		case "disconnect":
			f.Cuts = cmp.Or(f.Cuts, f.Peers-1)
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
	for _, text := range f.rounds {
		n, err := parseCount(text)
		if err != nil {
			return fmt.Errorf("--rounds: %w", err)
		}
		f.Requests = append(f.Requests, n)
	}
	if f.Requests == nil {
		f.Requests = []int{explore.Any}
		if f.GiveUps != 0 || f.Cuts+f.Crashes > 0 || f.Forming || f.Reorder || !lock.Core.Subject.Endless {
			f.Requests[0] = 1
		}
	}
	var known bool
	f.Stuck, known = map[string]explore.StuckCheck{
		"healed": explore.StuckHealed, "anywhere": explore.StuckAnywhere, "off": explore.StuckUnchecked,
	}[f.stuck]
	switch {
	case f.Peers < 2 || f.Peers > explore.PeersMost:
		return fmt.Errorf("--peers %d: want 2 to %d", f.Peers, explore.PeersMost)
	case len(f.Requests) != 1 && len(f.Requests) != f.Peers:
		return fmt.Errorf("--rounds %v: want one number, or %d, one for each peer", f.rounds, f.Peers)
	case f.Cuts < 0 || f.Crashes < 0 || f.Bypass < 0:
		return fmt.Errorf("--cuts, --crashes, --bypass: want 0 to %d", explore.CountMost)
	case f.StatesMax < 1:
		return fmt.Errorf("--states-max %d: want 1 or more", f.StatesMax)
	case f.Forming && f.Mends == 0:
		return errors.New("--forming: want --faults reconnect with it, or no connection is ever made")
	case !known:
		return fmt.Errorf("--stuck %q: want healed, anywhere or off", f.stuck)
	case lock.Core.Cohort && f.Bypass > 0:
		return fmt.Errorf("--bypass: %s has one acquisition serve several clients of a peer, and what is explored has "+
			"one client at each: want a lock without a cohort", lock)
	}
	return nil
}

// run explores, and prints the verdict with its counts.
func (f *exploreFlags) run(ctx context.Context, lock catalog.Lock, stdout, stderr io.Writer) error {
	begun := clock.System().Now()
	t := tale{Result: lock.Core.Subject.Explore(ctx, f.Scope, exploreProgress(stderr)), cohort: lock.Core.Cohort}
	t.elapsed = clock.System().Now().Sub(begun)
	if f.page != "" {
		if err := t.writePage(f.page); err != nil {
			return fmt.Errorf("--page: %w", err)
		}
	}
	verdict, code, _, _ := t.verdict()
	if !f.asJSON {
		t.write(stdout)
		return exitWith(code)
	}
	object := struct {
		Schema   string   `json:"schema"`
		Verdict  string   `json:"verdict"`
		Explored string   `json:"explored"`
		Modelled []string `json:"modelled"`
		Checked  []string `json:"checked"`
		ElapsedS float64  `json:"elapsed_s"`
		*explore.Result
	}{"locklab/explore/v2", verdict, t.Explored(), t.Modelled(), t.checks(), t.elapsed.Seconds(), t.Result}
	return cmp.Or(writeJSON(stdout, object), exitWith(code))
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
	_, _, _, verdict := t.verdict()
	speed := fmt.Sprintf("%s, %s states/s", sentence.Lasting(t.elapsed), rate)
	tellFacts(&b, append(t.facts(), fact("speed", speed), fact("verdict", verdict)))
	if t.Trace != nil {
		fmt.Fprintf(&b, "\n%v\n%s\n", t.Trace, t.Violation)
	}
	_, _ = io.WriteString(w, folded(w, b.String()))
}

func fact(name string, lines ...string) page.Fact { return page.Fact{Name: name, Lines: lines} }

// tellFacts writes facts, each with its name before it and its lines below each other.
func tellFacts(w io.Writer, facts []page.Fact) {
	for _, f := range facts {
		fmt.Fprintf(w, "%-10s %s\n", f.Name, strings.Join(f.Lines, "\n"+strings.Repeat(" ", 11)))
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
		seen = append(seen,
			"timestamps far apart were taken for somewhat closer ones: states may have been taken for each other")
	}
	return []page.Fact{
		fact("lock", t.Spec), fact("explored", t.Explored()), fact("modelled", modelled...),
		fact("checked", t.checks()...), fact("seen", seen...),
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

// verdict is the verdict in a word, as an exit code, as a mark, and in a sentence that repeats the bounds.
func (t tale) verdict() (word string, code int, mark table.Mark, text string) {
	why := "--states-max ended the search"
	code = exitInconclusive
	switch t.Ended {
	case explore.Complete:
		return "safe", exitOK, table.OK, "safe within these bounds, and nothing is said beyond them: " + t.Explored()
	case explore.Violated:
		text = fmt.Sprintf("VIOLATED: %s, after %d moves at the least", t.Violation, len(t.Trace.Steps))
		return "violated", exitViolated, table.Violation, text
	case explore.Interrupted:
		why, code = "interrupted", exitInterrupted
	case explore.StatesBound:
	}
	return "undecided", code, table.Unknown, fmt.Sprintf(
		"undecided: %s; nothing was violated as far as was seen, up to %d moves away: %s", why, t.Depth, t.Explored())
}

// exploreProgress tells every five seconds how far an exploration is.
func exploreProgress(w io.Writer) func(explore.Progress) {
	begun := clock.System().Now()
	told := begun
	return func(now explore.Progress) {
		at := clock.System().Now()
		if at.Sub(told) < 5*time.Second {
			return
		}
		told = at
		fmt.Fprintf(w, "locklab: %s states, %d moves away, %v\n", sentence.Group(now.States), now.Depth,
			sentence.Lasting(at.Sub(begun).Round(time.Second)))
	}
}

// writePage writes an exploration as one page, with the way to a violation as a drawing.
func (t tale) writePage(path string) error {
	_, _, mark, text := t.verdict()
	sheet := page.Sheet{
		Title: t.Spec + ", explored", Lede: t.Explored(), Made: typed(),
		Verdict: table.Cell{Text: text, Mark: mark}, Facts: t.facts()[2:],
	}
	if t.Trace != nil {
		sheet.Sections = []page.Section{{
			Title: "The shortest way to the violation",
			Notes: []string{"Time runs downwards, one step a line. A message is drawn when it arrives; @N says that it was " +
				"sent in step N. On the right is what each peer is after the step."},
			Drawing: template.HTML("<pre>" + template.HTMLEscapeString(t.Trace.String()) + "</pre>"), //nolint:gosec // escaped
		}}
	}
	return page.WriteSheet(path, sheet)
}

// typed is the command of this process.
func typed() string { return strings.Join(append([]string{"locklab"}, os.Args[1:]...), " ") }
