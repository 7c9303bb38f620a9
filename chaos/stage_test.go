package chaos_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/chaos"
	"locklab/chaos/fault"
	"locklab/chaos/link"
	"locklab/chaos/scenario"
	"locklab/internal/damage"
	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is three hosts in two zones without a socket or a process: links whose probes show
// what was done to them, processes and the programs of a user. They do as they are told, at
// once, unless a test wants otherwise. It records what the runner does.
type stage struct {
	config chaos.Config

	mu     sync.Mutex
	events []history.Event
	calls  []string

	start  int64
	active map[string]map[string]link.Impairment // host, id
	since  map[string]int64                      // when an impairment began
	last   map[[2]string]int64                   // when To last heard From

	fails       int                                            // the next calls of Heal fail
	probesOnly  bool                                           // impairments do not reach the workload's connections
	deaf        bool                                           // impairments do nothing
	away        bool                                           // the controller does not reach zone a
	silentUntil time.Duration                                  // probes have no answers until then
	varies      func(at time.Duration, n uint64) time.Duration // what round trips take beyond 1 ms; nil: nothing
	onApply     func()

	state   map[string]string
	holder  string
	leader  func(context.Context) (string, error)
	refuses error                    // what processes are told
	ignored string                   // an order that is said to be done and is not
	takes   map[string]time.Duration // how long an order takes

	clocks map[string]*clock.Skewed

	disks  map[string]damage.Disk
	diskAt map[string]int64 // when it was set
	dies   bool             // who cannot write ends

	begin, end func(context.Context) error // of the user's programs
}

var (
	_ chaos.NodeControl = (*stage)(nil)
	_ chaos.External    = (*stage)(nil)
	_ fault.Resolver    = (*stage)(nil)
)

func newStage() *stage {
	nothing := func(context.Context) error { return nil }
	s := &stage{
		config: chaos.DefaultConfig(), start: clock.Mono(), active: map[string]map[string]link.Impairment{}, since: map[string]int64{},
		last: map[[2]string]int64{}, state: map[string]string{}, takes: map[string]time.Duration{}, begin: nothing, end: nothing,
		leader: func(context.Context) (string, error) { return "", errors.New("this lock has no leader") },
	}
	s.config.Inventory = fault.Inventory{
		Hosts: []fault.Host{{Name: "a1", Zone: "a"}, {Name: "a2", Zone: "a"}, {Name: "c1", Zone: "c"}},
		Nodes: []fault.Node{
			{Name: "master-a", Role: "master", Host: "a1"},
			{Name: "redis-a", Role: "redis", Host: "a2"},
			{Name: "master-c", Role: "master", Host: "c1"},
		},
		Diskless: []string{"master"},
	}
	s.config.Links = map[string]chaos.LinkControl{}
	for _, h := range s.config.Inventory.Hosts {
		s.active[h.Name], s.config.Links[h.Name] = map[string]link.Impairment{}, control{s, h.Name}
	}
	s.config.Nodes = map[string]chaos.NodeControl{}
	for _, n := range s.config.Inventory.Nodes {
		s.state[n.Name], s.config.Nodes[n.Name] = history.NodeReady, s
	}
	s.config.Resolver, s.config.External, s.config.Recorder, s.config.Away = s, s, s, 3*time.Second
	return s
}

func (s *stage) SetClock(_ context.Context, node string, offset time.Duration, rate float64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf("clock %s %v", node, offset))
	if rate != 1 {
		s.calls[len(s.calls)-1] += fmt.Sprintf(" x%v", rate)
	}
	if s.clocks == nil {
		s.clocks = map[string]*clock.Skewed{}
	}
	if s.clocks[node] == nil {
		s.clocks[node] = clock.NewSkewed(clock.System())
	}
	if s.ignored != "clock" {
		s.clocks[node].Set(offset, rate)
	}
	return nil
}

func (s *stage) NodeClock(_ context.Context, node string) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clocks[node] == nil {
		return 20 * time.Millisecond, nil
	}
	return s.clocks[node].Wall().Sub(clock.System().Now()) + 20*time.Millisecond, nil
}

func (s *stage) CutPower(ctx context.Context, node string, power damage.Power) (history.Lost, error) {
	how := ""
	if power.Torn {
		how = " torn"
	}
	return history.Lost{Node: node, Bytes: 7}, s.order(ctx, "cut power", how, node, history.NodeEnded)
}

