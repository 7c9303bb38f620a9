package mesh

import "time"

// detector decides from the gaps between arrivals when a connection is dead. Its
// time is a [runClock], on which this process always had a chance to read.
type detector struct {
	timing    timing
	last      time.Duration // of the latest arrival
	mean, dev float64       // of the gaps, moving averages in nanoseconds
}

func newDetector(t timing, now time.Duration) detector {
	return detector{timing: t, last: now, mean: float64(t.heartbeat())}
}

// heard notes an arrival. The averages move by an eighth and a quarter, as in the
// retransmission timer of TCP (RFC 6298); they follow a machine that gets busy
// within a few heartbeats and calm down again within a second or two.
func (d *detector) heard(at time.Duration) {
	if at <= d.last {
		return
	}
	gap := float64(at - d.last)
	d.last = at
	off := gap - d.mean
	d.mean += off / 8
	off = max(0, max(off, -off)-float64(d.timing.tick)) // the running clock moves once a tick
	d.dev += (off - d.dev) / 4
}

// limit is the silence that is still tolerated. late is how late this process
// itself gets to run: peers on the same machine, or on one just as busy, will hardly
// do better.
func (d *detector) limit(late time.Duration) time.Duration {
	const deviations, latenesses = 8, 6
	usual := max(time.Duration(d.mean+deviations*d.dev), d.timing.silenceMin)
	return min(usual+latenesses*late, d.timing.silenceMax)
}

// dead says whether the silence has lasted too long.
func (d *detector) dead(now, late time.Duration) bool { return now-d.last > d.limit(late) }

// runClock counts the time in which this process ran: of the time between two
// ticks no more than twice the usual counts. A process that was stopped or starved
// has not listened, and must not take its own deafness for the silence of others.
type runClock struct {
	tick time.Duration
	at   time.Time
	ran  time.Duration
	late time.Duration // of ticks, the worst one lately
}

func (c *runClock) advance(now time.Time) time.Duration {
	elapsed := max(0, now.Sub(c.at))
	c.ran += min(elapsed, 2*c.tick)
	// A bad moment is half forgotten after about a hundred ticks.
	const keep = 0.993
	c.late = max(elapsed-c.tick, time.Duration(keep*float64(c.late)))
	c.at = now
	return c.ran
}
