// Package scenario reads scenarios: which faults happen when, and what is then expected of each lock. A scenario
// is YAML; those in builtin/ are part of the program, and chaos/README.md explains one.
//
// A rule fits a lock that has, for each condition, one of the words. Safety, liveness and the share served are
// each decided by the first fitting rule that mentions it: the scenario's own rules come first, then those of
// rules.yaml, for every lock and scenario. Conditions are the lock's properties (locks.Traits) and what the
// scenario's faults do to it in the topology:
//
//	agree      who has to agree: nobody, one-server, majority-of-servers, majority-of-peers,
//	           connected-peers, all-peers; unknown if the lock does not say
//	lease      what ends a hold that nobody releases: own-clock, server-clock, client-clock, none
//	           (the end of its session), or nothing (until-release)
//	keeps      what is left after a crash: nothing, synced-later (what was synced), everything
//	replica    whether another server may take over: none, asynchronous, acknowledged
//	fault      kinds of faults, or none: all kinds of the scenario must be among them
//	target     holder, leader or primary, if a fault aims at one; else other
//	left       how many of those that have to agree the best placed client still reaches: all,
//	           enough to agree, or too-few
//	cut        how the traffic between the lock's nodes is cut: none, held, dropped, reset,
//	           one-way, flapping
//	clients    what happens to some masters: none, killed, paused, clock (it is wrong)
//	restarted  whether those that have to agree crash and come back at-once, within-a-lease or
//	           after-a-lease
//	failover   possible, if a replica may be promoted meanwhile
//	masters    one or more
//
// All faults of a scenario count as if they were in force at once.
package scenario
