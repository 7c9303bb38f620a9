package reports

import (
	"slices"
	"time"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/result"
)

// outage is the longest time of a row in which somebody waited and nobody got the lock, or nobody
// of one zone, or nobody one of its resources, in ms; and how much of it was over when the first
// fault was asked for.
type outage struct {
	lasted, before float64
	zone, resource string // "" is everywhere, and the lock
	open           bool   // it went on when the measured part ended
}

func outageOf(r result.Row, field, before, open string) outage {
	o := outage{lasted: figureOf(r, field), before: figureOf(r, before)}
	o.open = o.felt() && figureOf(r, open) > 0
	return o
}

// everywhere is the one in which nobody got the lock, in no zone. An older file may not know it, but
// for that of one resource.
func everywhere(r result.Row) outage {
	if r.StallResource != "" {
		return outageOf(r, result.LockStallField, result.LockStallBefore, result.LockStallOpen)
	}
	return outageOf(r, result.StallField, result.StallBefore, result.StallOpen)
}

// inWorstZone is that of the zone that fared worst.
func inWorstZone(r result.Row) outage {
	o := outageOf(r, result.ZoneStallField, result.ZoneStallBefore, result.ZoneStallOpen)
	o.zone = r.ZoneStalled
	return o
}

// ofResource is that of one resource, if it is longer than that of the lock.
func ofResource(r result.Row) (o outage) {
	if r.StallResource != "" {
		o = outageOf(r, result.StallField, result.StallBefore, result.StallOpen)
		o.resource = r.StallResource
	}
	return o
}

func figureOf(r result.Row, field string) float64 {
	f, _ := result.Lookup(field)
	v, _ := f.Of(r)
	return v
}

func outageFigure() result.Figure {
	f, _ := result.Lookup(result.OutageField)
	return f
}

// felt says that somebody noticed it.
func (o outage) felt() bool { return o.lasted >= outageFigure().Felt }

// hurts says that it harmed somebody.
func (o outage) hurts() bool { return o.lasted >= outageFigure().Hurts }

// cameBefore says that no fault is to blame for any of it that reads as something.
func (o outage) cameBefore(say *lang.Lang) bool {
	return o.before >= outageFigure().Felt && span(say, o.before) == span(say, o.lasted)
}

// early says how much of it no fault is to blame for; "" if nobody noticed that.
func (o outage) early(say *lang.Lang) string {
	switch {
	case o.before < outageFigure().Felt:
		return ""
	case o.cameBefore(say):
		return say.Text("all of it before the fault")
	}
	return say.Sprintf("%s of it before the fault", span(say, o.before))
}

// length is how long it was, and how much of that was early.
func (o outage) length(say *lang.Lang) string {
	long := span(say, o.lasted)
	if o.open {
		long = say.Sprintf("at least %s, to the end of the measured part", o.floor(say))
	}
	if early := o.early(say); early != "" {
		return say.Sprintf("%s (%s)", long, early)
	}
	return long
}

// atLeast marks the figure of one that went on.
func (o outage) atLeast(say *lang.Lang, figure string) string {
	if o.open {
		return "≥ " + o.floor(say)
	}
	return figure
}

// reads is its length as a figure.
func (o outage) reads(say *lang.Lang) string { return o.atLeast(say, span(say, o.lasted)) }

// where says whom it was of; "" is everybody.
func (o outage) where(say *lang.Lang) string {
	switch {
	case o.zone != "":
		return say.Sprintf("in zone %s", plain(o.zone))
	case o.resource != "":
		return say.Sprintf("of %s", plain(o.resource))
	}
	return ""
}

// floor is what one that went on lasted at least.
func (o outage) floor(say *lang.Lang) string {
	return say.Lasting(sentence.Floor(time.Duration(o.lasted * 1e6)))
}

// wentOn says that the longer of a row's outages went on when the measured part ended.
func wentOn(r result.Row) bool {
	longest, zone := everywhere(r), inWorstZone(r)
	if one := ofResource(r); one.lasted > longest.lasted {
		longest = one
	}
	if zone.lasted > longest.lasted {
		longest = zone
	}
	return longest.open
}

// wentOnIn says the same of one repeat.
func wentOnIn(one result.Repeat) bool {
	open := result.StallOpen
	if one.Figures[result.ZoneStallField] > one.Figures[result.StallField] {
		open = result.ZoneStallOpen
	}
	return one.Figures[open] > 0 && one.Figures[result.OutageField] >= outageFigure().Felt
}

// anyWentOn says that in one repeat, at least, nobody knows how long the outage was.
func anyWentOn(r result.Row) bool { return wentOn(r) || slices.ContainsFunc(r.PerRepeat, wentOnIn) }

// isFloor says that a row's outage, the median of its repeats, may be longer than it reads: one
// that went on is not above it.
func isFloor(r result.Row, median float64) bool {
	if len(r.PerRepeat) < 2 {
		return wentOn(r)
	}
	return slices.ContainsFunc(r.PerRepeat, func(one result.Repeat) bool {
		return wentOnIn(one) && one.Figures[result.OutageField] <= median
	})
}

