// Package scenario reads scenarios: what is broken when, and what is expected of
// each lock then. A scenario is YAML; those in builtin/ are part of the program, and chaos/README.md
// explains one.
//
// A rule is of the locks that have one of the words of each condition. Of safety, liveness and the
// share served the first rule counts that fits and speaks of it: the scenario's own, then those
// in rules.yaml, which hold for every lock and every scenario. Conditions are what a lock is
// (locks.Traits) and what the faults of the scenario do to it in the topology:
//
//	agree      who has to agree: nobody, one-server, majority-of-servers, majority-of-peers,
//	           connected-peers, all-peers; unknown of a lock that does not say it
//	lease      by whose clock a hold ends: none, own-clock, server-clock, client-clock
//	keeps      what is there after a crash: nothing, synced-later (what was synced), everything
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
