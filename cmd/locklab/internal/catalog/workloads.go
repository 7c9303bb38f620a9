package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"locklab/chaos/scenario"
	"locklab/internal/seed"
	"locklab/internal/sentence"
	"locklab/nodes/process"
	"locklab/nodes/worker"
	"locklab/workloads/fencedwrite"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
	"locklab/workloads/matchmaking"
	"locklab/workloads/mutex"
)

// Workload is one thing that clients do with a lock.
type Workload struct {
	Name     string
	Summary  string
	Resource string                    // what the names of resources have before their number
	Rate     float64                   // operations per second, unless the user says; 0 is a closed loop
	Flags    func(*pflag.FlagSet) Load // adds the workload's own flags of `locklab run`
}

// Load is a workload with the user's flags.
type Load interface {
	// Check says which flag is wrong.
	Check() error
	// Resources is how many resources are locked.
	Resources(scenario.Wants) int
	// Seats is how many players fit in a room, 0 where players get none.
	Seats() int
	// Fitting is the highest rate, at most usual, that can be served while clients do what a scenario wants.
	Fitting(usual float64, w scenario.Wants) float64
	// Instead lists the settings of clients that a scenario overrides.
	Instead(scenario.Wants) []string
	// Begin prepares one run.
	Begin(Run) Clients
}

// Run is what a load needs of a run.
type Run struct {
	Masters          []loadgen.Master
	Rate             float64
	Warmup, Duration time.Duration
	Patience         time.Duration  // of clients
	Second           time.Duration  // of the topology
	Wants            scenario.Wants // where the user does not say
	Seed             seed.Seed
	StartNS          int64 // on clock.Mono
	Recorder         history.Recorder
	// Stop ends the load before its time when it is closed; nil never does.
	Stop <-chan struct{}
}

// Clients are a load under way.
type Clients struct {
	// Run returns after the warm-up, the measured time and the last answer.
	Run func(context.Context) error
	// SetRate changes the operations offered per second; nil where that cannot be done.
	SetRate func(perSecond uint32) error
}

// Workloads lists the workloads, the usual one first.
func Workloads() []Workload {
	return []Workload{
		{
			Name:     history.Matchmaking,
			Summary:  "players arrive for groups; rooms fill, live and close; a room too many is a duplicate",
			Resource: "g",
			Rate:     300,
			Flags: func(fl *pflag.FlagSet) Load {
				var l players
				fl.IntVar(&l.groups, "groups", 20, "matchmaking: groups that players belong to")
				fl.IntVar(&l.seats, "seats", 8, "matchmaking: seats of a room")
				return &l
			},
		},
		{
			Name:     history.Mutex,
			Summary:  "clients in every master contend for few or many resources; holds must not overlap",
			Resource: "r",
			Flags:    func(fl *pflag.FlagSet) Load { return clientsFlags(fl).several(fl) },
		},
		{
			Name: history.FencedWrite,
			Summary: "holders read, work and write to a store that checks fencing tokens; " +
				"stale writes and lost updates are counted",
			Resource: "r",
			Flags: func(fl *pflag.FlagSet) Load {
				l := clientsFlags(fl).several(fl)
				l.load.Writes = true
				fl.StringVar(&l.fencing, "fencing", "on", "fenced-write: holders show their tokens")
				return l
			},
		},
		{
			Name: history.Handoff,
			Summary: "clients in every master all wait for one resource; " +
				"from release to the next grant, wake-ups and messages per handoff",
			Resource: "r",
			Flags:    func(fl *pflag.FlagSet) Load { return clientsFlags(fl) },
		},
	}
}

// store is what workers serve for fenced-write.
func store() worker.Mount {
	return worker.Mount{Path: fencedwrite.StorePath, New: func(node *process.Node, token string) (worker.Service, error) {
		c := fencedwrite.StoreConfig{Node: node.Name, Token: token, Dir: node.Dir, Recorder: node.Recorder}
		return fencedwrite.NewStore(c)
	}}
}

// WorkloadNames lists the workloads' names.
func WorkloadNames() (names []string) {
	for _, w := range Workloads() {
		names = append(names, w.Name)
	}
	return names
}

// Within refuses a value of a flag that is out of its bounds.
func Within[T cmp.Ordered](flag string, value, low, high T) error {
	if value < low || value > high {
		return fmt.Errorf("%s %v: want %v to %v", flag, value, low, high)
	}
	return nil
}

// Wanted says in words what a scenario wants of clients.
func Wanted(w scenario.Wants) (said []string) {
	if w.Hold > 0 {
		said = append(said, fmt.Sprintf("locks that are held for %v", sentence.Lasting(w.Hold)))
	}
	if w.Clients > 0 {
		said = append(said, sentence.Plural(w.Clients, "client")+" in each master")
	}
	if w.Resources > 0 {
		said = append(said, sentence.Plural(w.Resources, "resource"))
	}
	return said
}

