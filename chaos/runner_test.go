package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"locklab/chaos"
	"locklab/chaos/fault"
	"locklab/chaos/link"
	"locklab/locks/clock"
)

// mesh is links of hosts that do as told, and probes that show it, without a socket.
type mesh struct {
	mu     sync.Mutex
	start  int64
	active map[string]map[string]link.Impairment // host, id
	last   map[[2]string]int64                   // when To last heard From
	fails  int                                   // the next calls of Heal fail

	watched    map[string]bool // host and id
	probesOnly bool            // impairments do not reach the workload's connections
	idle       bool            // which has none
}

func newMesh(hosts ...string) *mesh {
	m := &mesh{start: clock.Mono(), active: map[string]map[string]link.Impairment{}, last: map[[2]string]int64{}, watched: map[string]bool{}}
	for _, h := range hosts {
		m.active[h] = map[string]link.Impairment{}
	}
	return m
}

// control is the mesh as seen from one host.
type control struct {
	*mesh
	host string
}

func (c control) Apply(_ context.Context, i link.Impairment) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note()
	c.active[c.host][i.ID] = i
	return nil
}

func (c control) Heal(_ context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails > 0 {
		c.fails--
		return errors.New("the agent is busy")
	}
	c.note()
	delete(c.active[c.host], id)
	return nil
}

// note remembers what was heard up to now, before a change.
func (m *mesh) note() {
	for x := range m.active {
		for y := range m.active {
			if x != y && !m.cut(x, y) {
				m.last[[2]string{x, y}] = clock.Mono()
			}
		}
	}
}

// cut says whether requests from x to y are lost.
func (m *mesh) cut(x, y string) bool {
	for _, i := range m.active[x] {
		if slices.Contains(i.ToHosts, y) && i.Direction != link.Down {
			return true
		}
	}
	return false
}

func (c control) Probes(context.Context) (link.Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note()
	now := clock.Mono()
	number := func(at int64) uint64 { return uint64(at-c.start)/uint64(5*time.Millisecond) + 1 }
	r := link.Report{Host: c.host}
	for other := range c.active {
		if other == c.host {
			continue
		}
		r.Peers = append(r.Peers, link.PeerReport{To: other, Sent: number(now)})
		heard := c.last[[2]string{other, c.host}]
		r.Heard = append(r.Heard, link.Heard{From: other, Sequence: number(heard), Age: time.Duration(now - heard)})
	}
	return r, nil
}

func (c control) Watch(_ context.Context, i link.Impairment) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched[c.host+i.ID] = true
	return nil
}

// Seen is of a workload that never rests, both ways.
func (c control) Seen(_ context.Context, id string) (seen []link.Passage, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.watched[c.host+id] {
		return nil, errors.New("nobody watches")
	}
	delete(c.watched, c.host+id)
	for other := range c.active {
		if other == c.host || c.idle {
			continue
		}
		for _, way := range []link.Direction{link.Up, link.Down} {
			p := link.Passage{Link: "to " + other, ToHost: other, ToNode: "master-of-" + other, Way: way, Arrived: 100}
			if c.probesOnly {
				p.Passed, p.Early = 100, 100
			}
			seen = append(seen, p)
		}
	}
	return seen, nil
}

// TestImpairmentsOfProbesAloneAreNotProven: what the workload's connections saw counts.
func TestImpairmentsOfProbesAloneAreNotProven(t *testing.T) {
	for _, c := range []struct {
		probesOnly, idle bool
		sides, why       string
	}{
		{false, false, "between: [zone:a, others]", ""},
		{true, true, "between: [zone:a, others]", ""}, // no traffic shows nothing
		{true, false, "between: [zone:a, others]", "100 bytes passed from host a1 to master-of-c1 while the link was to be cut"},
		{true, false, "from: zone:a, to: zone:c", "100 bytes passed from master-of-a1 to host c1 while the link was to be cut"},
	} {
		synctest.Test(t, func(t *testing.T) {
			config, m, _, rec := stage()
			m.probesOnly, m.idle = c.probesOnly, c.idle
			ledger := run(t, config, t.Context(), "  - {at: 1s, for: 1s, id: cut, fault: partition, "+c.sides+", mode: hold}", 10*time.Second)
			m.healed(t)
			if len(ledger) != 1 || ledger.Proven() != (c.why == "") || !strings.Contains(ledger[0].Why, c.why) {
				t.Errorf("%+v: ledger %+v", c, ledger)
			}
			if got := rec.states("cut"); slices.Contains(got, "unproven") == ledger.Proven() {
				t.Errorf("%+v: recorded %v", c, got)
			}
			if len(m.watched) > 0 {
				t.Errorf("left watched: %v", m.watched)
			}
		})
	}
}

