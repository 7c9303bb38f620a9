package result

import "slices"

// Figure is something that is measured of a run. [Figures] is the one place that lists them:
// tables, CSV, pages, the glossary, comparisons and --fail-on all come from there.
type Figure struct {
	Name   string // in result.json, in results.csv, for --fail-on and in the glossary
	Unit   string
	As     Form
	Means  string // in at most 25 words
	Better Better
	// Compare says that comparisons and the table of a report have it.
	Compare bool
}

// Form is how a figure is printed.
type Form int

// The forms.
const (
	Number   Form = iota // three significant digits
	Count                // a whole number
	Share                // 0 to 1, as a percentage
	Duration             // milliseconds, printed with the unit that fits
)

// Better says which values of a figure are good.
type Better int

// The directions.
const (
	Neither Better = iota
	Lower
	Higher
)

// Figures are all of them, in the order of results.csv. There are at most 40.
func Figures() []Figure {
	return []Figure{
		{"duplicates", "", Count, "Rooms whose creation began while another room of their group was starting or had a free seat.", Lower, true},
		{"unreachable", "", Count, "Duplicates not held against the lock: a fault kept the ordering master from the other room, or the order arrived after its master was killed.", Lower, true},
		{"overlaps", "", Count, "Holds during which another client's hold of that resource surely began, each counted once.", Lower, true},
		{"tokens_back", "", Count, "Holds whose fencing token was not higher than that of an earlier hold of the resource.", Lower, true},
		{"stale_writes", "", Count, "Writes that the store took from a holder after it had served a later one.", Lower, true},
		{"lost_updates", "", Count, "Versions that were overwritten by a writer that had not read them.", Lower, true},
		{"fenced_writes", "", Count, "Writes that the store refused by their fencing token.", Neither, true},
		{"in_doubt", "", Count, "Overlaps or duplicates that the clocks' errors leave open.", Lower, false},
		{"outage_ms", "ms", Duration, "The longest time between two grants to canaries.", Lower, true},
		{"zone_outage_ms", "ms", Duration, "The same of the worst zone, without the time in which none of its masters ran.", Lower, true},
		{"resource_outage_ms", "ms", Duration, "The longest time in which one resource was wanted, not held, and not granted.", Lower, true},
		{"recovery_ms", "ms", Duration, "How long after the order to heal an outage that was under way went on.", Lower, true},
		{"zombie_ms", "ms", Duration, "The longest time from the next grant until the older holder stopped believing.", Lower, true},
		{"served", "", Share, "The share of the requests of the measured part that ended well; of raw workloads, of the acquisitions.", Higher, true},
		{"served_in_fault", "", Share, "The same of the requests that were due in the fault's time.", Higher, true},
		{"acquired", "", Share, "The share of the acquisitions that ended with the lock.", Higher, false},
		{"requests", "", Count, "Requests that were due in the measured part.", Neither, false},
		{"rooms", "", Count, "Rooms that were created, duplicates included.", Neither, false},
		{"offered_per_s", "1/s", Number, "Requests per second that the load asked for.", Neither, false},
		{"achieved_per_s", "1/s", Number, "Requests per second that ended well.", Higher, true},
		{"request_p50_ms", "ms", Duration, "Median latency of the requests that ended well, from the moment that they were due.", Lower, true},
		{"request_p99_ms", "ms", Duration, "The latency that 99 of 100 of them did not exceed.", Lower, true},
		{"request_max_ms", "ms", Duration, "The longest of them.", Lower, false},
		{"acquire_p50_ms", "ms", Duration, "Median time from asking for the lock to holding it.", Lower, true},
		{"acquire_p99_ms", "ms", Duration, "The time that 99 of 100 of them did not exceed.", Lower, true},
		{"acquire_max_ms", "ms", Duration, "The longest of them.", Lower, false},
		{"acquire_rtts", "", Number, "acquire_p50_ms in round trips between a master and what the lock asks.", Lower, false},
		{"hold_p50_ms", "ms", Duration, "Median time for which the lock was held.", Neither, false},
		{"handoff_p50_ms", "ms", Duration, "Median time from a release until a waiting client held the lock.", Lower, true},
		{"handoff_p99_ms", "ms", Duration, "The time that 99 of 100 of them did not exceed.", Lower, true},
		{"late_p99_ms", "ms", Duration, "How late the load generator sent 99 of 100 requests at most.", Lower, false},
		{"grants_per_s", "1/s", Number, "Grants per second of 64 clients in each master in a closed loop, each on a resource of its own.", Higher, true},
		{"handoffs_per_s", "1/s", Number, "The same of all clients on one resource.", Higher, true},
		{"cpu_us_per_grant", "us", Number, "CPU time of masters and servers for one such grant.", Lower, true},
		{"matches_per_s", "1/s", Number, "The highest rate of match requests with a p99 under 100 ms and none failed.", Higher, true},
		{"messages_per_acquire", "", Number, "Protocol messages that the masters' locks sent, for one acquisition.", Lower, true},
		{"wakeups_per_handoff", "", Number, "Waiters that were woken, for one handoff.", Lower, true},
		{"fairness", "", Number, "Jain's index of the grants to the masters: 1 is even, 1/n is all to one of n.", Higher, true},
		{"cpus", "", Number, "CPUs that all nodes used together, on average.", Lower, true},
		{"memory_mib", "MiB", Number, "Memory of the largest node.", Lower, false},
	}
}

// Lookup finds a figure by its name.
func Lookup(name string) (Figure, bool) {
	all := Figures()
	if i := slices.IndexFunc(all, func(f Figure) bool { return f.Name == name }); i >= 0 {
		return all[i], true
	}
	return Figure{}, false
}