func (s *stage) SetDisk(_ context.Context, node string, disk damage.Disk) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := fmt.Sprintf("disk %s %v", node, disk.Delay)
	if disk.Full {
		what = "disk " + node + " full"
	}
	s.calls = append(s.calls, what)
	if s.ignored != "disk" {
		s.disks, s.diskAt = map[string]damage.Disk{node: disk}, map[string]int64{node: clock.Mono()}
	}
	if disk.Full && s.dies {
		s.state[node] = history.NodeEnded
	}
	return nil
}

// Disk is that of who begins a sync 30 ms after the disk was set, and then no other.
func (s *stage) Disk(_ context.Context, node string) (seen damage.Seen, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen.Disk = s.disks[node]
	since := time.Duration(clock.Mono()-s.diskAt[node]) - 30*time.Millisecond
	if s.ignored == "sync" || s.diskAt[node] == 0 || since < 0 {
		return seen, nil
	}
	seen.Hit = 1
	if since >= seen.Delay {
		seen.Done, seen.Least = 1, seen.Delay
	}
	return seen, nil
}

func (s *stage) Record(e history.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// states are those that a fault went through.
func (s *stage) states(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, e := range s.events {
		if e.ID == id {
			all = append(all, e.State)
		}
	}
	return strings.Join(all, " ")
}

// called is what processes and programs were told, sorted.
func (s *stage) called() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(s.calls)), ", ")
}

// healed wants no impairment to be left.
func (s *stage) healed(t *testing.T) {
	t.Helper()
	for host, all := range s.active {
		if len(all) > 0 {
			t.Errorf("host %s is left with %v", host, all)
		}
	}
}

func (s *stage) order(ctx context.Context, verb, how, node string, state string) error {
	_ = clock.Sleep(ctx, s.takes[verb]) // who is told to stop while it ends does so too
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, verb+how+" "+node)
	if s.refuses == nil && s.ignored != verb {
		s.state[node] = state
	}
	return s.refuses
}

func (s *stage) Kill(ctx context.Context, node string) error {
	return s.order(ctx, "kill", "", node, history.NodeEnded)
}

// Pause finds every node at a point 200 ms after it is asked for.
func (s *stage) Pause(ctx context.Context, node, point string, within time.Duration) error {
	if point == "" {
		return s.order(ctx, "pause", "", node, history.NodePaused)
	}
	if err := clock.Sleep(ctx, min(200*time.Millisecond, within)); err != nil {
		return err
	}
	if s.ignored == "point" {
		return fmt.Errorf("%s did not come to %s within %v", node, point, within)
	}
	return s.order(ctx, "pause", " at "+point, node, history.NodePaused)
}

func (s *stage) Resume(ctx context.Context, node string) error {
	return s.order(ctx, "resume", "", node, history.NodeReady)
}

func (s *stage) Restart(ctx context.Context, node string, wipe bool) error {
	how := ""
	if wipe {
		how = fmt.Sprintf(" wiped at %v", time.Duration(clock.Mono()-s.start).Round(10*time.Millisecond))
	}
	return s.order(ctx, "restart", how, node, history.NodeReady)
}

func (s *stage) State(_ context.Context, node string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state[node], nil
}

func (s *stage) Holder(context.Context, string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holder, nil
}

func (s *stage) hold(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holder = node
}

func (s *stage) Leader(ctx context.Context) (string, error) { return s.leader(ctx) }
func (s *stage) Primary(context.Context) (string, error)    { return "", nil }

func (s *stage) call(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
}

func (s *stage) Start(ctx context.Context, run, hosts []string) error {
	s.call(fmt.Sprintf("start %v %v", run, hosts))
	return s.begin(ctx)
}

func (s *stage) Stop(ctx context.Context, run []string) error {
	s.call(fmt.Sprintf("stop %v", run))
	return s.end(ctx)
}

// cutZoneA impairs the links themselves, as a network would, behind the runner's back.
func cutZoneA(links map[string]chaos.LinkControl) (begin, end func(context.Context) error) {
	zones := map[string][]string{"a1": {"c1"}, "a2": {"c1"}, "c1": {"a1", "a2"}}
	each := func(do func(host string, to []string) error) (err error) {
		for host, to := range zones {
			err = errors.Join(err, do(host, to))
		}
		return err
	}
	begin = func(ctx context.Context) error {
		return each(func(host string, to []string) error {
			return links[host].Apply(ctx, link.Impairment{ID: "real trouble", Effect: new(link.Drop), Direction: link.Both, ToHosts: to})
		})
	}
	end = func(ctx context.Context) error {
		return each(func(host string, _ []string) error {
			_, err := links[host].Heal(ctx, "real trouble")
			return err
		})
	}
	return begin, end
}

// control is the links as seen from one host.
type control struct {
	*stage
	host string
}

