package check

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/workloads/history"
)

// Findings is what was seen in one history, or in the histories of the repeats of
// one run. Times of faults, examples and slots count from the beginning of the
// measured part, in nanoseconds.
type Findings struct {
	Run     history.Run
	Repeats int
	Events  int

	// Incomplete lists what is missing from the histories: a torn end, a run that
	// was interrupted.
	Incomplete []string
	// Behind lists why the generators fell behind.
	Behind []string
	// Contradictions lists what the records say of each other and cannot all be right.
	Contradictions []string

	// GivenUp lists why runs could not begin, go on or end. Their histories have holes.
	GivenUp []string
	// Hosts is what the machines did, and Saturated says which of them left the lab's
	// processes too little, and why.
	Hosts     []HostLoad
	Saturated []string

	MeasuredNS int64 // length of the measured part, over all repeats
	Scheduled  int64 // operations that were due in the measured part
	OK         int64 // of those that were sent
	Failed     int64
	Unknown    int64
	Unsent     int64
	// Outside and During are those of the sent operations that no fault touched, and
	// those that were due or under way while one was in force or had just ended.
	Outside, During Served
	// FaultsNS is from the beginning of the first fault until the end of the last one;
	// the longest of all repeats.
	FaultsNS int64
	// Errors counts the operations that did not end ok, by error kind.
	Errors map[string]int64

	Matches      int64 // players who got a seat, in the measured part
	RoomsCreated int64 // since the measured part began
	Duplicates   Duplicates
	// WarmupDuplicates were created before the measured part. They are in no rate,
	// but they are violations.
	WarmupDuplicates Duplicates

	Holds         int64 // grants that clients believed
	Overlaps      int64 // holds that were believed while others of the resource began
	OverlapHolds  int64 // those others
	ZombieNS      int64 // the longest zombie time
	TokensBroken  int64 // acquisitions whose token did not grow
	AcquiredOK    int64 // acquisitions that ended ok, in the measured part
	MessagesSent  int64 // protocol messages in the same time
	HasMessages   bool
	Fairness      float64 // Jain's index over clients, mean over repeats; 0 if there is none
	fairnessCount int

	Peers        []Peer  // mutex: how each peer fared, by name
	PeerFairness float64 // Jain's index over peers, mean over repeats; 0 if there is none

	Liveness Liveness // the worst of all fault windows and resources
	// StuckResource is the resource that fared so; "" if the lock as a whole did.
	StuckResource string
	StallNS       int64 // the longest stall, of the lock or of any resource
	// DownLong says that it was down throughout a fault of FailoverTime (and of the lease,
	// where a holder was hit or one resource stuck) or longer. A shorter one can be over before a lock that goes on has noticed it.
	DownLong bool
	// Demand says that somebody wanted the lock in every fault window. Without it
	// liveness means nothing.
	Demand bool
	// RecoveryNS is the longest recovery of all faults; -1 if there was none to
	// recover from. NotRecovered says that one lasted until the end of the run.
	RecoveryNS   int64
	NotRecovered bool

	Latency  Dist // intended time to answer, operations that ended ok
	Queue    Dist // mutex: intended time to sent
	Acquire  Dist // sent to answer, acquisitions that ended ok
	Hold     Dist // answer to the end of the belief
	Fill     Dist // rooms: open to full
	Lateness Dist // generator: sent minus intended

	// Doubts are what the clocks' error bounds leave open.
	Doubts Doubts

	// Disturbed says that no violation can be held against the lock: its machine was
	// saturated, or the run was given up, or its records contradict each other, or something
	// was lost that nobody asked for, or a fault was not proven, before the first of them.
	Disturbed bool
	// FirstViolationNS is when the first one was seen; MaxInt64 without any. Of one repeat.
	FirstViolationNS int64
	// ViolationsNS is when each was seen, of the first maxViolations of each repeat.
	ViolationsNS []int64

	Faults   []Fault
	Examples []Example // the first violations of each kind
	Slots    []Slot    // outcomes by intended time; of the first repeat
}

// Duplicates counts rooms created in vain, by cause.
type Duplicates struct{ Raced, Overlooked, Unreachable int64 }

// Total is the number of duplicates of all causes.
func (d Duplicates) Total() int64 { return d.Raced + d.Overlooked + d.Unreachable }

// Unsafe is the number of duplicates that the lock should have prevented.
func (d Duplicates) Unsafe() int64 { return d.Raced + d.Overlooked }

