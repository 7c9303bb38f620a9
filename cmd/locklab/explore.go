package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/locks/clock"
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
	display := newExploreProgress(stderr)
	begun := clock.System().Now()
	r, err := subject.Explore(ctx, sc, display.update)
	display.close()
	if err != nil {
		return err
	}
	told := tale{Result: r, elapsed: clock.System().Now().Sub(begun), peak: peakMemory(), cohort: bound.Core.Cohort}
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
