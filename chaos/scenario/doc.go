// Package scenario reads scenarios: what is broken when, and what is expected of
// each lock then. A scenario is YAML; those in builtin/ are part of the program.
//
//	name: zone-partition
//	title: {en: zones cut, ko: 영역간 단절}  # heads its column, in two lines; may be left out
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
//	expect:                  # before the general rules, which may be all that it takes
//	  - when: {lock: redlock}            # a name, with a variant or options; or several in brackets
//	    safety: safe                     # or unsafe (a control: it must show a violation), or not-judged
//	    why: a majority has to agree     # and source, where another one says it
//	  - when: {agree: all-peers, left: too-few}
//	    liveness: [stalls, down]         # any of them; live is the third; or not-judged
//	    served: 25%                      # of the operations, at least; 0% if a rule of liveness says none
//	  - {when: {agree: one-server}, not_for: it has one server}  # such runs are left out
//
// A rule is of the locks that have one of the words of each condition. Of safety, liveness and the
// share served the first rule counts that fits and speaks of it: the scenario's own, then those
// in rules.yaml, which hold for every lock and every scenario. Conditions are what a lock is
// (locks.Traits) and what the faults of the scenario do to it in the topology:
//
//	agree      who has to agree: nobody, one-server, majority-of-servers, majority-of-peers,
//	           connected-peers, all-peers; unknown of a lock that does not say it
//	lease      by whose clock a hold ends: none, own-clock, server-clock, client-clock
//	keeps      what is there after a crash: nothing, each-second (what was synced), everything
//	replica    whether another server may take over: none, asynchronous, acknowledged
//	fault      kinds of faults, or none: all that the scenario has must be among them
//	target     holder, leader or primary, if a fault aims at one; else other
//	left       how many of those that have to agree the best placed client still reaches: all,
//	           enough to agree, or too-few
//	cut        how what the lock's nodes say to each other is cut: none, held, dropped, reset,
//	           one-way, flapping
//	clients    what happens to some masters: none, killed, paused, clock (it is wrong)
//	restarted  whether those that have to agree crash and come back at-once, within-a-lease or
//	           after-a-lease
//	failover   possible, if a replica may be promoted meanwhile
//	masters    one or more
//
// All faults of a scenario count as if they were in force at once.
package scenario
