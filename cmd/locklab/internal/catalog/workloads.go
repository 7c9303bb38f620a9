package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/pflag"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/nodes/worker"
	"locklab/workloads/check"
	"locklab/workloads/history"
	"locklab/workloads/matchmaking"
	"locklab/workloads/mutex"
)

// Workload is one thing that clients do with a lock.
type Workload struct {
	Name    string
	Summary string

	// Rate is offered where the user names none, in operations per second; 0 is a closed loop.
	Rate float64
	// Flags adds the flags of `locklab run` that are of this workload alone.
	Flags func(*pflag.FlagSet) Load
	// Serve is what masters do for it, below Path, for who bears the token; nil if they need not.
	Serve func(node, token string, locker locks.Locker, rec history.Recorder) Service
	Path  string
	// Check judges the histories of its runs.
	Check check.Workload
	// Brief says in a few words what a run came to.
	Brief func(*check.Findings) string
}

// Service is what masters serve.
type Service interface {
	http.Handler
	Close()
}

// Load is a workload as the user wants it.
type Load interface {
	// Check says which flag is wrong.
	Check() error
	// Worker changes what workers are told.
	Worker(*worker.Settings)
	// Begin prepares one run.
	Begin(Run) (Clients, error)
}

// Run is what a load is put on.
type Run struct {
	Masters          []Master
	Repeat           int // 1 is the first
	Rate             float64
	Warmup, Duration time.Duration
	Hold             time.Duration // that the scenario wants; 0 is any
	Seed             seed.Seed
	StartNS          int64 // on clock.Mono
	Recorder         history.Recorder
}

// Master is a master as players and the controller reach it.
type Master struct{ Name, Zone, URL, Token string }

// Clients are a load under way.
type Clients struct {
	// Run lasts for the warm-up and the measured time and until the last answer.
	Run func(context.Context) error
	// MeasureFrom gives the moment, on clock.Mono, at which the measured part begins.
	MeasureFrom <-chan int64
	// State says in a few words how it goes.
	State func() string
}

// Workloads lists the workloads, the usual one first.
func Workloads() []Workload {
	return []Workload{
		{
			Name:    history.Matchmaking,
			Summary: "players arrive for groups; rooms fill, live and close; a room too many is a duplicate",
			Rate:    300,
			Flags: func(fl *pflag.FlagSet) Load {
				var l matchmakingLoad
				fl.IntVar(&l.groups, "groups", 20, "matchmaking: groups that the players belong to")
				fl.IntVar(&l.seats, "seats", 8, "matchmaking: seats of a room")
				return &l
			},
			Check: check.Matchmaking(),
			Brief: func(f *check.Findings) string {
				d := f.Duplicates
				text := fmt.Sprintf("%d duplicates in %d rooms (raced %d, overlooked %d, unreachable %d)",
					d.Total(), f.RoomsCreated, d.Raced, d.Overlooked, d.Unreachable)
				if f.Overlaps > 0 {
					text += "; " + overlaps(f)
				}
				return text
			},
		},
		{
			Name:    history.Mutex,
			Summary: "clients in every master contend for few or many resources; holds must not overlap",
			Flags: func(fl *pflag.FlagSet) Load {
				l := mutexLoad{holdSet: func() bool { return fl.Lookup("hold").Changed }}
				fl.IntVar(&l.clients, "clients", 4, "mutex workload: clients in each master")
				fl.IntVar(&l.resources, "resources", 1, "mutex workload: resources that they contend for")
				fl.DurationVar(&l.hold, "hold", time.Millisecond, "mutex workload: how long each client holds; scenarios that break a holder set it where you do not")
				return &l
			},
			Serve: func(node, token string, locker locks.Locker, rec history.Recorder) Service {
				return mutex.Handler(node, token, locker, rec)
			},
			Path:  mutex.Prefix,
			Check: check.Mutex(),
			Brief: overlaps,
		},
	}
}

