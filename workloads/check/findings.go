package check

import (
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/internal/sentence"
	"locklab/workloads/history"
)

// Findings is what was seen in one history, or in the histories of the repeats of
// one run: [Merge] adds numbers and lists up, and what is true of one is true of all,
// where no tag says otherwise. Times of faults, examples and slots count from the beginning of the
// measured part, in nanoseconds.
type Findings struct {
	Run     history.Run `merge:"-"`
	Repeats int
	Events  int

	// Incomplete lists what is missing from the histories: a torn end, a run that
	// was interrupted.
	Incomplete []sentence.Text
	// Behind lists why the generators fell behind, of repeats those of the one that was the latest first.
	Behind []sentence.Text `merge:"-"`
	// Contradictions lists what the records say of each other and cannot all be right.
	Contradictions []sentence.Text

	// GivenUp lists why runs could not begin, go on or end. Their histories have holes.
	GivenUp []sentence.Text
	// Hosts is what the machines did, and Saturated says which of them left the lab's
	// processes too little, and why.
	// Unlinked lists why broken links show nothing of the lock.
	Unlinked  []sentence.Text
	Hosts     []HostLoad `merge:"-"`
	Saturated []sentence.Text
	Nodes     []NodeUsage `merge:"-"` // what each node used, by name

	MeasuredNS int64 // length of the measured part, over all repeats
	// Rates are what somebody changed the offered rate to while the run went on.
	Rates     []Rate
	Scheduled int64 // operations of the measured part
	OK        int64 // of those that were sent
	Failed    int64
	Unknown   int64
	Unsent    int64
	// CalledOff are those that waited for other holders when the time of a closed loop was
	// over; they are not among the others. Who waited for nobody failed.
	CalledOff int64
	// Outside and During are those of the sent operations that no fault touched, and
	// those that were due or under way while one was in force or had just ended. What waited in
	// line behind holders alive to the end of its patience is in neither, nor in InForce.
	Outside, During Served
	// InForce are those that were due or under way from when a fault was asked for until its
	// end was proven: During without the time that locks have to recover.
	InForce Served
	// Kept are the holds that were not lost: not before half of their lease was over, where
	// they have one.
	Kept Served
	// FaultsNS is from the beginning of the first fault until the end of the last one;
	// the longest of all repeats.
	FaultsNS int64 `merge:"max"`
	// Errors counts the operations that did not end ok, by error kind.
	Errors map[string]int64

	HasRooms     bool  // the workload has rooms
	Matches      int64 // players who got a seat, in the measured part
	RoomsCreated int64 // since the measured part began
	Duplicates   Duplicates
	// WarmupDuplicates were created before the measured part. They are in no rate,
	// but they are violations.
	WarmupDuplicates Duplicates

	Holds        int64 // grants that clients believed
	Overlaps     int64 // holds that were believed while others of the resource began
	OverlapHolds int64 // those others
	ZombieNS     int64 `merge:"max"` // the longest time from a grant until an older holder stopped believing
	ServerGrants bool  // that grant is the one that the lock's server recorded, not when its client was told
	Tokens       int64 // acquisitions that came with a fencing token
	TokensBroken int64 // and those of them whose token did not grow
	Granted      int64 // acquisitions that were answered ok in the measured part
	AcquiredOK   int64 // acquisitions that were asked for in it and ended ok, whenever that was
	// AcquiredNot is those that were asked for in it and failed, or of which it is not known; without those that
	// were called off, because what they were for had come by another way.
	AcquiredNot   int64
	MessagesSent  int64 // protocol messages in the measured part
	HasMessages   bool
	Wakeups       int64 // handoff: of waiters, in the measured part
	HasWakeups    bool
	Fairness      float64 // Jain's index over clients, mean over repeats; 0 if there is none
	fairnessCount int     `merge:"-"`

	Peers        []Peer  `merge:"-"` // mutex: how each peer fared, by name
	PeerFairness float64 // Jain's index over peers, mean over repeats; 0 if there is none

	// Counts are what only one workload counts, by their fields in result.json. Violated are
	// those that its lock should have prevented, by what one of them is, such as "stale write".
	Counts, Violated map[string]int64

	Liveness string // the worst of all fault windows and resources
	Stuck    Stall  `merge:"-"` // the longest of those that make it so
	// Longest is the longest stall of the measured part, of the lock or of any resource, Whole that
	// of the lock, and InZone that of one zone, whose clients wanted the lock and none of which got
	// it: of "" where there is one zone only.
	Longest, Whole, InZone Stall         `merge:"-"`
	LeastStall             time.Duration `merge:"-"` // what is a stall
	// DownLong says that it was down throughout a fault, and on until that had ended, for
	// FailoverTime or longer (and for the lease, where a holder was hit, one resource stuck, or all
	// that was wanted left to nobody, anew where a leader may have been lost). A shorter one can be
	// over before a lock that goes on has noticed it.
	DownLong bool
	// Demand says that in half of the fault windows, at least, somebody wanted the lock for
	// long enough, or got what he had asked for there; or that there was no fault. Without it
	// that the lock stayed live means nothing.
	Demand bool `merge:"all"`
	// RecoveryNS is the longest recovery of all faults; -1 if there was none to
	// recover from. NotRecovered says that one lasted until the end of the run.
	RecoveryNS   int64 `merge:"max"`
	NotRecovered bool

	// Own and One are the lock's capacity: each client with a resource, and all with one.
	Own, One Capacity

	Latency  Dist // intended time to answer, operations that ended ok
	Acquire  Dist // sent to answer, acquisitions that ended ok
	Hold     Dist // answer to the end of the belief
	Fill     Dist // rooms: open to full
	Handoff  Dist // a holder stopped acting to the next one's grant, where that one waited
	Lateness Dist // generator: sent minus intended

	// Doubts are what the clocks' error bounds leave open.
	Doubts Doubts

	// Disturbed says that no violation can be held against the lock: its machine was
	// saturated, or the run was given up, or its records contradict each other, or something
	// was lost that nobody asked for, or a fault was not proven, before the first of them.
	Disturbed bool
	// FirstViolationNS is when the first one was seen; MaxInt64 without any. Of one repeat.
	FirstViolationNS int64 `merge:"-"`
	// ViolationsNS is when each was seen, of the first maxViolations of each repeat.
	ViolationsNS []int64

	Faults   []Fault
	Examples []Example // the first violations of each kind
	// Outages is the slowest request that was served, the first one that failed and the longest
	// outage: none is a violation.
	Outages []Example
	summary summary `merge:"-"` // of the workload's own
	Slots   []Slot  `merge:"-"` // outcomes by intended time; of the first repeat
	// With Options.Ops the operations of the whole history, and the acquisitions of the lock
	// that ended; of one repeat.
	Ops, Acquires []Op `merge:"-"`
}

