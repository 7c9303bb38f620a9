package sim_test

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/internal/seed"
	"locklab/locks/lamport"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/twophase"
	"locklab/verify/sim"
)

// simulator is that of a spec.
func simulator(tb testing.TB, text string) sim.Simulator {
	tb.Helper()
	switch name, _, _ := strings.Cut(text, ":"); name {
	case lamport.Name, lamport.RicartAgrawala:
		return sim.New(locktest.Options(tb, lamport.ParseOptions, text).Protocol())
	case twophase.Name:
		return sim.New(locktest.Options(tb, twophase.ParseOptions, text).Protocol())
	}
	o := locktest.Options(tb, multiphase.ParseOptions, text)
	if o.Quorum != nil {
		return sim.New(o.QuorumProtocol())
	}
	return sim.New(o.Protocol())
}

func load() sim.Load { return sim.Load{Think: 20 * time.Millisecond, Hold: 5 * time.Millisecond} }

func campaign(tb testing.TB, lock string, c sim.Campaign) sim.Outcome {
	tb.Helper()
	o := c.Run(context.Background(), simulator(tb, lock))
	if o.Totals.Runs != c.Seeds || o.Totals.Grants == 0 {
		tb.Fatalf("%s: %d runs, %d grants", lock, o.Totals.Runs, o.Totals.Grants)
	}
	return o
}

// TestConnections watches, through cores that only send numbers, that a connection
// keeps their order and loses none of them while it stands, whatever happens.
func TestConnections(t *testing.T) {
	l := &ledger{}
	s := toys(l, holdAtOnce)
	for n := range seed.Seed(300) {
		cfg := sim.Config{Peers: 5, Seed: n, Duration: 5 * time.Second, Load: load(), Jitter: 5}
		cfg.Faults = sim.Draw(cfg, sim.Kinds())
		s(cfg)
		if len(l.wrong) > 0 {
			t.Fatalf("seed %d: %v\nfaults: %v", n, l.wrong[0], cfg.Faults)
		}
	}
	if l.received < 10000 || l.losses < 100 {
		t.Errorf("%d messages and %d lost connections: too few to say anything", l.received, l.losses)
	}
}

// TestCuts checks what a cut does to what is sent: a short one delays, a long one ends
// the connections, at both ends, and afterwards they are made again.
func TestCuts(t *testing.T) {
	for _, c := range []struct {
		length time.Duration
		oneWay bool
		lost   bool
	}{{200 * time.Millisecond, false, false}, {2 * time.Second, false, true}, {2 * time.Second, true, true}} {
		var b bytes.Buffer
		l := &ledger{}
		cut := sim.Fault{Kind: sim.Partition, From: time.Second, Until: time.Second + c.length, A: []int{0}, B: []int{1}, OneWay: c.oneWay}
		toys(l, holdAtOnce)(sim.Config{Peers: 2, Load: load(), Faults: []sim.Fault{cut}, Trace: &b})
		text := b.String()
		if len(l.wrong) > 0 {
			t.Error(l.wrong)
		}
		for _, p := range []string{"p0   connection to p1", "p1   connection to p0"} {
			if got := strings.Count(text, p+" lost") == 1 && strings.Count(text, p+" made") == 2; got != c.lost {
				t.Errorf("%v: %s: want lost and made again %v", cut, p, c.lost)
			}
		}
		arrives, sent := 0.0, 0.0 // of the first after the cut began
		for line := range strings.SplitSeq(text, "\n") {
			switch {
			case sent == 0 && strings.Contains(line, "p0   ->"):
				sent = max(0, at(t, line)-1000)
			case sent > 0 && arrives == 0 && strings.Contains(line, "p1   <-"):
				arrives = at(t, line)
			}
		}
		if !c.lost && arrives < 1200 {
			t.Errorf("%v: what was sent %.1f ms after its begin arrived at %.1f ms, before the heal", cut, sent, arrives)
		}
	}
}

// at is the time of a line of a trace in ms.
func at(tb testing.TB, line string) float64 {
	tb.Helper()
	d, err := time.ParseDuration(strings.Fields(line)[0] + "ms")
	if err != nil {
		tb.Fatal(err)
	}
	return float64(d) / 1e6
}

// TestLongHoldsAreNotStuck: a peer that waits for minutes behind clients that hold is not stuck.
func TestLongHoldsAreNotStuck(t *testing.T) {
	r := simulator(t, "multiphase")(sim.Config{
		Peers: 5, Duration: time.Second, Load: sim.Load{Hold: 5 * time.Minute},
	})
	if bad := r.Bad(); bad != nil || r.Grants != 5 {
		t.Errorf("%d grants: %v", r.Grants, bad)
	}
}