// longestOutage is the one that a row is told by: that of one zone, or of one resource, only where
// somebody notices it and it reads longer than what is worse, the one of all at once or of a zone, or
// nobody knows how long it was.
func longestOutage(say *lang.Lang, r result.Row) outage {
	longest := everywhere(r)
	for _, o := range []outage{inWorstZone(r), ofResource(r)} {
		if o.felt() && o.lasted > longest.lasted && o.reads(say) != longest.reads(say) {
			longest = o
		}
	}
	longest.lasted = figureOf(r, result.OutageField) // the others read alike
	return longest
}

// muchMore is by how much one outage is longer than another where a request takes time to come.
const muchMore = 1.2

// muchLonger says that somebody noticed a zone's outage, and that it was longer than the one of all at
// once by more than a request takes to come.
func muchLonger(r result.Row) bool {
	zone := inWorstZone(r)
	return zone.felt() && zone.lasted > muchMore*everywhere(r).lasted
}

// muchLongerEverywhere is the row in which nobody at all got the lock for longest, if that harmed
// somebody and was much longer than in the one that is told of, whose longest is of a zone or a resource.
func muchLongerEverywhere(rows []result.Row, told result.Row) (longest result.Row, found bool) {
	for _, r := range rows {
		all := everywhere(r)
		if all.hurts() && all.lasted > muchMore*everywhere(told).lasted && (!found || all.lasted > everywhere(longest).lasted) {
			longest, found = r, true
		}
	}
	return longest, found
}

// cutOffThroughout says that a zone was without the lock for as good as all of the fault.
func cutOffThroughout(r result.Row) bool {
	const nearly = 0.9
	fault := lasted(r)
	return fault > 0 && muchLonger(r) && inWorstZone(r).lasted >= nearly*fault
}

// waitedFor is what nobody got, and for how long: the lock, a zone the lock, and one resource, as
// far as each is worse than the ones before, and the longest one in any case. Of a resource a zone's may
// be longer: whoever is in the others waited for that one, too.
func waitedFor(say *lang.Lang, r result.Row) (text string) {
	all, zone, one, longest := everywhere(r), inWorstZone(r), ofResource(r), longestOutage(say, r)
	if all.hurts() || down(r) || longest.zone == "" && longest.resource == "" {
		if longest.zone == "" && longest.resource == "" {
			all = longest
		}
		text = nobodyFor(say, r, all)
	}
	switch {
	case text == "" && (longest.zone != "" || zone.hurts()):
		text = say.Sprintf("zone %s got no lock for %s", plain(zone.zone), zone.length(say))
	case text != "" && muchLonger(r) && (longest.zone != "" || zone.hurts()):
		text = say.Sprintf("%s, and zone %s got none for %s", text, plain(zone.zone), zone.length(say))
	}
	switch harmed := one.hurts() && one.lasted > muchMore*everywhere(r).lasted; {
	case longest.resource == "" && !harmed:
	case text == "":
		text = say.Sprintf("nobody got %s for %s", plain(one.resource), one.length(say))
	default:
		text = say.Sprintf("%s, and nobody got %s for %s", text, plain(one.resource), one.length(say))
	}
	return text
}

func nobodyFor(say *lang.Lang, r result.Row, o outage) string {
	if r.Verdict.ShortFault {
		r.Verdict.ShortFault = false
		return say.Sprintf("%s (too short a fault to tell whether it would have come back before)", nobodyFor(say, r, o))
	}
	long := o.length(say)
	switch {
	case downTillHealed(r) && o.lasted == 0: // an older file
		return say.Text("nobody got the lock until the fault was over")
	case o.lasted == 0:
		return say.Text("nobody got the lock")
	case down(r) && o.open:
		return say.Sprintf("%s for %s", say.Text("nobody got the lock"), long)
	case downTillHealed(r) && o.cameBefore(say):
		return say.Sprintf("nobody got the lock for %s before the fault, nor until it was over", span(say, o.lasted))
	case downTillHealed(r) && outlived(r, o):
		return say.Sprintf("nobody got the lock for %s, longer than the fault lasted", long)
	case downTillHealed(r):
		return say.Sprintf("nobody got the lock for %s, until the fault was over", long)
	case !resourcesTold(r) && (r.Workload == "mutex" || r.Workload == "fenced-write"):
		return say.Sprintf("%s for %s", say.Text("nobody got the lock, or one of its resources,"), long)
	}
	return say.Sprintf("%s for %s", say.Text("nobody got the lock"), long)
}

// outlived says that it took longer than the faults did, by more than healing them does.
func outlived(r result.Row, o outage) bool {
	const healing = 100
	fault := lasted(r)
	return fault > 0 && o.lasted-o.before > fault+healing
}

// downTillHealed says that it came back after the fault: a lock may also be down without one,
// under one that never ends, or because of what a fault left behind.
func downTillHealed(r result.Row) bool { return down(r) && r.RecoveryMS != nil }

// down says that nobody got the lock, not only one of its resources, any more while a fault lasted.
func down(r result.Row) bool {
	return r.Verdict.Liveness == "down" && resourcesTold(r) && r.LivenessResource == ""
}

// resourcesTold says that the file tells the stall of one resource from that of the lock.
func resourcesTold(r result.Row) bool { return r.Acquired != nil }
