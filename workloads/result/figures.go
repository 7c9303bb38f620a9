package result

// Figure is a measured property of a run. [Figures] is the only list of them: tables, CSV, pages, the glossary,
// comparisons and --fail-on use it.
type Figure struct {
	Name   string // in result.json, in results.csv, for --fail-on and in the glossary
	As     Form
	Means  string // in at most 25 words
	Better Better
	// Compare says that comparisons, and the table of a report, show it.
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
		{"duplicates", Count, "Rooms begun while another room of their group was starting or had a free seat.", Lower, true},
		{
			"unreachable", Count, "Duplicates not held against the lock: a fault kept the master from the other room, " +
				"or it was killed before its order arrived.", Lower, true,
		},
		{"overlaps", Count, "Holds during which another client's hold of the resource surely began.", Lower, true},
		{"tokens_back", Count, "Holds with a fencing token no higher than an earlier hold's.", Lower, true},
		{"stale_writes", Count, "Writes the store took from a holder after serving a later one.", Lower, true},
		{"lost_updates", Count, "Versions overwritten by a writer that had not read them.", Lower, true},
		{"fenced_writes", Count, "Writes the store refused by their fencing token.", Neither, true},
		{"in_doubt", Count, "Violations that the clocks' errors leave open.", Lower, false},
		{"outage_ms", Duration, "The longest time between two grants to canaries.", Lower, true},
		{"zone_outage_ms", Duration, "The same in the worst zone, while any of its masters ran.", Lower, true},
		{"resource_outage_ms", Duration, "The longest outage of one resource.", Lower, true},
		{"recovery_ms", Duration, "How long an outage went on after the order to heal.", Lower, true},
		{"zombie_ms", Duration, "The longest time that an older holder went on after the next grant.", Lower, true},
		{"served", Share, "The share of requests that ended well; in raw workloads, of acquisitions.", Higher, true},
		{"served_in_fault", Share, "The same of those due in the fault's time.", Higher, true},
		{"acquired", Share, "The share of acquisitions that got the lock.", Higher, false},
		{"requests", Count, "Requests due in the measured part.", Neither, false},
		{"rooms", Count, "Rooms created, duplicates included.", Neither, false},
		{"offered_per_s", Number, "Requests due per second.", Neither, false},
		{"achieved_per_s", Number, "Requests per second that ended well.", Higher, true},
		{"request_p50_ms", Duration, "Median latency of requests that ended well, from when they were due.", Lower, true},
		{"request_p99_ms", Duration, "What 99 of 100 of them did not exceed.", Lower, true},
		{"request_max_ms", Duration, "The longest of them.", Lower, false},
		{"acquire_p50_ms", Duration, "Median time from asking for the lock to holding it.", Lower, true},
		{"acquire_p99_ms", Duration, "What 99 of 100 of them did not exceed.", Lower, true},
		{"acquire_max_ms", Duration, "The longest of them.", Lower, false},
		{"hold_p50_ms", Duration, "Median time for which the lock was held.", Neither, false},
		{"handoff_p50_ms", Duration, "Median time from a release until a waiting client holds the lock.", Lower, true},
		{"handoff_p99_ms", Duration, "What 99 of 100 of them did not exceed.", Lower, true},
		{"late_p99_ms", Duration, "How late 99 of 100 requests were sent at most.", Lower, false},
		{
			"grants_per_s", Number, "Grants per second to 64 clients in each master, each with a resource of its own.", Higher,
			true,
		},
		{"handoffs_per_s", Number, "The same with one resource for all.", Higher, true},
		{"cpu_us_per_grant", Number, "CPU time of masters and servers per such grant.", Lower, true},
		{"messages_per_acquire", Number, "Protocol messages of the masters' locks per acquisition.", Lower, true},
		{"wakeups_per_handoff", Number, "Waiters woken per handoff.", Lower, true},
		{"overtaken_max", Count, "How often at most one client overtook another that had asked before.", Lower, false},
		{"fairness", Number, "Jain's index of grants to masters: 1 is even, 1/n is all to one of n.", Higher, true},
		{"cpus", Number, "CPUs used by all nodes together.", Lower, true},
		{"memory_mib", Number, "Memory of the largest node.", Lower, false},
	}
}

// MustFigure is Lookup for names that are written in the program: it panics if there is none.
func MustFigure(name string) Figure {
	f, known := Lookup(name)
	if !known {
		panic("no figure has the name " + name)
	}
	return f
}

// Lookup finds a figure by its name.
func Lookup(name string) (Figure, bool) {
	for _, f := range Figures() {
		if f.Name == name {
			return f, true
		}
	}
	return Figure{}, false
}
