package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// A host whose agent runs elsewhere can go away while a run needs it: its container
// is killed, its machine dies, its agent is started anew. No scenario asks for that,
// so it is no fault of the lock and no reason to end the comparison: the loss is
// written into the history, everything else is finished, and the run decides
// nothing.
//
// A scenario can also ask for it (an external fault that stops hosts). Then it is a
// fault like others: the hosts' nodes die with them and stay away for the rest of
// the run, because an agent that was started anew has forgotten them, and the run
// is judged. The next run waits for the hosts.

const (
	// silence is how long an agent may say nothing until it is asked.
	silence = 2500 * time.Millisecond
	// askTime is how long it then may take to answer, tries included.
	askTime = 3 * time.Second
	// lookEach is the pause between two looks at what was heard.
	lookEach = 250 * time.Millisecond
	// callTime bounds a call to an agent that stops or empties something.
	callTime = 15 * time.Second
	// linkTime bounds a call that changes or asks the links of a host.
	linkTime = 5 * time.Second
)

// errHostLost says that a run could not begin, or go on, without a host.
var errHostLost = errors.New("host lost")

// losses are the hosts that went away during a run.
type losses struct {
	heard sync.Map // of each lost host: when it was heard last, or stopped, on clock.Mono
	asked sync.Map // when a fault of the scenario began to stop a host, on clock.Mono
}

func (l *losses) has(host string) bool { _, lost := l.heard.Load(host); return lost }

// expect says that the scenario makes hosts go away, from now on.
func (l *losses) expect(hosts []string) {
	for _, host := range hosts {
		l.asked.Store(host, clock.Mono())
	}
}

func (l *losses) expected(host string) bool { _, asked := l.asked.Load(host); return asked }

// at is when a lost host went.
func (l *losses) at(host string) int64 {
	at, _ := l.heard.Load(host)
	heard, _ := at.(int64)
	return heard
}

func (l *losses) hosts() (names []string) {
	l.heard.Range(func(host, _ any) bool {
		names = append(names, host.(string))
		return true
	})
	slices.Sort(names)
	return names
}

// add is false if the host is there already.
func (l *losses) add(host string, heardNS int64) bool {
	if asked, ok := l.asked.Load(host); ok { // it went no earlier, however long it had been silent
		heardNS = max(heardNS, asked.(int64))
	}
	_, known := l.heard.LoadOrStore(host, heardNS)
	return !known
}

func (l *losses) forget(host string) { l.heard.Delete(host) }

// isLost says whether a host of the run is gone, or has forgotten the run, and
// notes it in the history if that is new. It asks the agent unless it is known.
func (c *cluster) isLost(ctx context.Context, host string) bool {
	if c.losses.has(host) {
		return true
	}
	why := c.machine(host).missing(ctx)
	if why == nil {
		return false
	}
	at := clock.Mono()
	if f := c.followers[host]; f != nil {
		at = f.Heard()
	}
	if !c.losses.add(host, at) {
		return true
	}
	if c.losses.expected(host) {
		c.fleet.log.Info("host is away, as the scenario asks", "host", host, "error", why)
		c.fleet.notice(fmt.Sprintf("host %s is away, as the scenario asks", host))
	} else {
		c.fleet.log.Warn("host is lost", "host", host, "error", why)
		c.fleet.notice(fmt.Sprintf("warning: host %s is lost: %v", host, why))
		c.recordLoss(host, at, "began")
	}
	return true
}

// missing asks the agent whether it still is the one that the run began with: nil
// if it is.
func (m *machine) missing(ctx context.Context) error {
	if m.local != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	for {
		health, err := m.agent.Health(ctx)
		switch {
		case err == nil && m.instance != "" && health.Instance != m.instance:
			return errors.New("its agent was started anew or emptied by another controller")
		case !errors.Is(err, httpapi.ErrUnreachable): // it answers, whatever it says
			return nil
		}
		if clock.Sleep(ctx, askTime/10) != nil {
			return err
		}
	}
}

// tolerate drops the error of a call to a host that is lost: the loss is in the
// history, and the run goes on without the host.
func (c *cluster) tolerate(ctx context.Context, host string, err error) error {
	if err == nil || !c.isLost(ctx, host) {
		return err
	}
	c.fleet.log.Info("a lost host did not do as asked", "host", host, "error", err)
	return nil
}

// survey looks which hosts of the run are lost. It explains an error that names
// none of them, such as that of a master whose servers do not answer.
func (c *cluster) survey(ctx context.Context) []string {
	_ = c.each(func(m *machine) error { // what it finds is noted
		c.isLost(ctx, m.Name)
		return nil
	})
	return c.losses.hosts()
}

// blameLosses turns the error of a run into errHostLost if a lost host explains it.
func (c *cluster) blameLosses(ctx context.Context, err error) error {
	if hosts := c.survey(ctx); len(hosts) > 0 && ctx.Err() == nil {
		c.fleet.log.Warn("the run ended early", "lost", hosts, "error", err)
		return fmt.Errorf("%w: %s: %w", errHostLost, strings.Join(hosts, ", "), err)
	}
	return err
}

// keepWatch asks after hosts that are silent, until ctx ends, so that the history
// says when they went and the report does not have to guess.
func (c *cluster) keepWatch(ctx context.Context) {
	asked := map[string]int64{}
	for clock.Sleep(ctx, lookEach) == nil {
		var asking sync.WaitGroup
		for host, f := range c.followers {
			last := max(f.Heard(), asked[host])
			if c.losses.has(host) || time.Duration(clock.Mono()-last) < silence {
				continue
			}
			asked[host] = clock.Mono()
			asking.Go(func() { c.isLost(ctx, host) })
		}
		asking.Wait()
	}
}

// welcomeBack notes the hosts that were only out of reach for a while: their agents
// still know the run and have kept what their nodes recorded.
func (c *cluster) welcomeBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_ = c.each(func(m *machine) error { // who does not come back stays lost
		f := c.followers[m.Name]
		if f == nil || signals.Closed(f.Done()) || !c.losses.has(m.Name) {
			return nil
		}
		if health, err := m.agent.Health(ctx); err == nil && health.Instance == m.instance {
			c.losses.forget(m.Name)
			if !c.losses.expected(m.Name) {
				c.recordLoss(m.Name, clock.Mono(), "ended")
			}
		}
		return nil
	})
}

// awaitReturn has the next run wait for the hosts that were stopped on purpose.
func (c *cluster) awaitReturn() {
	for _, host := range c.losses.hosts() {
		if c.losses.expected(host) {
			c.machine(host).returning = true
		}
	}
}

// recordLostNodes notes that the nodes of the lost hosts went with them.
func (c *cluster) recordLostNodes() {
	for _, n := range c.topo.Nodes() {
		if c.losses.has(n.Host) {
			at := c.losses.at(n.Host)
			c.recorder.Record(history.Event{Kind: history.KindNode, AtNS: at, FromNS: at, Host: n.Host, Node: n.Name, State: "lost"})
		}
	}
}

// recordLoss writes the ledger's entry of a loss: nothing reaches the host or its
// nodes.
func (c *cluster) recordLoss(host string, at int64, state string) {
	e := history.Event{
		Kind: history.KindFault, AtNS: at, ID: "lost/" + host, Fault: history.FaultHostLoss, Target: "host " + host,
		State: state, From: []string{host},
	}
	for _, h := range c.topo.Hosts {
		if h.Name != host {
			e.To = append(e.To, h.Name)
			continue
		}
		for _, n := range h.Nodes {
			e.Nodes = append(e.Nodes, n.Name)
		}
	}
	c.recorder.Record(e)
}