func (d *Duplicates) add(o Duplicates) {
	d.Raced += o.Raced
	d.Overlooked += o.Overlooked
	d.Unreachable += o.Unreachable
}

// Slot is the outcomes of the operations that were due in one stretch of
// [SlotLength] of the measured part.
type Slot struct{ OK, Failed, Unknown int64 }

// SlotLength is the resolution of availability over time.
const SlotLength = 100 * time.Millisecond

// maxViolations bounds the moments that are kept to be drawn.
const maxViolations = 10_000

// Never is the time of what did not happen.
const Never = math.MinInt64

// Fault is one entry of the proof-of-fault ledger. A time that never came is [Never].
type Fault struct {
	Repeat int // 1 is the first
	ID     string
	Kind   string
	Target string

	AskedNS, BeganNS, HealAskedNS, EndedNS int64
	// Proven says that the probes saw it begin, and end if it was to end.
	Proven bool
	Why    string // not proven; "" if the history does not say
	// Log is the last that a node wrote that ended unasked.
	Log []string
}

// Example is one violation, to be shown or drawn.
type Example struct {
	Repeat   int
	What     string // raced, overlooked, unreachable, overlap, token
	Resource string
	AtNS     int64
	Text     string // one sentence
}

// Liveness is how a lock fared during a fault.
type Liveness string

// The values of Liveness, best first.
const (
	Live   Liveness = "live"
	Stalls Liveness = "stalls"
	Down   Liveness = "down"
)

func (l Liveness) rank() int { return slices.Index([]Liveness{Live, Stalls, Down}, l) }

// Availability is the share of the sent operations that ended ok, 0 to 1.
func (f *Findings) Availability() float64 {
	return ratio(float64(f.OK), float64(f.OK+f.Failed+f.Unknown))
}

// Served counts operations, and those of them that ended ok.
type Served struct{ OK, All int64 }

func (s *Served) add(o Served) {
	s.OK += o.OK
	s.All += o.All
}

// Share is the part that ended ok, 0 to 1.
func (s Served) Share() float64 { return ratio(float64(s.OK), float64(s.All)) }

// few failures are no share: one of 50 operations would be 2 %.
const few = 3

// below says whether less than a share ended ok.
func (s Served) below(share float64) bool { return s.All-s.OK > few && s.Share() < share }

// OfferedPS is the scheduled operations per second.
func (f *Findings) OfferedPS() float64 {
	return ratio(float64(f.Scheduled), time.Duration(f.MeasuredNS).Seconds())
}

// AchievedPS is the operations that ended ok, per second.
func (f *Findings) AchievedPS() float64 {
	return ratio(float64(f.OK), time.Duration(f.MeasuredNS).Seconds())
}

// DuplicatesPer1000 is duplicates of all causes per 1,000 matches.
func (f *Findings) DuplicatesPer1000() float64 {
	return ratio(1000*float64(f.Duplicates.Total()), float64(f.Matches))
}

// MessagesPerAcquire is the protocol messages per successful acquisition; false
// if the lock does not count them or nothing was acquired.
func (f *Findings) MessagesPerAcquire() (float64, bool) {
	return ratio(float64(f.MessagesSent), float64(f.AcquiredOK)), f.HasMessages && f.AcquiredOK > 0
}

