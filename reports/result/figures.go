package result

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Figure is something that is told of a row. [Figures] is the one place that lists
// them: tables, CSV, the page, comparisons, --fail-on and the validation of files all
// come from there.
type Figure struct {
	// Field is its place in a row of result.json, such as latency_ms.p99, and its name
	// for --fail-on; empty for what follows from other fields.
	Field  string
	Column string // in results.csv; empty if it is not in there
	Group  string // above the title in the table of everything
	Title  string
	Name   string // where no group stands above; "" for the title
	Unit   string
	As     Form

	// Measured says that it has no field of its own in a Row: it is what the checker of its
	// workload counts under this Field.
	Measured bool

	// Term and Means explain it to the reader. A figure without is explained by the one
	// before it.
	Term, Means string

	Better    Better
	Most      float64 // the highest value that can be; 0 if there is none
	Within    string  // the field that it cannot exceed
	Unsafe    bool    // above 0 the row is unsafe
	Violation string  // in a sentence, one of what locks are there to prevent
	Untouched string  // the field of those of them that no fault touched

	// Answer is its column in the table that answers the reader's question. What is below
	// Felt no user notices; what is at Hurts or above is a harm. Place orders the tables
	// that show only some of the figures.
	Answer              string
	Felt, Hurts         float64
	Place               int
	InMarkdown, Compare bool
	// Own says that only one workload has it: that table begins with it then.
	Own bool

	// Marks stand beside it where not all rows took it in the same way, at most one in a row.
	Marks []Mark

	of   func(Row) (float64, bool)
	text func(Row) string
}

// Mark is a sign beside the figure of a row, and what it says of that.
type Mark struct {
	Sign, Means string
	On          func(Row) bool
}

// Form is how a figure is printed.
type Form int

// The forms.
const (
	Number   Form = iota // about three significant digits
	Count                // a whole number
	Share                // 0 to 1, as a percentage
	Words                // no figure at all but a word or two
	Sentence             // or many
)

// Better says which values of a figure are good.
type Better int

// The directions.
const (
	Neither Better = iota
	Lower
	Higher
)

// The limits of what users notice and of what interrupts them, in milliseconds (J. Nielsen,
// "Usability Engineering", 1993, chapter 5).
const (
	noticed     = 100
	interrupted = 1000
)

// Worse says whether a is worse than b.
func (f *Figure) Worse(a, b float64) bool {
	return f.Better == Higher && a < b || f.Better == Lower && a > b
}

// IsText says that it has words and no value.
func (f *Figure) IsText() bool { return f.text != nil }

// Of is the figure of a row; false if the row has none.
func (f *Figure) Of(r Row) (float64, bool) {
	if f.Field != "repeats" && r.NothingMeasured() {
		return 0, false
	}
	return f.value(r)
}

// Never says that the row has no such time because what it would end with never came: it is longer
// than any.
func (f *Figure) Never(r Row) bool {
	calledOff, _ := r.number("called_off")
	waited := calledOff > 0 && r.OfferedPerS == 0 // all of them, to the end
	switch name, _, _ := strings.Cut(f.Field, "."); name {
	case "recovery_ms":
		return r.NotRecovered
	case "latency_ms":
		return r.LatencyMS == nil && r.MeasuredMS > 0 && r.Availability == 0 && (r.OfferedPerS > 0 || waited)
	case "acquire_ms":
		return r.AcquireMS == nil && (r.Acquired != nil && *r.Acquired == 0 || r.Acquired == nil && waited)
	}
	return false
}

// value is what stands in a row, whether or not it was measured.
func (f *Figure) value(r Row) (float64, bool) {
	switch {
	case f.text != nil:
		return 0, false
	case f.of != nil:
		return f.of(r)
	}
	return r.number(f.Field)
}

// NothingMeasured says that the run was given up before its measured part: it has no figures, and no
// zero is one.
func (r *Row) NothingMeasured() bool {
	seen := r.Duplicates != nil && *r.Duplicates != Duplicates{} || r.Overlaps != nil && *r.Overlaps > 0
	return r.Verdict.Undecided() && r.Repeats > 0 && r.MeasuredMS == 0 && r.OfferedPerS == 0 && !seen
}