// players is the load of players. It ignores the clients and resources that a scenario wants.
type players struct{ groups, seats int }

var _ Load = (*players)(nil)

func (l *players) Check() error {
	return errors.Join(Within("--groups", l.groups, 1, 100_000), Within("--seats", l.seats, 1, 10_000))
}

func (l *players) Resources(scenario.Wants) int { return l.groups }
func (l *players) Seats() int                   { return l.seats }

// Fitting is a third of what rooms take that are made one after the other. With more, players would wait in vain though
// nothing is broken.
func (l *players) Fitting(usual float64, w scenario.Wants) float64 {
	if w.Hold <= 0 {
		return usual
	}
	return min(usual, max(1, math.Floor(float64(l.groups*l.seats)/w.Hold.Seconds()/3)))
}

func (l *players) Instead(w scenario.Wants) []string {
	return Wanted(scenario.Wants{Hold: w.Hold})
}

func (l *players) Begin(r Run) Clients {
	o := matchmaking.Options{
		Masters: r.Masters, Rate: r.Rate, Groups: l.groups, Seed: r.Seed.Child("matchmaking"),
		Timeout: r.Patience + 2*r.Wants.Hold, // else players give up before the lock that others hold for a room is free
		Config:  loadgen.Config{Warmup: r.Warmup, Duration: r.Duration, StartNS: r.StartNS, Stop: r.Stop},
	}
	driver := matchmaking.New(o, r.Recorder)
	return Clients{Run: driver.Run, SetRate: driver.SetRate}
}

// clientsLoad is a load of clients inside the masters.
type clientsLoad struct {
	load    mutex.Load
	free    func(flag string) bool // that the workload has, and the user did not set
	fencing string                 // on or off; "" is on
}

var _ Load = (*clientsLoad)(nil)

// clientsFlags are those that all workloads of clients inside the masters have.
func clientsFlags(fl *pflag.FlagSet) *clientsLoad {
	l := clientsLoad{load: mutex.Load{Resources: 1}}
	l.free = func(flag string) bool { return fl.Lookup(flag) != nil && !fl.Changed(flag) }
	fl.IntVar(&l.load.Clients, "clients", 4, "the others: clients in each master")
	fl.DurationVar(&l.load.Hold, "hold", time.Millisecond, "the others: how long each client holds")
	return &l
}

// several adds the flag of workloads with more than one resource.
func (l *clientsLoad) several(fl *pflag.FlagSet) *clientsLoad {
	fl.IntVar(&l.load.Resources, "resources", 1, "mutex, fenced-write: resources of all clients")
	return l
}

func (l *clientsLoad) Check() error {
	if !slices.Contains([]string{"", "on", "off"}, l.fencing) {
		return fmt.Errorf("--fencing %s: want on or off", l.fencing)
	}
	return errors.Join(
		Within("--clients", l.load.Clients, 1, mutex.MaxClients),
		Within("--resources", l.load.Resources, 1, mutex.MaxResources),
		Within("--hold", l.load.Hold, 0, time.Hour),
	)
}

// under is the load with what the scenario wants, where the user does not say.
func (l clientsLoad) under(w scenario.Wants) clientsLoad {
	if w.Hold > 0 && l.free("hold") {
		l.load.Hold = w.Hold
	}
	if w.Clients > 0 && l.free("clients") {
		l.load.Clients = w.Clients
	}
	if w.Resources > 0 && l.free("resources") {
		l.load.Resources = w.Resources
	}
	return l
}

func (l *clientsLoad) Resources(w scenario.Wants) int { return l.under(w).load.Resources }
func (*clientsLoad) Seats() int                       { return 0 }

// Fitting is usual: these clients wait for each other.
func (*clientsLoad) Fitting(usual float64, _ scenario.Wants) float64 { return usual }

func (l *clientsLoad) Instead(w scenario.Wants) []string {
	now := l.under(w).load
	if now.Hold == l.load.Hold {
		w.Hold = 0
	}
	if now.Clients == l.load.Clients {
		w.Clients = 0
	}
	if now.Resources == l.load.Resources {
		w.Resources = 0
	}
	return Wanted(w)
}

func (l *clientsLoad) Begin(r Run) Clients {
	load := l.under(r.Wants).load
	load.Rate, load.Timeout, load.Second = r.Rate/float64(len(r.Masters)), r.Patience, r.Second
	load.Warmup, load.Duration, load.Seed = r.Warmup, r.Duration, r.Seed.Child("mutex")
	load.Unfenced = l.fencing == "off"
	return Clients{Run: mutex.Client{
		Masters: r.Masters, StartNS: r.StartNS, Stop: r.Stop, Recorder: r.Recorder, Load: load,
	}.Run}
}