// TestChecksReject has cores that break each promise.
func TestChecksReject(t *testing.T) {
	nothing := func(*toy) []peercore.Effect[int] { return nil }
	growing := func(y *toy) []peercore.Effect[int] { y.log.tokens++; return hold(y.log.tokens) }
	for name, c := range map[string]struct {
		request func(t *toy) []peercore.Effect[int]
		want    sim.FindingKind
	}{
		"everybody holds at once": {request: holdAtOnce, want: sim.Overlap},
		"with one token for all":  {request: func(*toy) []peercore.Effect[int] { return hold(1) }, want: sim.Token},
		"with tokens that shrink": {request: func(y *toy) []peercore.Effect[int] { y.log.tokens--; return hold(y.log.tokens) }, want: sim.Token},
		"with tokens that grow":   {request: growing, want: sim.Overlap},
		"nobody is ever served":   {request: nothing, want: sim.Stuck},
		"the lowest rank is not served": {request: func(y *toy) []peercore.Effect[int] {
			return map[bool][]peercore.Effect[int]{true: hold(0)}[y.self != 2]
		}, want: sim.Stuck},
		"two holds for one request each": {request: func(*toy) []peercore.Effect[int] { return append(hold(0), hold(0)...) }, want: sim.Untold},
	} {
		r := toys(&ledger{}, c.request)(sim.Config{Load: load()})
		if !slices.ContainsFunc(r.Findings, func(f sim.Finding) bool { return f.Kind == c.want }) {
			t.Errorf("%s: want %q, found %v", name, c.want, r.Findings)
		}
		if r.Bad() == nil {
			t.Errorf("%s: no violation: %v", name, r.Findings)
		}
	}
}

// TestOnlyALeaseExcuses has two holds with growing tokens, the second some time after the
// first, whose lease is a second, and asks which of them a fault excuses.
func TestOnlyALeaseExcuses(t *testing.T) {
	const s, ttl = time.Second, time.Second
	pause := func(from, until time.Duration, who int) sim.Fault {
		return sim.Fault{Kind: sim.Pause, From: from, Until: until, A: []int{who}}
	}
	drift := func(from, until time.Duration, who int, rate float64) sim.Fault {
		return sim.Fault{Kind: sim.Drift, From: from, Until: until, A: []int{who}, Rate: rate}
	}
	for name, c := range map[string]struct {
		after time.Duration // the first hold, which begins at 0, the second begins
		fault sim.Fault
		want  sim.FindingKind // "": no overlap
	}{
		"no lease is over, and a pause is":              {s / 2, pause(1, s/10, 0), sim.Overlap},
		"no lease is over, and the holder stands still": {s / 2, pause(s/10, 5*s, 0), sim.Overlap},
		"the holder stands still for long enough":       {s * 3 / 2, pause(s/10, 5*s, 0), sim.Fenced},
		"another one stands still":                      {s / 2, pause(s/10, 5*s, 2), sim.Overlap},
		"the lease is over and noticed":                 {s * 3 / 2, pause(s/10, 5*s, 2), ""},
		"the holder's clock is slow, for long enough":   {s * 3 / 2, drift(s/10, 5*s, 0, 0.5), sim.Fenced},
		"the holder's clock is slow, and no vote over":  {s / 2, drift(s/10, 5*s, 0, 0.5), sim.Overlap},
		"a voter's clock is fast enough":                {s * 3 / 4, drift(s/10, 5*s, 2, 2), sim.Fenced},
		"a voter's clock is not fast enough":            {s * 3 / 4, drift(s/10, 5*s, 2, 1.1), sim.Overlap},
		"a voter's clock is fast for too short a time":  {s * 3 / 4, drift(s/10, s/5, 2, 2), sim.Overlap},
	} {
		r := leasing(ttl, c.after)(sim.Config{
			Load: sim.Load{Hold: time.Hour}, Duration: 10 * s, Faults: []sim.Fault{c.fault},
		})
		var got sim.FindingKind
		for _, f := range r.Findings {
			if f.Kind != sim.Stuck { // all ask again
				got = f.Kind
			}
		}
		if got != c.want {
			t.Errorf("%s: want %q, found %v", name, c.want, r.Findings)
		}
	}
}

// TestKnownViolations finds what is known to be wrong with each variant.
func TestKnownViolations(t *testing.T) {
	for _, c := range []struct {
		lock, want string
		kinds      []sim.Kind
		giveUp     time.Duration
		seeds      int
	}{
		{"multiphase:rule=literal", "overlap without a fault", nil, 0, 200},
		{"multiphase:rounds=off", "overlap without a fault", nil, 5 * time.Millisecond, 1000},
		{"multiphase", "overlap under partition", []sim.Kind{sim.Partition}, 0, 50},
		{"multiphase", "overlap under pause", []sim.Kind{sim.Pause}, 0, 50},
		{"lamport:detect=on", "overlap under partition", []sim.Kind{sim.Partition}, 0, 50},
		{"ricart-agrawala:detect=on", "overlap under partition", []sim.Kind{sim.Partition}, 0, 50},
	} {
		l := load()
		l.GiveUp = c.giveUp
		o := campaign(t, c.lock, sim.Campaign{Config: sim.Config{Seed: 1, Load: l}, Seeds: c.seeds, Kinds: c.kinds})
		if !o.Bad() || !slices.ContainsFunc(o.Groups, func(g sim.Group) bool { return g.Name == c.want }) {
			t.Errorf("%s under %v: want %q, found %+v", c.lock, c.kinds, c.want, o.Groups)
		}
	}
}