// Raw is the figure for programs, in full precision; empty if the row has none.
func (f *Figure) Raw(r Row) string {
	if f.text != nil {
		return f.text(r)
	}
	v, ok := f.Of(r)
	if !ok || !finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// ShortName is its name where no group stands above.
func (f *Figure) ShortName() string { return cmp.Or(f.Name, f.Title) }

// Lookup finds a figure by its field, errors.KIND included.
func Lookup(field string) (Figure, bool) {
	all := Figures()
	if i := slices.IndexFunc(all, func(f Figure) bool { return f.Field == field && field != "" }); i >= 0 {
		return all[i], true
	}
	return Figure{Field: field, As: Count, Better: Lower}, strings.HasPrefix(field, "errors.")
}

// Figures are all of them, in the order of results.csv, where new ones come last.
func Figures() []Figure {
	all := []Figure{
		{Column: "lock", Group: "Run", Title: "lock", As: Words, Place: 1, InMarkdown: true, text: func(r Row) string { return r.Lock }},
		{Column: "scenario", Group: "Run", Title: "scenario", As: Words, Place: 1, InMarkdown: true, text: func(r Row) string { return r.Scenario }},
		{Column: "workload", Group: "Run", Title: "workload", As: Words, text: func(r Row) string { return r.Workload }},
		{Field: "repeats", Column: "repeats", Group: "Run", Title: "repeats", As: Count},
		{Column: "verdict_status", Group: "Verdict", Title: "status", As: Words, Place: 2, text: func(r Row) string { return r.Verdict.Status }},
		{Column: "verdict_safety", Group: "Verdict", Title: "safety", As: Words, Place: 2, text: func(r Row) string { return r.Verdict.Safety }},
		{Column: "verdict_liveness", Group: "Verdict", Title: "liveness", As: Words, Place: 2, text: func(r Row) string { return r.Verdict.Liveness }},
		{Column: "expected_safety", Group: "Expected", Title: "safety", As: Words, text: func(r Row) string { return r.Verdict.Expected.Safety }},
		{Column: "expected_liveness", Group: "Expected", Title: "liveness", As: Words, text: func(r Row) string { return strings.Join(r.Verdict.Expected.Liveness, " or ") }},
		{
			Field: "offered_per_s", Column: "offered_per_s", Group: "Rate, 1/s", Title: "offered", Unit: "1/s", Place: 8, InMarkdown: true,
			Term: "offered / achieved", Means: "Requests per second that the schedule asked for, and those that ended well. Of the raw workloads, whose clients run inside the masters, those of masters that were alive.",
		},
		{Field: "achieved_per_s", Column: "achieved_per_s", Group: "Rate, 1/s", Title: "achieved", Unit: "1/s", Better: Higher, Place: 7, InMarkdown: true, Compare: true},
		{
			Field: AvailabilityField, Column: "availability_share", Group: "Rate, 1/s", Title: "availability", As: Share, Better: Higher, Most: 1, Place: 6, InMarkdown: true, Compare: true,
			Means: "Share of the requests that ended well, of those that were sent.",
		},
		{
			Title: "failed requests", As: Share, Better: Lower, Answer: "failed requests", Felt: 0.001, Hurts: 0.01, Place: 4,
			Means: "Share of the requests that were refused, failed or never answered, over the whole measured part. What clients inside a master waited for when that was killed is in no count.",
			of:    func(r Row) (float64, bool) { return 1 - r.Availability, r.Availability > 0 || r.OfferedPerS > 0 },
		},
		{Field: "matches", Column: "matches", Group: "Rooms", Title: "matches", As: Count, Better: Higher, Means: "Requests of players that ended with a seat in a room."},
		{Field: "rooms_created", Column: "rooms_created", Group: "Rooms", Title: "created", As: Count, Term: "rooms created", Means: "Since the measured part began, also after its end for the last who asked in it; the duplicates among them included."},
		{Field: "duplicates.total", Column: "duplicates_total", Group: "Duplicates", Title: "total", As: Count, Better: Lower, Within: "rooms_created", Means: "Those of all causes, of rooms that were created since the measured part began, also after its end for the last who asked in it."},
		{
			Field: "duplicates.raced", Column: "duplicates_raced", Group: "Duplicates", Title: "raced", As: Count, Better: Lower, Unsafe: true, Place: 3, InMarkdown: true,
			Means: "Another master ordered the other room at the same time, or it was still starting and no fault kept the creating master from it: the lock failed, or there was none.",
		},
		{
			Field: "duplicates.overlooked", Column: "duplicates_overlooked", Group: "Duplicates", Title: "overlooked", As: Count, Better: Lower, Unsafe: true, Place: 3, InMarkdown: true,
			Means: "The other room was open and the creating master could reach it, or no fault kept it from that, but it was missed.",
		},
		{
			Field: "duplicates.lock", Group: "Duplicates", Title: "duplicates", As: Count, Better: Lower, Violation: "duplicate", Untouched: "duplicates_untouched", Answer: "duplicates", Place: 3, Compare: true,
			Term: "duplicates of the lock", Means: "Raced and overlooked ones together, those in the warm-up too: what the lock is judged on.",
			of: duplicates(func(d *Duplicates) int64 { return d.Raced + d.Overlooked + d.Warmup }),
		},
		{
			Field: "duplicates.unreachable", Column: "duplicates_unreachable", Group: "Duplicates", Title: "unreachable", As: Count, Better: Lower, Place: 4, InMarkdown: true, Compare: true,
			Means: "The creating master could not reach the worker that hosts the other room, and a fault was why. This is the price of going on while cut off: safety is judged on raced and overlooked only.",
		},
		{
			Field: "duplicates_per_1000", Column: "duplicates_per_1000_matches", Group: "Duplicates", Title: "all causes per 1,000 matches", Better: Lower, Place: 4, InMarkdown: true,
			Means: "Those of all causes, for 1,000 matches.",
		},
		{Field: "overlaps", Column: "overlaps", Group: "Holds", Title: "overlaps", As: Count, Better: Lower, Unsafe: true, Violation: "overlapping hold", Untouched: "overlaps_untouched", Answer: "overlapping holds", Place: 4, InMarkdown: true, Compare: true, Means: "Holds that a client still believed in when another one of the resource began, each once, however many began; in the warm-up, too."},
		{Field: "stale_writes", Measured: true, Column: "stale_writes", Group: "Holds", Title: "stale writes", As: Count, Better: Lower, Violation: "stale write", Untouched: "stale_writes_untouched", Answer: "stale writes", Place: 4, InMarkdown: true, Compare: true, Means: "Writes that the store took from a holder after it had served one to whom the lock was granted later. In the warm-up, too."},
		{Field: "fenced_writes", Measured: true, Column: "fenced_writes", Group: "Holds", Title: "fenced writes", As: Count, Place: 4, InMarkdown: true, Means: "Such writes that the store refused by their fencing token; or those that the lock's own store refused in a transaction that compares the lock, whether or not anybody had come later. In the warm-up, too."},
		{
			Field: StallField, Column: StallField, Group: "Fault, ms", Title: "stall", Unit: "ms", Better: Lower, Place: 5, InMarkdown: true,
			Means: "The longest time of the measured part, from one grant to the next, in which somebody wanted the lock and nobody got it anywhere. The time in which nobody wanted it does not count, nor that in which somebody alive held what was wanted: where several resources were wanted, that counts while a fault lasts. Who asked in vain goes on wanting it until somebody asks again (of one of several resources: at the same master), if that is within 250 ms and what it was for had not come by another way. Or the same of one of its resources, for as long as makes a stall, without the time in which somebody alive held it, and only on the word of those who were not cut off: who may have been by a fault, and got nothing at all for as long as a stall, in most of which somebody got something, was. A process that stands still or is dead waits for nothing meanwhile: what players miss by that is in the failed requests and the latencies, but the clients of the raw workloads run inside the masters, and those of a dead one ask for nothing.",
		},
		{
			Field: OutageField, Title: "longest outage", Unit: "ms", Better: Lower, Answer: "longest outage", Felt: noticed, Hurts: interrupted, Place: 5, Compare: true,
			Means: "The longer of the stall and of that of the worst zone; ≥ where it went on when the measured part ended.", of: outage,
		},
		{
			Field: "recovery_ms", Column: "recovery_ms", Group: "Fault, ms", Title: "recovery", Unit: "ms", Better: Lower, Place: 5, InMarkdown: true,
			Means: "From the order to heal the fault until the lock, and each of its resources that somebody wanted then and nobody alive held, is granted again and the share of requests that end well is back to nine tenths of what it was before; none where that had not come by the end of the run, where the order to heal came after the measured part, or where nobody was served before the fault. A stall that begins within 1.5 s of the order (or the lease and half a second, if that is more) belongs to it, and so does the time for which servers that lost their data are kept away. A time of more than 250 ms in which nobody wanted it is left out, also where nobody ever asked for it again. Of several faults the longest, each from its own order, whatever was broken before it was over; those that overlap are one, whose order is the last.",
		},
		{
			Field: "zombie_ms", Column: "zombie_ms", Group: "Fault, ms", Title: "zombie", Unit: "ms", Better: Lower, Place: 5, InMarkdown: true,
			Means: "The longest time from the next grant of a lock until the old holder noticed, or released. When the grant was says the server of the lock where it records that (raft), and otherwise the client that got it, which is later. In the warm-up, too.",
			Marks: []Mark{
				{"†", "The zombie's time begins with the grant by the server of the lock.", func(r Row) bool { return r.ZombieSince == SinceServer }},
				{"‡", "The zombie's time begins when the next client was told that it has the lock, which is later than the grant: it was one for at least so long.", func(r Row) bool { return r.ZombieSince == SinceClient }},
			},
		},
	}
	all = append(all, distribution("latency", Figure{
		Group: "Latency, ms", Better: Lower,
		Means: "From the moment a request was due by the load's schedule to its answer, so a stalled system is charged for the requests it kept waiting (no coordinated omission). Only requests that ended well count. In a closed loop (the raw workloads without --rate), where who waits asks for nothing else, one that was under way when the measured part began is of it, and one that still waited for others when it ended counts with the time it had waited.",
	}, Figure{InMarkdown: true, Compare: true}, Figure{InMarkdown: true, Compare: true, Answer: "request p99"}, Figure{InMarkdown: true})...)
	all = append(all, distribution("acquire", Figure{
		Group: "Acquire, ms", Better: Lower, Term: "acquire p50, acquire p99",
		Means: "Only the time to get the lock, at its client, of the acquisitions of the measured part that were granted, or still waited in a closed loop. In matchmaking most matches find a seat without the lock, so latency and acquire time differ widely.",
	}, Figure{InMarkdown: true, Compare: true, Answer: "acquire p50"}, Figure{InMarkdown: true, Compare: true, Answer: "acquire p99"})...)
	all = append(all, distribution("hold", Figure{Group: "Hold, ms", Means: "From getting the lock until the client no longer believes that it holds it."})...)
	all = append(all, distribution("fill", Figure{Group: "Fill of rooms, ms", Better: Lower, Means: "From the moment a room is open until it is full."})...)
	all = append(all, distribution("lateness", Figure{Group: "Generator lateness, ms", Better: Lower, Means: "How late the load generator itself was. When it falls behind, the run is inconclusive."})...)
	all = append(all,
		Figure{Field: "acquire_rtt", Column: "acquire_rtt", Group: "In round trips", Title: "acquire p50", Name: "acquire p50 / RTT", Term: "acquire p50 / RTT", Place: 7, InMarkdown: true, Better: Lower, Means: "The median of the time to get the lock, in round trips between hosts before the load and the fault began."},
		Figure{Field: "messages_per_acquire", Column: "messages_per_acquire", Group: "Lock", Title: "messages per acquire", Place: 7, InMarkdown: true, Better: Lower, Means: "Messages of the lock's protocol, those of failed tries too, for one acquisition that was granted; for locks that count them."},
		Figure{Field: "fairness", Column: "fairness_jain", Group: "Lock", Title: "fairness", Better: Higher, Most: 1, Means: "Jain's index over the clients: 1 if all were served alike, 1/n if one of n got everything; of repeats, the mean of each one's."},
		Figure{Field: "peer_fairness", Column: "peer_fairness_jain", Group: "Masters", Title: "fairness", Term: "fairness of masters", Better: Higher, Most: 1, Means: "The same index over what the masters acquired."},
		Figure{Column: "peer_wait_max_ms", Group: "Masters", Title: "longest wait, ms", Better: Lower, Means: "Of any master, for the lock.", of: worst(Row.peers, func(p Peer) *float64 {
			if p.WaitMS == nil {
				return new(float64)
			}
			return &p.WaitMS.Max
		})},
		Figure{Column: "peer_bypass_in_a_row_max", Group: "Masters", Title: "bypassed in a row", Better: Lower, Means: "The most grants of a resource to other masters while one waited, with none to it in between.", of: worst(Row.peers, func(p Peer) *float64 {
			n := float64(p.BypassInARowMax)
			return &n
		})},
		Figure{Column: "cpu_busy_worst_host", Group: "Machines", Title: "CPUs busy", Better: Lower, Means: "Share of the time, 0 to 1, over all CPUs of the machine where it was highest.", of: worst(Row.hosts, func(h HostLoad) *float64 { return h.CPUBusy })},
		Figure{Column: "cpu_busy_worst_second", Group: "Machines", Title: "in the busiest second", Better: Lower, of: worst(Row.hosts, func(h HostLoad) *float64 { return h.CPUBusyMax })},
		Figure{Column: "pressure_some_worst_host", Group: "Machines", Title: "somebody waited", Better: Lower, Means: "Share of the time, 0 to 1, in which some process waited for a CPU.", of: worst(Row.hosts, func(h HostLoad) *float64 { return h.PressureSome })},
		Figure{Column: "slowdown_worst_host", Group: "Machines", Title: "slowdown", Better: Lower, Means: "How many times longer than on an idle machine the work of the lab's processes took.", of: worst(Row.hosts, func(h HostLoad) *float64 { return h.Slowdown })},
		Figure{Column: "late_wake_max_ms", Group: "Machines", Title: "late wake-up, ms", Better: Lower, Means: "The longest that a timer of the process that samples went off too late.", of: worst(Row.hosts, func(h HostLoad) *float64 { return &h.LateWakeMS })},
		Figure{Column: "fsync_max_ms", Group: "Machines", Title: "slowest fsync, ms", Better: Lower, Means: "The longest that a page took to be safe on the disk of the nodes' data.", of: worst(Row.hosts, func(h HostLoad) *float64 { return h.FsyncMaxMS })},
		Figure{Column: "verdict_why", Group: "Verdict, in words", Title: "why", As: Sentence, text: func(r Row) string { return r.Verdict.Why }},
		Figure{Column: "fail_on", Group: "Verdict, in words", Title: "crossed --fail-on", As: Sentence, text: func(r Row) string { return strings.Join(r.Verdict.FailedOns, "; ") }},
		Figure{Column: "errors", Group: "Errors and faults", Title: "errors", As: Sentence, text: errorsText},
		Figure{Column: "faults", Group: "Errors and faults", Title: "faults", As: Count, Means: "In the ledger, over all repeats.", of: func(r Row) (float64, bool) { return float64(len(r.Faults)), true }},
		Figure{Column: "faults_proven", Group: "Errors and faults", Title: "proven", As: Count, of: func(r Row) (float64, bool) {
			n := 0.0
			for _, f := range r.Faults {
				if f.Proven {
					n++
				}
			}
			return n, true
		}},
		Figure{Column: "histories", Group: "Errors and faults", Title: "histories", As: Sentence, text: func(r Row) string { return strings.Join(r.Histories, " ") }},
		Figure{
			Field: "availability_outside", Column: "availability_outside_share", Group: "Rate, 1/s", Title: "available outside faults", As: Share, Better: Higher, Most: 1,
			Term: "available outside / during faults", Means: "The availability for the requests that no fault touched, and for those that were due or under way while one was in force or up to a second after its end, one and a half after processes that it had ended or stopped were back and, of what a process held that it ended, or what was asked of the lock or given back under it with no answer, until the next grant or, after the fault, for a lease and half a second more at most: locks have so long to recover. While in force alone says how it was before that. A request is in none of these if it waited to the end of its patience behind holders alive: one held the resource meanwhile, which was never free and not granted for a second.",
		},
		Figure{Field: "availability_during", Column: "availability_during_share", Group: "Rate, 1/s", Title: "during faults", As: Share, Better: Higher, Most: 1},
		Figure{Field: "availability_in_force", Column: "availability_in_force_share", Group: "Rate, 1/s", Title: "while in force", Name: "available while a fault was in force", As: Share, Better: Higher, Most: 1},
		Figure{Field: "rtt_ms", Column: "rtt_ms", Group: "In round trips", Title: "round trip, ms", Means: "The median of some, before the load began, between a master and the servers or peers of its lock, through the links; of the first repeat. The times beside it are as many times as long."},
		inRoundTrips("acquire p99", "acquire_p99_rtt", func(r Row) *Quantiles { return r.AcquireMS }, func(q *Quantiles) float64 { return q.P99 }),
		inRoundTrips("latency p50", "latency_p50_rtt", func(r Row) *Quantiles { return r.LatencyMS }, func(q *Quantiles) float64 { return q.P50 }),
		inRoundTrips("latency p99", "latency_p99_rtt", func(r Row) *Quantiles { return r.LatencyMS }, func(q *Quantiles) float64 { return q.P99 }),
		Figure{Field: "measured_ms", Column: "measured_ms", Group: "Run", Title: "measured, ms", As: Count, Means: "The length of the measured part, over all repeats."},
		Figure{Field: OthersField, Column: "cpu_others_worst_host", Group: "Machines", Title: "busy for others", Better: Lower, Means: "What was busy with anything but the lab's processes, as a share of all CPUs of the machine where it was highest.", of: worst(Row.hosts, func(h HostLoad) *float64 { return h.CPUOthers })},
		Figure{
			Field: WarmupField, Column: "duplicates_warmup", Group: "Duplicates", Title: "in the warm-up", As: Count, Better: Lower, Unsafe: true, Place: 4, InMarkdown: true, Compare: true,
			Means: "Raced or overlooked before the measured part: they are in no rate and not in the total, but the lock is judged on them.",
			of:    duplicates(func(d *Duplicates) int64 { return d.Warmup }), // a file leaves 0 out
		},
		Figure{
			Field: "duplicates.unclear", Column: "duplicates_unclear", Group: "Duplicates", Title: "that nobody can tell", As: Count, Better: Lower, Place: 4, InMarkdown: true,
			Means: "Rooms that may be raced or overlooked, in the warm-up or later: the clocks are not exact enough, or the other room's worker died before it could say whether it was full. They are not counted as such.",
			of:    duplicates(func(d *Duplicates) int64 { return d.Unclear }), // a file leaves 0 out
		},
		Figure{Field: "writes", Measured: true, Column: "writes", Group: "Store", Title: "writes", As: Count, Means: "Those that the store took, stale ones included. In the warm-up, too."},
		Figure{Field: "checked_writes", Measured: true, Column: "checked_writes", Group: "Store", Title: "checked writes", As: Count, Means: "Those, taken or refused, that came with a fencing token or a comparison: without any there was nothing to check. In the warm-up, too."},
		Figure{Field: "lost_updates", Measured: true, Column: "lost_updates", Group: "Store", Title: "lost updates", As: Count, Better: Lower, Within: "writes", Violation: "lost update", Untouched: "lost_updates_untouched", Place: 4, InMarkdown: true, Compare: true, Means: "Writes that were overwritten by a holder that had not read them. In the warm-up, too."},
		Figure{Field: "handoffs", Measured: true, Column: "handoffs", Group: "Handoff, ms", Title: "handoffs", As: Count, Means: "Releases after which a client that had been waiting got the lock."},
		Figure{Field: "barged", Measured: true, Column: "barged", Group: "Handoff, ms", Title: "barged in", As: Count, Better: Lower, Means: "Grants to a client that had asked only after the first release for which others were still waiting: a lock that polls lets them."},
		Figure{Field: "wakeups_per_handoff", Column: "wakeups_per_handoff", Group: "Handoff, ms", Title: "wake-ups each", Name: "wake-ups per handoff", Better: Lower, Place: 7, InMarkdown: true, Compare: true, Means: "How often waiters were woken, by a message, a watch or a timer, to look whether it is their turn, for one handoff; for locks whose client counts it. Many are the herd."},
		Figure{Field: "messages_per_handoff", Column: "messages_per_handoff", Group: "Handoff, ms", Title: "messages each", Name: "messages per handoff", Better: Lower, Place: 7, InMarkdown: true, Compare: true, Means: "Messages of the lock's protocol for one handoff, for locks that count them."},
	)
	all = append(all, distribution("handoff", Figure{
		Group: "Handoff, ms", Better: Lower,
		Means: "From the moment a holder stops acting to release the lock until a client that was waiting then has it; others may have barged in meanwhile.",
	}, Figure{InMarkdown: true, Compare: true, Answer: "handoff p50", Own: true}, Figure{InMarkdown: true, Compare: true, Answer: "handoff p99", Own: true})...)
	all = append(all, nodeFigures()...)
	return append(all,
		Figure{Field: "called_off", Measured: true, Column: "called_off", Group: "Rate, 1/s", Title: "called off", As: Count, Means: "Requests that still waited for other holders when the time was over: neither served nor failed. A wait for nobody counts as failed."},
		Figure{
			Field: ZoneStallField, Column: ZoneStallField, Group: "Fault, ms", Title: "in the worst zone", Name: "stall of the worst zone", Unit: "ms", Better: Lower, Place: 5, InMarkdown: true,
			Term: "stall of the worst zone", Means: "The longest time of the measured part in which somebody in one zone wanted the lock and nobody in that zone got it, whoever held it elsewhere. A process that stands still or is dead waits for nothing meanwhile: what players miss by that is in the failed requests and the latencies, but the clients of the raw workloads run inside the masters, and those of a dead one ask for nothing.",
		},
		Figure{Column: "zone_stalled", Group: "Fault, ms", Title: "which zone", Name: "zone of that stall", As: Words, Term: "zone of that stall", Means: "The zone that was without the lock for so long.", text: func(r Row) string { return r.ZoneStalled }},
		Figure{Column: "zombie_since", Group: "Fault, ms", Title: "since the grant by", Name: "zombie since the grant by", As: Words, Term: "zombie since the grant by", Means: "Whose grant the zombie's time begins with: the server's of the lock, or the client's that was told that it has the lock, which is later.", text: func(r Row) string { return r.ZombieSince }},
		Figure{
			Field: "acquired", Column: "acquired_share", Group: "Acquire, ms", Title: "granted", Name: "acquisitions granted", As: Share, Better: Higher, Most: 1,
			Term: "acquisitions granted", Means: "Share of the acquisitions of the measured part that were granted, whenever they were answered; without those that were called off: what they were for came by another way, or the time was over while they waited for other holders.",
		},
		Figure{Field: "holds_lost", Measured: true, Column: "holds_lost", Group: "Holds", Title: "lost", Name: "holds lost", Term: "holds lost", As: Count, Better: Lower, Means: "Holds that ended before their release because their holder was told, or noticed, that it holds no longer."},
		Figure{Field: "token_grants", Measured: true, Column: "token_grants", Group: "Store", Title: "grants with a token", As: Count, Means: "Acquisitions that came with a fencing token, which holders show the store with fencing on. In the warm-up, too."},
		Figure{Field: StallBefore, Measured: true, Column: StallBefore, Group: "Fault, ms", Title: "stall before it", Name: "stall before the fault", Term: "stall before the fault", Unit: "ms", Means: "How much of the stall was over when the first fault was asked for."},
		Figure{Field: ZoneStallBefore, Measured: true, Column: ZoneStallBefore, Group: "Fault, ms", Title: "worst zone before it", Name: "stall of the worst zone before the fault", Term: "stall of the worst zone before the fault", Unit: "ms", Means: "How much of the stall of the worst zone was over when the first fault was asked for."},
		Figure{Field: StallOpen, Measured: true, Column: StallOpen, Group: "Fault, ms", Title: "stall went on", Term: "stall went on", As: Count, Means: "1 where the stall went on when the measured part ended: it was at least so long."},
		Figure{Field: ZoneStallOpen, Measured: true, Column: ZoneStallOpen, Group: "Fault, ms", Title: "worst zone's went on", Term: "stall of the worst zone went on", As: Count, Means: "1 where the stall of the worst zone did."},
		Figure{Field: LockStallField, Measured: true, Column: LockStallField, Group: "Fault, ms", Title: "of the lock", Name: "stall of the lock", Term: "stall of the lock", Unit: "ms", Better: Lower, Means: "Where the stall is that of one resource: the longest one in which nobody got anything of the lock."},
		Figure{Field: LockStallBefore, Measured: true, Column: LockStallBefore, Group: "Fault, ms", Title: "lock before it", Name: "stall of the lock before the fault", Term: "stall of the lock before the fault", Unit: "ms", Means: "How much of that was over when the first fault was asked for."},
		Figure{Field: LockStallOpen, Measured: true, Column: LockStallOpen, Group: "Fault, ms", Title: "lock's went on", Term: "stall of the lock went on", As: Count, Means: "1 where that went on when the measured part ended."},
		untouched("Duplicates", "duplicates"), untouched("Holds", "overlaps"), untouched("Holds", "stale_writes"), untouched("Store", "lost_updates"),
		Figure{
			Field: "grants_per_s", Column: "grants_per_s", Group: "Capacity", Title: "grants/s at most", Place: 7, InMarkdown: true, Compare: true, Better: Higher,
			Means: "Grants per second in a closed loop of 64 clients in each master for 2 s, each on a resource of its own, after a run in which nothing was broken. A full machine is the point: compare within one run only.",
		},
		Figure{
			Field: "handoffs_per_s", Column: "handoffs_per_s", Group: "Capacity", Title: "handoffs/s at most", Place: 7, InMarkdown: true, Compare: true, Better: Higher,
			Means: "Grants per second of the same clients, all on one resource.",
		},
		Figure{
			Field: "cpu_us_per_grant", Column: "cpu_us_per_grant", Group: "Capacity", Title: "CPU per grant, us", Place: 7, InMarkdown: true, Better: Lower,
			Means: "CPU time of all nodes for one grant of grants/s at most.",
		},
	)
}

// outage is how long somebody was without the lock, anywhere or in one zone.
func outage(r Row) (longest float64, known bool) {
	for _, ms := range []*float64{r.StallMS, r.ZoneStallMS} {
		if ms != nil && finite(*ms) {
			longest, known = max(longest, *ms), true
		}
	}
	return longest, known
}

// duplicates is a number of them, in the rows that count any.
func duplicates(of func(*Duplicates) int64) func(Row) (float64, bool) {
	return func(r Row) (float64, bool) {
		if r.Duplicates == nil {
			return 0, false
		}
		return float64(of(r.Duplicates)), true
	}
}

// untouched counts the violations of a kind that no fault touched.
func untouched(group, of string) Figure {
	name := strings.ReplaceAll(of, "_", " ") + " that no fault touched"
	f := Figure{Field: of + "_untouched", Measured: true, Column: of + "_untouched", Group: group, Title: name, Term: name, As: Count, Better: Lower, Means: untouchedMeans}
	if of != "duplicates" { // those of the warm-up are in no field of all
		f.Within = of
	}
	return f
}

const untouchedMeans = "Of a row with faults, those that none is to blame for: none touched, as it may a request, the time from when the first of the two who came into it asked for the lock, or looked for a room, until it was seen."

// distribution is the figures of one field of quantiles. What more there is to each of
// them follows in their order.
func distribution(name string, all Figure, more ...Figure) []Figure {
	quantiles := []struct{ field, title string }{{"p50", "p50"}, {"p99", "p99"}, {"p999", "p99.9"}, {"max", "max"}}
	figures := make([]Figure, len(quantiles))
	for i, q := range quantiles {
		f := all
		if i < len(more) {
			f.Answer, f.InMarkdown, f.Compare, f.Own = more[i].Answer, more[i].InMarkdown, more[i].Compare, more[i].Own
			f.Felt, f.Hurts = noticed, interrupted
		}
		f.Field, f.Column = name+"_ms."+q.field, name+"_"+q.field+"_ms"
		f.Title, f.Name, f.Unit, f.Place = q.title, name+" "+q.title, "ms", 6
		if i+1 < len(quantiles) {
			f.Within = name + "_ms." + quantiles[i+1].field
		}
		if f.Term = cmp.Or(all.Term, name); i > 0 {
			f.Term, f.Means = "", ""
		}
		figures[i] = f
	}
	return figures
}

// inRoundTrips is a time as so many measured round trips.
func inRoundTrips(title, column string, of func(Row) *Quantiles, at func(*Quantiles) float64) Figure {
	return Figure{Column: column, Group: "In round trips", Title: title, Better: Lower, of: func(r Row) (float64, bool) {
		q := of(r)
		if q == nil || r.RTTMS == nil || *r.RTTMS <= 0 {
			return 0, false
		}
		return at(q) / *r.RTTMS, true
	}}
}

func (r Row) peers() []Peer     { return r.Peers }
func (r Row) hosts() []HostLoad { return r.Hosts }

// worst is the highest figure of a list that the row has; false if nothing in it has one.
func worst[T any](list func(Row) []T, of func(T) *float64) func(Row) (float64, bool) {
	return func(r Row) (highest float64, known bool) {
		for _, one := range list(r) {
			if v := of(one); v != nil && (!known || *v > highest) {
				highest, known = *v, true
			}
		}
		return highest, known
	}
}

func errorsText(r Row) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
		parts = append(parts, kind+"="+strconv.FormatInt(r.Errors[kind], 10))
	}
	return strings.Join(parts, " ")
}