// stage is two hosts in two zones without a socket.
func stage() (chaos.Config, *mesh, *nodes, *recorder) {
	config := chaos.DefaultConfig()
	config.Inventory = chaos.Inventory{
		Hosts: []chaos.Host{{Name: "a1", Zone: "a"}, {Name: "c1", Zone: "c"}},
		Nodes: []chaos.Node{
			{Name: "master-a", Role: "master", Host: "a1"},
			{Name: "redis-a", Role: "redis", Host: "a1"},
			{Name: "master-c", Role: "master", Host: "c1"},
		},
	}
	m, n, r := newMesh("a1", "c1"), newNodes("master-a", "redis-a", "master-c"), &recorder{}
	config.Links = map[string]chaos.LinkControl{"a1": control{m, "a1"}, "c1": control{m, "c1"}}
	config.Nodes, config.Resolver, config.Recorder, config.Lease = n, n, r, 3*time.Second
	return config, m, n, r
}

func run(t *testing.T, config chaos.Config, ctx context.Context, timeline string, measured time.Duration) chaos.Ledger { //nolint:revive // t first, as in all helpers
	t.Helper()
	runner, err := chaos.NewRunner(config)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := runner.Run(ctx, parse(t, timeline), measured, clock.Mono())
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

func (m *mesh) healed(t *testing.T) {
	t.Helper()
	for host, all := range m.active {
		if len(all) > 0 {
			t.Errorf("host %s is left with %v", host, all)
		}
	}
}

func TestTimelineIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, m, _, _ := stage()
		start := clock.Mono()
		ledger := run(t, config, t.Context(), `
  - {at: 10%, for: 20%, fault: partition, between: [zone:a, others], mode: hold}
  - {at: 6s, for: 1s, fault: pause, target: "node:master-c"}
  - {at: 90%, fault: kill, target: "role:redis"}`, 10*time.Second)
		m.healed(t)
		if len(ledger) != 3 || !ledger.Proven() {
			t.Fatalf("ledger %+v", ledger)
		}
		for n, want := range []struct{ asked, healAsked time.Duration }{
			{time.Second, 3 * time.Second}, {6 * time.Second, 7 * time.Second}, {9 * time.Second, 10 * time.Second},
		} {
			asked, healAsked := time.Duration(ledger[n].Asked-start), time.Duration(ledger[n].HealAsked-start)
			if asked != want.asked || healAsked != want.healAsked {
				t.Errorf("fault %d asked at %v, heal at %v; want %+v", n, asked, healAsked, want)
			}
		}
	})
}

func TestZoneReturnsWithoutItsMemoryAfterTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, m, n, _ := stage()
		ledger := run(t, config, t.Context(), `  - {at: 1s, for: 1s, fault: zone-failure, target: "zone:a", lose_data: [redis]}`, 20*time.Second)
		m.healed(t)
		if !ledger.Proven() {
			t.Fatalf("ledger %+v", ledger)
		}
		want := []string{
			"kill master-a", "kill redis-a",
			"restart wipe=false delay=0s master-a", "restart wipe=true delay=2.25s redis-a", // 3 s lease and a margin, less 1 s
		}
		if got := n.called(); !slices.Equal(got, want) {
			t.Fatalf("called %q, want %q", got, want)
		}
	})
}