func overlaps(f *check.Findings) string {
	return fmt.Sprintf("%d overlaps in %d holds", f.Overlaps, f.Holds)
}

// CheckOptions judge the histories of all workloads.
func CheckOptions() (o check.Options) {
	for _, w := range Workloads() {
		o.Workloads = append(o.Workloads, w.Check)
	}
	return o
}

// WorkloadNames lists the workloads' names.
func WorkloadNames() (names []string) {
	for _, w := range Workloads() {
		names = append(names, w.Name)
	}
	return names
}

// Within says that the value of a flag is out of its bounds.
func Within[T int | time.Duration](flag string, value, low, high T) error {
	if value < low || value > high {
		return fmt.Errorf("%s %v: want %v to %v", flag, value, low, high)
	}
	return nil
}

type matchmakingLoad struct{ groups, seats int }

func (l *matchmakingLoad) Check() error {
	return errors.Join(Within("--groups", l.groups, 1, 100_000), Within("--seats", l.seats, 1, 10_000))
}

func (l *matchmakingLoad) Worker(s *worker.Settings) { s.Capacity = l.seats }

func (l *matchmakingLoad) Begin(r Run) (Clients, error) {
	o := matchmaking.DefaultOptions()
	o.Rate, o.Warmup, o.Duration, o.Groups = r.Rate, r.Warmup, r.Duration, l.groups
	o.Seed, o.StartNS = r.Seed.Child("matchmaking"), r.StartNS
	for _, m := range r.Masters {
		o.Masters = append(o.Masters, matchmaking.Master{Name: m.Name, URL: m.URL})
	}
	driver, err := matchmaking.New(o, r.Recorder)
	if err != nil {
		return Clients{}, err
	}
	from := make(chan int64, 1)
	from <- r.StartNS + int64(r.Warmup)
	return Clients{
		MeasureFrom: from,
		Run:         driver.Run,
		State: func() string {
			p := driver.Progress()
			return fmt.Sprintf("%.0f matches/s  p99 %.1f ms  %d failed", p.RatePS, float64(p.P99.Microseconds())/1000, p.Failed)
		},
	}, nil
}

type mutexLoad struct {
	clients, resources int
	hold               time.Duration
	holdSet            func() bool // by the user
}

func (l *mutexLoad) Check() error {
	return errors.Join(Within("--clients", l.clients, 1, mutex.MaxClients), Within("--resources", l.resources, 1, mutex.MaxResources),
		Within("--hold", l.hold, 0, time.Hour))
}

func (*mutexLoad) Worker(*worker.Settings) {}

func (l *mutexLoad) Begin(r Run) (Clients, error) {
	plan := mutex.DefaultPlan()
	plan.ID = fmt.Sprintf("run-%d", r.Repeat)
	plan.Clients, plan.Resources, plan.Hold = l.clients, l.resources, l.hold
	if !l.holdSet() && r.Hold > 0 {
		plan.Hold = r.Hold
	}
	plan.Warmup, plan.Duration, plan.Seed = r.Warmup, r.Duration, r.Seed.Child("mutex")
	plan.Rate = r.Rate / float64(len(r.Masters))
	var masters []mutex.Master
	for _, m := range r.Masters {
		masters = append(masters, mutex.Master{Name: m.Name, URL: m.URL, Token: m.Token})
	}
	client, err := mutex.NewClient(masters, plan, r.Recorder)
	if err != nil {
		return Clients{}, err
	}
	from := make(chan int64, 1)
	client.OnPhase = func(state string, atNS int64) {
		if state == "measure" {
			from <- atNS // comes once
		}
	}
	return Clients{
		MeasureFrom: from,
		Run:         client.Run,
		State: func() string {
			p := client.Progress()
			return fmt.Sprintf("%d acquired  %d failed", p.Acquired, p.Failed)
		},
	}, nil
}
