package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/sentence"
	"locklab/locks/clock"
	"locklab/verify/explore"
)

type exploreFlags struct {
	explore.Scope

	rounds, faults []string
	stuck          string
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
  locklab explore multiphase:rule=literal                 unsafe, with no fault
  locklab explore multiphase --faults disconnect          a partition splits it
  locklab explore lamport --faults crash,reconnect --give-ups 1
  locklab explore multiphase:fair=off --bypass 4          a peer can starve`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lock, err := catalog.ParsePeers(args[0])
			if err == nil {
				err = f.check(lock)
			}
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), lock, cmd.OutOrStdout())
		},
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
		"2,1,0, or any (default any, but 1 with give-ups or faults, and of locks whose states never come back: "+
		"multiphase:quorum, lamport and ricart-agrawala)")
	count(&f.GiveUps, "give-ups", "how often a peer gives up while waiting, or any")
	fl.StringSliceVar(&f.faults, "faults", nil, strings.Join(exploreFaults(), ", "))
	count(&f.Cuts, "cuts", "links that break (default with disconnect: enough to cut one peer off)")
	count(&f.Crashes, "crashes", "peers that restart (default with crash: 1)")
	count(&f.Bypass, "bypass", "check that a waiting peer is passed at most so often (0: not checked)")
	fl.StringVar(&f.stuck, "stuck", "healed", "where no peer may be stuck: healed, anywhere or off")
	count(&f.Expiries, "expiries", "leases that run out while a peer waits or holds, or any; only of locks with leases")
	count(&f.Renewals, "renewals", "leases that are renewed, or any; only of locks with leases")
	fl.BoolVar(&f.Untimed, "untimed", false,
		"let votes end before the leases that rely on them; only of locks with leases")
	fl.Int64Var(&f.StatesMax, "states-max", 30_000_000,
		"end the search when so many states were seen, which take about 200 bytes each")
	return cmd
}

func exploreFaults() []string { return []string{"disconnect", "reconnect", "crash", "reorder"} }

// parseCount reads a number or any.
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

// check fills in what follows from other flags, and refuses flags that contradict each other.
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
		if f.GiveUps != 0 || f.Cuts+f.Crashes > 0 || f.Reorder || !lock.Core.Subject.Endless {
			f.Requests[0] = 1
		}
	}
	var known bool
	f.Stuck, known = map[string]explore.StuckCheck{
		"healed": explore.StuckHealed, "anywhere": explore.StuckAnywhere, "off": explore.StuckUnchecked,
	}[f.stuck]
	switch {
	case len(f.Requests) != 1 && len(f.Requests) != f.Peers:
		return fmt.Errorf("--rounds %v: want one number, or %d, one for each peer", f.rounds, f.Peers)
	case f.Cuts < 0 || f.Crashes < 0 || f.Bypass < 0:
		return fmt.Errorf("--cuts, --crashes, --bypass: want 0 to %d", explore.CountMost)
	case f.StatesMax < 1:
		return fmt.Errorf("--states-max %d: want 1 or more", f.StatesMax)
	case !known:
		return fmt.Errorf("--stuck %q: want healed, anywhere or off", f.stuck)
	case lock.Core.Cohort && f.Bypass > 0:
		return fmt.Errorf("--bypass: %s has one acquisition serve several clients of a peer, and what is explored has "+
			"one client at each: want a lock without a cohort", lock)
	}
	return catalog.Within("--peers", f.Peers, 2, explore.PeersMost)
}

// run explores, and prints the verdict with its counts. The first lines are the same on every machine.
func (f *exploreFlags) run(ctx context.Context, lock catalog.Lock, stdout io.Writer) error {
	begun := clock.System().Now()
	r := lock.Core.Subject.Explore(ctx, f.Scope)
	elapsed := clock.System().Now().Sub(begun)
	modelled := r.Modelled()
	if lock.Core.Cohort {
		modelled = append(modelled, "one client at each peer: no cohort forms, and nothing is said of one")
	}
	rate := sentence.Group(int64(float64(r.States) / max(elapsed.Seconds(), 1e-9)))
	code, text := verdict(r)
	var w strings.Builder
	tellFact(&w, "lock", r.Spec)
	tellFact(&w, "explored", r.Explored())
	tellFact(&w, "modelled", modelled...)
	tellFact(&w, "checked", checks(r)...)
	tellFact(&w, "seen", fmt.Sprintf("%s states, %s moves, up to %d moves away",
		sentence.Group(r.States), sentence.Group(r.Transitions), r.Depth))
	tellFact(&w, "speed", fmt.Sprintf("%s, %s states/s", sentence.Lasting(elapsed), rate))
	tellFact(&w, "verdict", text)
	if len(r.Trace) > 0 {
		fmt.Fprintf(&w, "\n%s\n\n%s\n", strings.Join(r.Trace, "\n"), r.Violation)
	}
	_, err := io.WriteString(stdout, folded(stdout, w.String()))
	return cmp.Or(err, exitWith(code))
}

// checks lists what was checked, and its bounds.
func checks(r *explore.Result) (out []string) {
	check := func(name, violation, good string) {
		switch {
		case r.Violation == violation:
			good = "VIOLATED, " + violation
		case r.Ended != explore.Complete:
			good += ", as far as was seen"
		}
		out = append(out, name+": "+good)
	}
	check("mutual exclusion", explore.TwoHold, "never two holders")
	check("clients", explore.Untold, "each is told of every hold and of its end")
	if r.Timed {
		check("fencing tokens", explore.TokenBack, "each above all before")
	}
	where := "all states with all links up in which a peer waits"
	if r.Scope.Stuck == explore.StuckAnywhere {
		where = "all states in which a peer waits"
	}
	switch {
	case r.Scope.Stuck == explore.StuckUnchecked:
		out = append(out, "no stuck state: not checked")
	case r.StuckChecked:
		check("no stuck state", explore.Stuck, fmt.Sprintf("in %s, which are %s, each of them can still get the lock",
			where, sentence.Group(r.StuckStates)))
	default:
		check("no stuck state", explore.Stuck, "no dead end")
	}
	if r.Scope.Bypass > 0 {
		check("bounded bypass", explore.Starves,
			fmt.Sprintf("no waiting peer is passed more than %d times", r.Scope.Bypass))
	}
	return out
}

// verdict is the exit code, and a sentence that repeats the bounds.
func verdict(r *explore.Result) (code int, text string) {
	why := "--states-max ended the search"
	code = exitInconclusive
	switch r.Ended {
	case explore.Complete:
		return exitOK, "safe within these bounds, and nothing is said beyond them: " + r.Explored()
	case explore.Violated:
		return exitViolated, fmt.Sprintf("VIOLATED: %s, after %d moves at the least", r.Violation, r.Moves)
	case explore.Interrupted:
		why, code = "interrupted", exitInterrupted
	case explore.StatesBound:
	}
	return code, fmt.Sprintf(
		"undecided: %s; nothing was violated as far as was seen, up to %d moves away: %s", why, r.Depth, r.Explored())
}