// TestMessages: an acquisition takes the messages that each algorithm is known for, and a round trip.
func TestMessages(t *testing.T) {
	for lock, messages := range map[string]float64{"multiphase": 3, "lamport": 3, "ricart-agrawala": 2, "multiphase:quorum": 3, "2pc": 4} {
		for _, peers := range []int{2, 3, 10, 64} {
			r := simulator(t, lock)(sim.Config{Peers: peers, Load: sim.Load{Think: 5 * time.Minute, Hold: time.Millisecond}, Duration: 5 * time.Hour})
			got, want := float64(r.Messages)/float64(r.Grants), messages*float64(peers-1)
			wait := time.Duration(r.Wait.ValueAtQuantile(50))
			if math.Abs(got-want) > want/20 || wait < time.Millisecond*9/10 || wait > 3*time.Millisecond {
				t.Errorf("%s, %d peers: %.1f messages and %v for each of %d grants, want %.0f and 1 ms", lock, peers, got, wait, r.Grants, want)
			}
		}
	}
}

// TestViewRule cuts one of three links: the third peer sees both ends, and without the
// rule it lets both in.
func TestViewRule(t *testing.T) {
	cut := sim.Fault{Kind: sim.Partition, From: time.Second, Until: 4 * time.Second, A: []int{0}, B: []int{1}}
	for lock, want := range map[string]bool{"multiphase": false, "multiphase:view=off": true} {
		o := campaign(t, lock, sim.Campaign{Config: sim.Config{Seed: 1, Duration: 6 * time.Second, Load: load(), Faults: []sim.Fault{cut}}, Seeds: 50})
		if o.Bad() != want {
			t.Errorf("%s: violated %v: %+v", lock, o.Bad(), o.Groups)
		}
	}
}

// TestSafe runs what must be safe.
func TestSafe(t *testing.T) {
	all := sim.Kinds()
	for _, c := range []struct {
		lock  string
		kinds []sim.Kind
	}{
		{"multiphase", nil},
		{"multiphase:fair=off", nil},
		{"multiphase:cohort", nil},
		{"multiphase:quorum", nil},
		{"lamport", nil},
		{"ricart-agrawala", nil},
		{"2pc", nil},
		{"multiphase", []sim.Kind{sim.Crash, sim.Slow, sim.Drift}},
		{"multiphase:quorum", []sim.Kind{sim.Partition, sim.Slow}},
		{"lamport", all},
		{"ricart-agrawala", all},
		{"2pc", all},
	} {
		for _, peers := range []int{2, 3, 5} {
			l := load()
			l.GiveUp, l.Clients = 30*time.Millisecond, 2
			o := campaign(t, c.lock, sim.Campaign{Config: sim.Config{Peers: peers, Seed: 1, Duration: 4 * time.Second, Load: l}, Seeds: 40, Kinds: c.kinds})
			if o.Bad() {
				t.Errorf("%s, %d peers, %v: %+v", c.lock, peers, c.kinds, o.Groups)
			}
		}
	}
}

// TestQuorumHasNoOverlap: whatever happens to peers and network, two holders at once
// have tokens that grow.
func TestQuorumHasNoOverlap(t *testing.T) {
	o := campaign(t, "multiphase:quorum", sim.Campaign{Config: sim.Config{Seed: 1, Duration: 30 * time.Second, Load: load()}, Seeds: 150, Kinds: sim.Kinds()})
	for _, g := range o.Groups {
		if g.Example.Kind == sim.Overlap || g.Example.Kind == sim.Stuck {
			t.Errorf("%+v", g)
		}
	}
	if !slices.ContainsFunc(o.Groups, func(g sim.Group) bool { return g.Example.Kind == sim.Fenced }) {
		t.Error("no pause outlived a lease: too few to say anything")
	}
}

// TestLeases stops a holder for longer than its lease: it loses it when it goes on.
func TestLeases(t *testing.T) {
	var b bytes.Buffer
	cfg := sim.Config{
		Load: sim.Load{Hold: 30 * time.Second}, Duration: time.Minute, Trace: &b,
		Faults: []sim.Fault{{Kind: sim.Pause, From: time.Second, Until: 8 * time.Second, A: []int{0, 1}}},
	}
	simulator(t, "multiphase:quorum")(cfg)
	if !strings.Contains(b.String(), "has lost the lease") {
		t.Errorf("nobody lost a lease:\n%s", b.String())
	}
}

func TestCampaignDoesNotDependOnWorkers(t *testing.T) {
	c := sim.Campaign{Config: sim.Config{Seed: 3, Duration: 3 * time.Second, Load: load()}, Seeds: 60, Kinds: sim.Kinds()}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := campaign(t, "multiphase", c)
	runtime.GOMAXPROCS(3)
	if three := campaign(t, "multiphase", c); !reflect.DeepEqual(one, three) {
		t.Errorf("one worker: %+v\nthree: %+v", one, three)
	}
}