// cutter is links that want to know who lives when they are cut.
type cutter struct {
	chaos.LinkControl
	cut func()
}

func (c cutter) Apply(ctx context.Context, i link.Impairment) error {
	c.cut()
	return c.LinkControl.Apply(ctx, i)
}

// TestTheDeadOfAZoneSeeNoPartition: a master that lived on behind cut links would take
// the other zone for gone, and act beside it.
func TestTheDeadOfAZoneSeeNoPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, _, n, _ := stage()
		var cuts atomic.Int64
		for host, control := range config.Links {
			config.Links[host] = cutter{control, func() {
				cuts.Add(1)
				for _, node := range []string{"master-a", "redis-a"} {
					if state, err := n.State(t.Context(), node); err != nil || state != chaos.NodeEnded {
						t.Errorf("%s is %s, %v, when the links are cut", node, state, err)
					}
				}
			}}
		}
		config.Nodes = dying{n}
		ledger := run(t, config, t.Context(), `  - {at: 1s, for: 1s, fault: zone-failure, target: "zone:a"}`, 20*time.Second)
		if !ledger.Proven() || cuts.Load() == 0 {
			t.Fatalf("ledger %+v, %d cuts", ledger, cuts.Load())
		}
	})
}

// dying are processes that take a moment to die.
type dying struct{ *nodes }

func (d dying) Kill(ctx context.Context, node string) error {
	timer := clock.System().NewTimer(5 * time.Millisecond)
	defer timer.Stop()
	<-timer.C()
	return d.nodes.Kill(ctx, node)
}

func TestNodeThatCouldReturnOnlyAfterTheRunStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, _, n, _ := stage()
		run(t, config, t.Context(), `  - {at: 1s, for: 1s, fault: kill, target: "role:redis", lose_data: [redis]}`, 4*time.Second)
		if got := n.called(); !slices.Equal(got, []string{"kill redis-a"}) {
			t.Fatalf("called %q", got)
		}
	})
}

func TestFlapIsManyFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, m, _, rec := stage()
		ledger := run(t, config, t.Context(),
			`  - {at: 1s, for: 3s, id: flap, fault: flap, between: [zone:a, zone:c], mode: reset, down: 300ms, up: 700ms}`, 10*time.Second)
		m.healed(t)
		if len(ledger) != 3 || !ledger.Proven() || ledger[2].ID != "flap#3" {
			t.Fatalf("ledger %+v", ledger)
		}
		if got := rec.states("flap#2"); len(got) != 4 {
			t.Fatalf("recorded %v", got)
		}
	})
}

func TestHolderIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, _, n, _ := stage()
		clock.System().AfterFunc(1300*time.Millisecond, func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.holder = "master-c"
		})
		ledger := run(t, config, t.Context(), `  - {at: 1s, for: 2s, fault: pause, target: holder}`, 10*time.Second)
		if !ledger.Proven() || ledger[0].Target != "holder (master-c)" {
			t.Fatalf("ledger %+v", ledger)
		}
		if got := n.called(); !slices.Equal(got, []string{"pause master-c", "resume master-c"}) {
			t.Fatalf("called %q", got)
		}
	})
}

// slow are processes that take their time to stand still.
type slow struct {
	*nodes
	after time.Duration
}

func (s slow) Pause(ctx context.Context, node string) error {
	timer := clock.System().NewTimer(s.after)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
	return s.nodes.Pause(ctx, node)
}