// summary is what a workload says of all findings together, if anything.
type summary interface {
	lacks(*Findings) sentence.Text // what it was to measure, and could not: then nothing is decided
	told(*Findings) sentence.Text  // what a verdict's reader must know
}

// Op is an operation of the workload: when it was due, when it ended, and whether well. Of an
// acquisition it is when its client really asked.
type Op struct {
	DueNS, EndNS int64
	OK           bool
	CalledOff    bool // it still waited at the end, and counts with the time it had waited
	Early        bool // it counts although it was due before the measured part
}

// Duplicates are counted by cause.
type Duplicates struct{ Raced, Overlooked, Unreachable int64 }

// Total is the number of duplicates of all causes.
func (d Duplicates) Total() int64 { return d.Raced + d.Overlooked + d.Unreachable }

// Unsafe is the number of duplicates that the lock should have prevented.
func (d Duplicates) Unsafe() int64 { return d.Raced + d.Overlooked }

// Rate is the operations per second that were offered from a moment on.
type Rate struct {
	AtNS int64
	PerS float64
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
	// KeptNS is for how long servers that had lost their data were kept away after the order to
	// heal, until what they may have granted had run out.
	KeptNS int64
	// Proven says that the probes saw it begin, and end if it was to end.
	Proven bool
	Why    sentence.Text // not proven; nothing if the history does not say
	// From and To are the hosts whose traffic it hit, Nodes the processes.
	From, To, Nodes []string
	// Log is the last that a node wrote that ended unasked.
	Log []string
}

// Example is one violation, outage, or slow or failed request, to be shown or drawn.
type Example struct {
	Repeat   int
	What     string // raced, overlooked, unreachable, overlap, token; outage, failed request, slowest request
	Resource string
	AtNS     int64
	LastsNS  int64  // of an outage or a request
	Granted  string // the resource whose grant ended an outage; "" if none did
	Text     sentence.Text
}

// How a lock fared.
const (
	Live   = "live"
	Stalls = "stalls"
	Down   = "down"
	Dead   = "dead" // it did not come back, although no fault is in force any more: nobody expects that
)

// rank is 0 for the best; below it is what is none of these words.
func rank(l string) int { return slices.Index([]string{Live, Stalls, Down, Dead}, l) }

// Acquired is the share of the acquisitions that were granted, 0 to 1, but for those that were
// called off; false if there was none.
func (f *Findings) Acquired() (share float64, any bool) {
	all := f.AcquiredOK + f.AcquiredNot
	return ratio(float64(f.AcquiredOK), float64(all)), all > 0
}

// Availability is the share of the sent operations that ended ok, 0 to 1.
func (f *Findings) Availability() float64 {
	return ratio(float64(f.OK), float64(f.OK+f.Failed+f.Unknown))
}

// Served counts operations, and those of them that ended ok.
type Served struct{ OK, All int64 }

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

// MessagesPerAcquire is the protocol messages, those of failed tries too, per acquisition that
// was granted in the same time; false if the lock does not count them or nothing was.
func (f *Findings) MessagesPerAcquire() (float64, bool) {
	return ratio(float64(f.MessagesSent), float64(f.Granted)), f.HasMessages && f.Granted > 0
}