// UnprovenFaults lists the faults that the probes did not confirm.
func (f *Findings) UnprovenFaults() []Fault {
	var list []Fault
	for _, fault := range f.Faults {
		if !fault.Proven {
			list = append(list, fault)
		}
	}
	return list
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Merge adds up the findings of the repeats of one run, in order. It leaves its
// arguments alone and returns nil for none.
func Merge(repeats ...*Findings) *Findings {
	if len(repeats) == 0 {
		return nil
	}
	m := &Findings{
		Run: repeats[0].Run, Errors: map[string]int64{}, Liveness: Live, Demand: true, RecoveryNS: -1,
		Slots: slices.Clone(repeats[0].Slots),
	}
	fairness, peerFairness, convicted := 0.0, 0.0, false
	for _, f := range repeats {
		if n, _ := f.Violations(); n > 0 && !f.Disturbed {
			convicted = true
		}
		m.Disturbed = m.Disturbed || f.Disturbed
		for _, fault := range f.Faults {
			fault.Repeat += m.Repeats
			m.Faults = append(m.Faults, fault)
		}
		for _, e := range f.Examples {
			e.Repeat += m.Repeats
			m.Examples = append(m.Examples, e)
		}
		m.Repeats += f.Repeats
		m.Events += f.Events
		m.Incomplete = append(m.Incomplete, f.Incomplete...)
		m.Behind = append(m.Behind, f.Behind...)
		m.GivenUp = append(m.GivenUp, f.GivenUp...)
		m.Saturated = append(m.Saturated, f.Saturated...)
		m.Contradictions = append(m.Contradictions, f.Contradictions...)
		m.MeasuredNS += f.MeasuredNS
		m.Scheduled += f.Scheduled
		m.OK += f.OK
		m.Failed += f.Failed
		m.Unknown += f.Unknown
		m.Unsent += f.Unsent
		m.Outside.add(f.Outside)
		m.During.add(f.During)
		m.FaultsNS = max(m.FaultsNS, f.FaultsNS)
		for kind, n := range f.Errors {
			m.Errors[kind] += n
		}
		m.Matches += f.Matches
		m.RoomsCreated += f.RoomsCreated
		m.Duplicates.add(f.Duplicates)
		m.WarmupDuplicates.add(f.WarmupDuplicates)
		m.ViolationsNS = append(m.ViolationsNS, f.ViolationsNS...)
		m.Holds += f.Holds
		m.Overlaps += f.Overlaps
		m.OverlapHolds += f.OverlapHolds
		m.ZombieNS = max(m.ZombieNS, f.ZombieNS)
		m.TokensBroken += f.TokensBroken
		m.AcquiredOK += f.AcquiredOK
		m.MessagesSent += f.MessagesSent
		m.HasMessages = m.HasMessages || f.HasMessages
		m.fairnessCount += f.fairnessCount
		fairness += f.Fairness * float64(f.fairnessCount)
		peerFairness += f.PeerFairness * float64(f.fairnessCount)
		if f.Liveness.rank() > m.Liveness.rank() {
			m.Liveness, m.StuckResource = f.Liveness, f.StuckResource
		}
		m.StallNS = max(m.StallNS, f.StallNS)
		m.Demand = m.Demand && f.Demand
		m.RecoveryNS = max(m.RecoveryNS, f.RecoveryNS)
		m.NotRecovered = m.NotRecovered || f.NotRecovered
		m.DownLong = m.DownLong || f.DownLong
		m.Latency.merge(&f.Latency)
		m.Queue.merge(&f.Queue)
		m.Acquire.merge(&f.Acquire)
		m.Hold.merge(&f.Hold)
		m.Fill.merge(&f.Fill)
		m.Lateness.merge(&f.Lateness)
		m.Doubts.add(f.Doubts)
	}
	m.Disturbed = m.Disturbed && !convicted
	m.Fairness = ratio(fairness, float64(m.fairnessCount))
	m.PeerFairness = ratio(peerFairness, float64(m.fairnessCount))
	m.Peers = mergePeers(repeats)
	m.Hosts = mergeHosts(repeats)
	m.Run.HostZones = maps.Clone(m.Run.HostZones)
	return m
}

// Dist is a distribution of durations: an HdrHistogram with three significant
// digits, up to an hour. The zero value is empty.
type Dist struct{ h *hdrhistogram.Histogram }

const longest = int64(time.Hour)

func (d *Dist) add(ns int64) {
	if d.h == nil {
		d.h = hdrhistogram.New(1, longest, 3)
	}
	_ = d.h.RecordValue(min(max(ns, 0), longest)) // within the bounds of the histogram
}

func (d *Dist) merge(from *Dist) {
	if from.h == nil {
		return
	}
	if d.h == nil {
		d.h = hdrhistogram.New(1, longest, 3)
	}
	d.h.Merge(from.h)
}

// Count is the number of values.
func (d *Dist) Count() int64 {
	if d.h == nil {
		return 0
	}
	return d.h.TotalCount()
}

// Quantile is the value, in nanoseconds, that a share q (0 to 1) of all values
// stays at or below; 0 if there are none.
func (d *Dist) Quantile(q float64) int64 {
	if d.h == nil {
		return 0
	}
	return d.h.ValueAtQuantile(100 * q)
}

// Max is the highest value in nanoseconds.
func (d *Dist) Max() int64 {
	if d.h == nil {
		return 0
	}
	return d.h.Max()
}
