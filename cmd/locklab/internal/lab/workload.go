package lab

import (
	"context"
	"fmt"

	"locklab/nodes/role"
	"locklab/workloads/history"
	"locklab/workloads/matchmaking"
	"locklab/workloads/mutex"
)

// workload is what the clients do in one run.
type workload interface {
	// run lasts for the warm-up and the measured time and until the last answer.
	run(ctx context.Context) error
	// measureFrom gives the moment, on clock.Mono, at which the measured part begins.
	measureFrom() <-chan int64
	// describe says in a few words how it goes; phase is what the clock says.
	describe(phase string) string
}

func (x *experiment) workload(c *cluster, rec history.Recorder, start int64) (workload, error) {
	if x.config.Workload == Mutex {
		return x.mutex(c, rec)
	}
	return x.matchmaking(c, rec, start)
}

type matches struct {
	driver *matchmaking.Driver
	from   chan int64
}

func (x *experiment) matchmaking(c *cluster, rec history.Recorder, start int64) (workload, error) {
	options := matchmaking.DefaultOptions()
	options.Rate, options.Warmup, options.Duration = x.config.Rate, x.config.Warmup, x.config.Duration
	options.Groups = x.config.Groups
	options.Seed, options.StartNS = x.seed().Child("matchmaking"), start
	for _, m := range c.topo.NodesOf(role.Master) {
		options.Masters = append(options.Masters, matchmaking.Master{Name: m.Name, Zone: m.Zone, URL: c.masterURL(m.Name)})
	}
	driver, err := matchmaking.New(options, rec)
	if err != nil {
		return nil, err
	}
	m := matches{driver: driver, from: make(chan int64, 1)}
	m.from <- start + int64(x.config.Warmup)
	return m, nil
}

func (m matches) measureFrom() <-chan int64 { return m.from }

func (m matches) run(ctx context.Context) error {
	_, err := m.driver.Run(ctx) // what it reports is in the history too
	return err
}

func (m matches) describe(phase string) string {
	p := m.driver.Progress()
	return fmt.Sprintf("%s  %.0f matches/s  p99 %.1f ms  %d failed", phase, p.RatePS, float64(p.P99.Microseconds())/1000, p.Failed)
}

type holds struct {
	client *mutex.Client
	from   chan int64
}

func (x *experiment) mutex(c *cluster, rec history.Recorder) (workload, error) {
	plan := mutex.DefaultPlan()
	plan.ID = fmt.Sprintf("run-%d", x.repeat)
	plan.Clients, plan.Resources, plan.Hold = x.config.Clients, x.config.Resources, x.config.Hold
	if !x.config.HoldSet && x.scenario.Hold > 0 {
		plan.Hold = x.scenario.Hold
	}
	plan.Warmup, plan.Duration, plan.Seed = x.config.Warmup, x.config.Duration, x.seed().Child("mutex")
	var masters []mutex.Master
	for _, m := range c.topo.NodesOf(role.Master) {
		masters = append(masters, mutex.Master{Name: m.Name, URL: c.masterURL(m.Name), Token: c.plan.token})
	}
	plan.Rate = x.config.Rate / float64(len(masters))
	client, err := mutex.NewClient(masters, plan, rec)
	if err != nil {
		return nil, err
	}
	h := holds{client: client, from: make(chan int64, 1)}
	client.OnPhase = func(state string, atNS int64) {
		if state == phaseMeasure {
			h.from <- atNS // comes once
		}
	}
	return h, nil
}

// phaseMeasure is the State of the phase event that begins the measured part.
const phaseMeasure = "measure"

func (h holds) measureFrom() <-chan int64 { return h.from }

func (h holds) run(ctx context.Context) error { return h.client.Run(ctx) }

func (h holds) describe(phase string) string {
	p := h.client.Progress()
	return fmt.Sprintf("%s  %d acquired  %d failed", phase, p.Acquired, p.Failed)
}