func (c control) Apply(_ context.Context, i link.Impairment) error {
	if c.onApply != nil {
		c.onApply()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaf {
		return nil
	}
	c.note()
	c.active[c.host][i.ID], c.since[c.host+i.ID] = i, clock.Mono()
	return nil
}

func (c control) Heal(_ context.Context, id string) (contradicted string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails > 0 {
		c.fails--
		return "", errors.New("the agent is busy")
	}
	c.note()
	delete(c.active[c.host], id)
	if c.probesOnly {
		contradicted = "100 bytes passed from host " + c.host
	}
	return contradicted, nil
}

// note remembers what was heard up to now, before a change.
func (s *stage) note() {
	for x := range s.active {
		for y := range s.active {
			if x != y && !s.cut(x, y) {
				s.last[[2]string{x, y}] = clock.Mono()
			}
		}
	}
}

// cut says whether requests from x to y are lost.
func (s *stage) cut(x, y string) bool {
	for _, i := range s.active[x] {
		if slices.Contains(i.ToHosts, y) && i.Direction != link.Down && link.Cuts(i.Effect) {
			return true
		}
	}
	return false
}

// probeEvery is how often hosts probe each other; the round trips are of the last 16 probes.
const probeEvery = 5 * time.Millisecond

func (c control) Probes(context.Context) (link.Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away && strings.HasPrefix(c.host, "a") {
		return link.Report{}, errors.New("no answer")
	}
	c.note()
	now := clock.Mono()
	age := func(heard int64) (uint64, time.Duration) {
		return uint64(heard-c.start)/uint64(probeEvery) + 1, time.Duration(now - heard)
	}
	r := link.Report{Host: c.host}
	for other := range c.active {
		if other == c.host {
			continue
		}
		p := link.PeerReport{To: other, RTTs: c.trips(other)}
		p.Sent, _ = age(now)
		p.Answered, p.AnsweredAge = age(min(c.last[[2]string{c.host, other}], c.last[[2]string{other, c.host}]))
		h := link.Heard{From: other}
		h.Sequence, h.Age = age(c.last[[2]string{other, c.host}])
		r.Peers, r.Heard = append(r.Peers, p), append(r.Heard, h)
	}
	return r, nil
}

// trips are the answered probes from a host to another.
func (c control) trips(to string) (all []link.RTT) {
	now := clock.Mono()
	if now-c.start < int64(c.silentUntil) {
		return nil
	}
	for n := uint64(now-c.start) / uint64(probeEvery); n > 0 && len(all) < 16; n-- {
		at := c.start + int64(n)*int64(probeEvery)
		took, there := time.Millisecond, time.Millisecond/2
		if c.varies != nil {
			there += c.varies(time.Duration(at-c.start), n)
			took += c.varies(time.Duration(at-c.start), n)
		}
		for id, i := range c.active[c.host] {
			if delay := link.Least(i.Effect, 0); !link.Cuts(i.Effect) && slices.Contains(i.ToHosts, to) && at >= c.since[c.host+id] {
				for _, way := range []link.Direction{link.Up, link.Down} {
					if i.Direction == way || i.Direction == link.Both {
						took += delay
						if way == link.Up {
							there += delay
						}
					}
				}
			}
		}
		if at+int64(took) <= now {
			all = append(all, link.RTT{SentAge: time.Duration(now - at), Took: took, There: there})
		}
	}
	slices.Reverse(all)
	return all
}

func parse(t testing.TB, timeline string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte("name: test\nsummary: test\ntimeline:\n"+timeline+"\nexpect: []\n"), "")
	must.Do(t, err)
	return s
}

// seen is what was recorded of one fault.
type seen struct {
	id, why                        string
	asked, began, healAsked, ended int64 // 0 is never
}

// run says what was recorded of each fault, in the order in which they were asked for.
func (s *stage) run(ctx context.Context, t *testing.T, timeline string, measured time.Duration) (all []seen, err error) {
	t.Helper()
	err = chaos.Run(ctx, s.config, parse(t, timeline), measured, clock.Mono())
	for _, e := range s.events {
		i := slices.IndexFunc(all, func(f seen) bool { return f.id == e.ID })
		if i < 0 {
			i, all = len(all), append(all, seen{id: e.ID})
		}
		f := &all[i]
		times := map[string]*int64{"asked": &f.asked, "began": &f.began, "heal-asked": &f.healAsked, "ended": &f.ended}
		if at := times[e.State]; at != nil {
			*at = e.AtNS
		}
		if e.State == "unproven" {
			f.why = cmp.Or(f.why, e.Error)
		}
	}
	return all, err
}

// proven says that every fault is.
func proven(all []seen) bool {
	return !slices.ContainsFunc(all, func(f seen) bool { return f.why != "" })
}