// TestAFaultLastsAsLongAsItWasMeantTo: one that came so late that little was left of
// it, or that came after the measured part, did not happen as the scenario says.
func TestAFaultLastsAsLongAsItWasMeantTo(t *testing.T) {
	for _, c := range []struct {
		after  time.Duration
		step   string
		proven bool
	}{
		{400 * time.Millisecond, "at: 1s, for: 2s", true},
		{600 * time.Millisecond, "at: 1s, for: 2s", false},
		{90 * time.Millisecond, "at: 1s, for: 200ms", true},
		{0, "at: 4990ms", true},
		{20 * time.Millisecond, "at: 4990ms", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			config, _, n, _ := stage()
			config.Nodes = slow{n, c.after}
			ledger := run(t, config, t.Context(), "  - {"+c.step+", fault: pause, target: node:master-a}", 5*time.Second)
			if len(ledger) != 1 || ledger.Proven() != c.proven || !c.proven && !strings.Contains(ledger[0].Why, "meant to be for") {
				t.Errorf("%s, %v late: ledger %+v, want proven %v", c.step, c.after, ledger, c.proven)
			}
		})
	}
}

func TestMissingTargetIsUnproven(t *testing.T) {
	for selector, why := range map[string]string{
		"leader": "no leader", "holder": "no holder", `"zone:x"`: "zone:x", `"role:raft"`: "role:raft",
	} {
		synctest.Test(t, func(t *testing.T) {
			config, _, n, _ := stage()
			ledger := run(t, config, t.Context(), "  - {at: 1s, for: 1s, fault: kill, target: "+selector+"}", 10*time.Second)
			if len(ledger) != 1 || ledger.Proven() || !strings.Contains(ledger[0].Why, why) {
				t.Errorf("%s: ledger %+v", selector, ledger)
			}
			if got := n.called(); len(got) != 0 {
				t.Errorf("%s: called %q", selector, got)
			}
		})
	}
}

// patient looks for a leader for as long as it is given.
type patient struct{ *nodes }

func (patient) Leader(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", fmt.Errorf("no raft server leads: %w", fault.ErrNoTarget)
}

func TestSearchForATargetEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, _, n, _ := stage()
		config.Resolver = patient{n}
		start := clock.Mono()
		ledger := run(t, config, t.Context(), `  - {at: 1s, for: 1s, fault: kill, target: leader}`, 10*time.Second)
		if ledger.Proven() || !strings.Contains(ledger[0].Why, "no raft server leads") {
			t.Errorf("ledger %+v", ledger)
		}
		if took := time.Duration(clock.Mono() - start); took > 4*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestCancelHealsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, m, n, rec := stage()
		m.fails = 3 // healing is tried again
		ctx, cancel := context.WithCancel(t.Context())
		clock.System().AfterFunc(2*time.Second, cancel)
		start := clock.Mono()
		ledger := run(t, config, ctx, `
  - {at: 1s, fault: partition, id: cut, between: [zone:a, others], mode: hold}
  - {at: 1s, fault: pause, target: "node:master-a"}
  - {at: 5s, fault: kill, target: "node:master-c"}`, time.Hour)
		if took := time.Duration(clock.Mono() - start); took > 3*time.Second {
			t.Errorf("returned after %v", took)
		}
		m.healed(t)
		if got := n.called(); !slices.Equal(got, []string{"pause master-a", "resume master-a"}) {
			t.Errorf("called %q", got)
		}
		if len(ledger) != 2 { // the third was never asked for
			t.Errorf("ledger %+v", ledger)
		}
		if got := rec.states("cut"); !slices.Equal(got, []string{"asked", "began", "heal-asked", "ended"}) {
			t.Errorf("recorded %v", got)
		}
	})
}

func TestFailureToKillIsUnproven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, _, n, _ := stage()
		n.fails = errors.New("the agent said no")
		runner, err := chaos.NewRunner(config)
		if err != nil {
			t.Fatal(err)
		}
		ledger, _ := runner.Run(t.Context(), parse(t, `  - {at: 1s, for: 1s, fault: kill, target: "node:master-a"}`), 5*time.Second, clock.Mono())
		if ledger.Proven() || !strings.Contains(ledger[0].Why, "the agent said no") {
			t.Fatalf("ledger %+v", ledger)
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	config, _, _, _ := stage()
	delete(config.Links, "c1")
	if _, err := chaos.NewRunner(config); err == nil || !strings.Contains(err.Error(), "c1") {
		t.Fatalf("got %v", err)
	}
}
