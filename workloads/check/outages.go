package check

import (
	"cmp"
	"time"

	"locklab/internal/sentence"
)

// outage is time in which the lock, or a resource, was wanted and nobody got it, or nobody of
// a zone. Before is how much of what it lasts was over when the first fault was asked for.
type outage struct {
	from, to, lasts, before int64
	judged                  int64 // what it lasts beyond the measured part, too, where that decides
	resource, zone          string
}

// wait adds a time in which somebody waited. Broken is when the first fault was asked for.
func (o *outage) wait(s span, broken int64) {
	o.to = s.to
	o.lasts += s.to - s.from
	o.before += max(min(s.to, broken)-s.from, 0)
}

// told is what the findings tell of it.
func (o outage) told(t timeline) Stall {
	return Stall{Of: cmp.Or(o.resource, o.zone), NS: o.lasts, BeforeNS: o.before, Open: o.lasts > 0 && o.to >= t.drain}
}

// or is the longer one of two.
func (o outage) or(other outage) outage {
	if other.lasts > o.lasts {
		return other
	}
	return o
}

// felt is the shortest outage that is shown: users notice it.
const felt = 100 * time.Millisecond

// exampleOfOutage shows the longest outage from its beginning on, by who waited longest in it.
func (c *Checker) exampleOfOutage(f *Findings, t timeline) {
	o := c.longest
	if o.lasts < int64(felt) {
		return
	}
	var waited, next *acquire
	var longest int64
	for _, a := range c.acquires { // by their answers
		if o.resource != "" && c.names.text(a.resource) != o.resource || o.zone != "" && c.zone(a.node) != o.zone {
			continue
		}
		if a.outcome == ok && a.at > o.from {
			next = a
		}
		if d := a.at - max(a.asked(), o.from); waited == nil || d > longest {
			waited, longest = a, d
		}
		if next != nil {
			break
		}
	}
	end := max(o.to, t.drain)
	if next != nil {
		end = next.at
	}
	from := c.sinceWanted(o, end)
	lasts := time.Duration(end - from)
	text := sentence.Of("nobody got the lock for %v", lasts)
	switch {
	case o.zone != "":
		text = sentence.Of("nobody in zone %s got the lock for %v", o.zone, lasts)
	case o.resource != "":
		text = sentence.Of("nobody got %s for %v", o.resource, lasts)
	}
	if next != nil {
		text = sentence.Of("%s; then %s got %s", text, c.names.text(next.node), c.names.text(next.resource))
	} else {
		text = sentence.Of("%s, to the end of the measured part", text)
	}
	if counted := time.Duration(o.lasts); counted < lasts && sentence.Lasting(counted).String() != sentence.Lasting(lasts).String() {
		switch {
		case o.zone != "":
			text = sentence.Of("%s; of these, %v count: the others lie outside of the measured part, or nobody in that zone wanted it in them", text, counted)
		case o.resource == "":
			text = sentence.Of("%s; of these, %v count: the others lie outside of the measured part, or nobody wanted it in them, or somebody alive held it, or the fault was being healed", text, counted)
		default:
			text = sentence.Of("%s; of these, %v count: the others lie outside of the measured part, or nobody wanted it in them, or somebody alive held it, or who waited got nothing else either, as one that is cut off, or the fault was being healed", text, counted)
		}
	}
	e := Example{Repeat: 1, What: sentence.Key("outage"), Resource: o.resource, AtNS: from - t.measure, LastsNS: end - from, Text: text}
	if next != nil {
		e.Granted = c.names.text(next.resource)
	}
	if waited != nil {
		e.Resource = c.names.text(waited.resource)
	}
	f.Outages = append(f.Outages, e)
}

// sinceWanted is since when somebody waited in vain in an outage that ended at a moment: who was
// granted at its beginning does not count.
func (c *Checker) sinceWanted(o outage, end int64) int64 {
	since := end
	for _, a := range c.acquires {
		if o.resource != "" && c.names.text(a.resource) != o.resource || o.zone != "" && c.zone(a.node) != o.zone {
			continue
		}
		if a.at > o.from && a.asked() < end && (a.outcome != ok || a.at >= end) {
			since = min(since, max(a.asked(), o.from))
		}
	}
	return since
}

// exampleOfSlowness shows the slowest request of the measured part that was served, if one was.
func (c *Checker) exampleOfSlowness(f *Findings, t timeline, o *op) {
	if o.at == 0 {
		return
	}
	half, most := time.Duration(f.Latency.Quantile(0.5)), time.Duration(f.Latency.Quantile(0.99))
	of := sentence.Of("of %d that were served half took at most %v (p50) and 99 %% at most %v (p99)", f.Latency.Count(), half, most)
	if f.CalledOff > 0 {
		of = sentence.Of("of %d that were served or still waited at the end half took at most %v (p50) and 99 %% at most %v (p99)", f.Latency.Count(), half, most)
	}
	f.Outages = append(f.Outages, Example{
		Repeat: 1, What: sentence.Key("slowest request"), Resource: c.names.text(o.resource), AtNS: o.from - t.measure, LastsNS: o.at - o.from,
		Text: sentence.Of("the slowest request that was served asked %s for %s and took %v; %s", c.names.text(o.node), c.names.text(o.resource), time.Duration(o.at-o.from), of),
	})
}

// exampleOfFailure shows the first request of the measured part that failed, if one did.
func (c *Checker) exampleOfFailure(f *Findings, t timeline, o *op) {
	if o.outcome == ok {
		return
	}
	f.Outages = append(f.Outages, Example{
		Repeat: 1, What: sentence.Key("failed request"), Resource: c.names.text(o.resource), AtNS: o.from - t.measure, LastsNS: o.at - o.from,
		Text: sentence.Of("the first request that failed asked %s for %s; after %v it ended with the error %s",
			c.names.text(o.node), c.names.text(o.resource), time.Duration(o.at-o.from), cmp.Or(c.names.text(o.errorKind), "other")),
	})
}