// PerHandoff is so many per handoff that was measured; false if there was none.
func (f *Findings) PerHandoff(n int64) (float64, bool) {
	return ratio(float64(n), float64(f.Handoff.Count())), f.Handoff.Count() > 0
}

// Stall is time in which somebody wanted the lock, or a resource, and nobody got it, or nobody of
// a zone.
type Stall struct {
	Of       string // the resource or the zone; "" is the lock as a whole
	NS       int64
	BeforeNS int64 // of it, before the first fault was asked for: no fault is to blame for that
	Open     bool  // it went on when the measured part ended
}

// or is the longer one of two.
func (s Stall) or(other Stall) Stall {
	if other.NS > s.NS {
		return other
	}
	return s
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
	m := &Findings{Run: repeats[0].Run, LeastStall: repeats[0].LeastStall, summary: repeats[0].summary, Errors: map[string]int64{}, Counts: map[string]int64{}, Violated: map[string]int64{}, Liveness: Live, Demand: true, RecoveryNS: -1, Slots: slices.Clone(repeats[0].Slots)}
	convicted, latest := false, int64(-1)
	for _, f := range repeats {
		if late := f.Lateness.Quantile(0.99); late > latest {
			m.Behind, latest = slices.Concat(f.Behind, m.Behind), late
		} else {
			m.Behind = append(m.Behind, f.Behind...)
		}
		m.Longest, m.Whole = m.Longest.or(f.Longest), m.Whole.or(f.Whole)
		if m.InZone = m.InZone.or(f.InZone); m.InZone.Of == "" {
			m.InZone = f.InZone
		}
		n, _ := f.Violations()
		convicted = convicted || n > 0 && !f.Disturbed
		one := *f
		one.Faults, one.Examples, one.Outages = slices.Clone(f.Faults), slices.Clone(f.Examples), slices.Clone(f.Outages)
		for i := range one.Faults {
			one.Faults[i].Repeat += m.Repeats
		}
		for i := range one.Examples {
			one.Examples[i].Repeat += m.Repeats
		}
		for i := range one.Outages {
			one.Outages[i].Repeat += m.Repeats
		}
		merge(reflect.ValueOf(m).Elem(), reflect.ValueOf(&one).Elem())
		m.fairnessCount += f.fairnessCount
		m.Fairness += f.Fairness * float64(f.fairnessCount)
		m.PeerFairness += f.PeerFairness * float64(f.fairnessCount)
		switch {
		case rank(f.Liveness) > rank(m.Liveness):
			m.Liveness, m.Stuck = f.Liveness, f.Stuck
		case f.Liveness == m.Liveness && f.Stuck.Of == m.Stuck.Of:
			m.Stuck = m.Stuck.or(f.Stuck)
		}
	}
	m.Disturbed = m.Disturbed && !convicted
	m.Fairness, m.PeerFairness = ratio(m.Fairness, float64(m.fairnessCount)), ratio(m.PeerFairness, float64(m.fairnessCount))
	m.Hosts = mergeHosts(repeats)
	m.Peers = mergeNamed(repeats, func(f *Findings) []Peer { return f.Peers }, func(p *Peer) *string { return &p.Node })
	m.Nodes = mergeNamed(repeats, func(f *Findings) []NodeUsage { return f.Nodes }, func(n *NodeUsage) *string { return &n.Node })
	return m
}

// merge adds the fields of a struct to those of another one, as their tags say.
func merge(into, from reflect.Value) {
	for i := range into.NumField() {
		to, by, how := into.Field(i), from.Field(i), into.Type().Field(i).Tag.Get("merge")
		if how == "-" {
			continue
		}
		switch to.Kind() {
		case reflect.Int, reflect.Int64:
			if how == "max" {
				to.SetInt(max(to.Int(), by.Int()))
			} else {
				to.SetInt(to.Int() + by.Int())
			}
		case reflect.Float64:
			if how == "max" { // what is a mean is none of a sum
				to.SetFloat(max(to.Float(), by.Float()))
			}
		case reflect.Bool:
			to.SetBool(how != "all" && (to.Bool() || by.Bool()) || to.Bool() && by.Bool())
		case reflect.Slice:
			to.Set(reflect.AppendSlice(to, by))
		case reflect.Map:
			for kinds := by.MapRange(); kinds.Next(); {
				sum := kinds.Value().Int()
				if have := to.MapIndex(kinds.Key()); have.IsValid() {
					sum += have.Int()
				}
				to.SetMapIndex(kinds.Key(), reflect.ValueOf(sum))
			}
		case reflect.Struct:
			if d, is := reflect.TypeAssert[*Dist](to.Addr()); is {
				d.merge(by.Addr().Interface().(*Dist))
			} else {
				merge(to, by)
			}
		default:
		}
	}
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
	n := float64(d.h.TotalCount())
	if n == 0 {
		return 0
	}
	// The library takes the nearest rank, which may leave more than 1 in 100 above a p99.
	return d.h.ValueAtQuantile(100 * math.Ceil(q*n-1e-6) / n)
}

// Max is the highest value in nanoseconds.
func (d *Dist) Max() int64 {
	if d.h == nil {
		return 0
	}
	return d.h.Max()
}
