// Package scenario reads scenarios: what is broken when, and what is expected of
// each lock then. A scenario is YAML; those in builtin/ are part of the program.
//
//	name: zone-partition
//	title: {en: zones cut, ko: 존간 단절}  # heads its column, in two lines; may be left out
//	summary: The zones cannot talk to each other for a while; bytes are kept.
//	min_duration: 2s         # runs that measure for less leave it out, or refuse it alone; may be left out
//	outlasts: lease          # so do all faults, or the lock is left out; may be left out
//	hold: 50ms               # how long to hold, where the user does not say; may be left out
//	clients: 50              # in each master, likewise
//	resources: 1             # likewise
//	source: Notes on X, section 3  # who says what is expected; may be left out
//	timeline:
//	  - at: 30%              # of the measured time; or a duration such as 2s
//	    for: 35%             # without it the fault lasts to the end; 100 ms at least
//	    fault: partition     # locklab list faults
//	    between: [zone:a, others]
//	    mode: hold
//	reasons:                 # of expectations below that have none of their own; may be left out
//	  raft etcd: {why: a majority has to agree, source: another one}
//	expect:
//	  none: {safety: unsafe, liveness: live}
//	  redlock:
//	    safety: safe
//	    liveness: [live, stalls]       # any of them
//	    why: a majority has to agree   # and source, where another one says it
//	    availability: {outside: 99%, during: 50%}  # of the operations that must end ok
//	    topologies:
//	      seoul-3az: {liveness: live}  # a built-in one or that of the run; replaces, field by field
//	  raft etcd: {safety: safe}        # of several locks at once
//	  postgres: {not_for: it has one server}  # it does not apply: such runs are left out
//
// Safety is safe or unsafe (a control: it must show a violation), liveness is live,
// stalls or down. What is left out is not judged, and
// never called safe. Of a lock of which anything is expected, 99 % of the operations that
// no fault touches must end ok unless availability says otherwise. Of several
// specs that fit a lock, the one counts that names most of its options, then of its variant:
// redlock:persistence=always before redlock, for redlock:persistence=always,ttl=1s too.
package scenario
