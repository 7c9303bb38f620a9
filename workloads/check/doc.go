// Package check judges a run by its history alone. Everything here is a pure
// function of the events; they may come in any order.
//
//	history ──▶ Checker.Add ──▶ Findings ──▶ Merge (repeats) ──▶ Judge ──▶ Verdict
//	            compact records  what was seen                    what was expected
//
// # Duplicates
//
// A room is free from its creation (state starting) until it is full, closed, or
// its worker died. A room R is a duplicate if another room O of the group was
// free at the moment at which R's creation began. The master that ordered R held
// a lock and looked at the workers first; both are in R's order event:
//
//	          look           order                answer
//	order R   F──────────────────────s──────────────A        s: the worker begins R
//	order O                   F───s────────A                 overlap: raced
//	order O   F──s──A  ·· starting ··· open ··············   before F and free at s:
//	                                                         R's look should have seen O
//
// The cause of the pair, and for R the worst over all such O:
//
//   - raced: the two orders overlap in time under different holds: two masters
//     were inside the lock together. Also if O was still starting, was there before
//     R's look, could be reached and was missed; or if an order took effect after it had
//     been answered (its room is younger than its A), so that the look of the other
//     could not see it, and no fault explains why it came late.
//   - overlooked: O was open before R's look began, could be reached, and was missed.
//     Also if one hold ordered both rooms.
//   - unreachable: R's order arrived after its master had been killed, or O's did so, after R's look.
//     Or: O's worker did not answer R's look, and a fault that cut
//     that pair of hosts, stopped that worker, or delayed the two messages by at least
//     what the master had waited, was in force at the time: from when it was asked for
//     until its end was seen, the processes that it ended were there again, and a margin
//     was over. Or: an
//     order that was cut off in the same way, whose outcome its master could not know,
//     took effect unseen. That is the price of going on during a partition; a lock
//     that did everything right pays it too.
//
// Raced comes before overlooked, overlooked before unreachable. A worker that was
// listed as unreachable without a fault to blame counts as reachable: a master
// that does not wait for an answer is no excuse. A room whose order is missing
// from the history (its master was killed) exists if the oracle saw it; its order
// then counts as the instant of its creation. An order of unknown outcome is one
// more way to get a room, not a way to lose one.
//
// # Overlaps, zombies, tokens
//
// A hold counts as its client believed it: from the answer of the acquisition to
// the first of: it noticed the loss, it stopped acting and sent the release (what became
// of that is not known before its answer, and does not matter), a signal that ended its
// process was sent, the history ended. Two holds of one resource that share time overlap.
// What is counted is stale holds: those during which others began, each once, however many
// these were:
//
//	h1   ├──────────────────────────────┤     stale: one overlap
//	h2        ├────┤                          began meanwhile
//	h3                  ├─────────────────┤   began meanwhile
//	h4                               ├──┤     h3 is stale too: two overlaps, of three holds
//
// They are judged in every workload: in matchmaking overlapping holds may lead to no
// room too many, but that is luck. The
// zombie time is from the next grant until the older client stopped believing. When
// that grant was the lock's server says where it records grants, which may be before the
// next client was told, and also if it never was; of other locks it is when that client
// was told, so that the zombie was one for at least so long:
//
//	granted h1               h2
//	h1        ├──────────────·──────────┤     zombie from the dot on
//	h2                            ├────────┤  overlaps for less
//
// Fencing tokens must grow: of two holds of a resource that followed each other the later one
// has the higher token. A store that refuses the only holder shows the same.
//
// # What no fault is to blame for
//
// In a run with faults it is told of how many duplicates, overlaps, stale writes and lost updates none
// is the cause: of those between whose beginning and end no fault touched their resource, as one touches
// requests: until a second after its end, a while after processes that it ended are back, and as long as it
// may have left the resource to nobody. They begin when the first of the two who
// came into it asked for the lock, or looked for a room:
//
//	fault              ├─────────────┤ · · · · ·
//	h1    ask┤├────┤                                 untouched
//	h2     ask┤├────┤
//	h3              ask┤├────────┤                   touched: asked before it, seen in it
//	h4                     ask┤├────┤
//
// # Stores
//
// In the workload fenced-write the store's versions say in which order it did what, so no
// clock is needed. A write is stale if the store had served a later hold before, by a read
// or a write; which of two holds is later say their tokens, or without any the moments at
// which their clients were told. A version is lost if a later one was written by who had
// read an earlier one:
//
//	version  0                 1                 2                 3
//	h2       └ read   written ─┘                 ·                 ·
//	h3                         └ read   written ─┘                 ·
//	h1       └ read                     stale; 1 and 2 are lost: ──┘ written
//
// That does not convict the lock: a write that was sent in time may be late on its way, and
// where two held at once the holds say so. But where tokens were shown, the store had to
// refuse: a stale write, or a lost update, is a violation then.
//
// # Handoffs
//
// In the workload handoff, the time from when a holder stopped acting to release until one
// of those who were waiting then got the hold. Who asked only then, and got it before them,
// has barged in, and their wait goes on:
//
//	h1   ─────release
//	m2   ask ···├───────────────────────────┤ grant    a handoff
//	m1              ask, grant, release                barged in
//
// Holds that were lost are not handed over. Clocks' error bounds are not taken into account.
//
// # Fairness
//
// In the mutex workload a peer is a master with its clients. A wait lasts from when
// a client asked until it held; it was bypassed by each grant of the resource, strictly in
// between, to another peer:
//
//	m1   ask───────────────────────────────grant      bypassed 5 times, 3 in a row
//	m1        ask────────────grant                    twice, 2 in a row
//	m2            ×    ×           ×    ×    ×        grants to the other peer
//
// Waits that failed, or were open when the measured part ended, count with the
// time and the bypasses that they have. Asking is known from the event of its
// outcome, so a client whose process died while it waited is not seen to wait. Error
// bounds of clocks are not taken into account: they can move a grant into or out
// of a wait at its edges.
//
// # Clocks
//
// Each host's clock has an error bound: that of the event (ErrNS), or the one that
// was known in the end ([history.KindClock]) if it is larger, since a clock that
// drifted was wrong before the end. The bounds shorten holds on both sides, and a
// cause of duplicates is the mildest that they allow for, so that what is counted
// certainly happened. What may have happened is in [Doubts]: overlaps that are
// shorter than the error make a run inconclusive, never violated.
//
// # Machines
//
// A lock that does not get a CPU looks like one that stalls, and a lease ends while its
// holder waits to be told. So each machine is sampled, and one on which the lab's own
// processes got too little in the measured part decides nothing:
//
//	slowdown    CPU time and waiting for a CPU, stolen time too, over CPU time: above [MaxSlowdown], while
//	            hardly any CPU was free or a quota kept them away
//	own share   what the lab's processes use of all CPUs: above [MaxOwnShare]
//	late        a timer of the process that measures went off later than half of a stall
//
// That CPUs are busy decides nothing: what gives way to the lab does no harm. But where
// hardly any was free, be it in one second only, and the lab's processes waited longer for
// one than they ran, a lock that was too slow is not convicted, although one that was not may
// pass.
//
// # What decides nothing
//
// A violation convicts the lock and makes a run violated, unless something else may
// have caused it: a host, a node, an agent or the controller went away or stood still
// before it although no scenario asked for that, a fault was asked for that was not proven
// (it also excuses what a proven one would), or the records do not fit each other.
// Players name rooms, orders name rooms and holds, the oracle knows them, each within the
// time of the others and the clocks' bounds; a hold that was released was acquired, a room
// that was closed was full or waited in vain; players, the events of each process and the
// lines of the file are numbered without gaps; every fault that the run planned is in the
// ledger, at its time; as many operations were due as were to be offered. A run in which
// that is not so, or in which nothing ended ok, is inconclusive. What a process that was
// killed did in its last moment may be missing; a room that counts as free only because its
// worker had no time to say that it was full is in [Doubts], too. Histories that do not say what is expected
// are of older programs, which did not record all that is asked for here.
//
// # Liveness
//
// A stall is the time, between two grants, in which somebody alive wanted the lock.
// Who was refused and asks again within [DemandGap] has wanted it in between, he or another, unless
// what he asked for came by another way before: a lock that
// refuses at once is as down as one that never answers. Within the
// fault windows (without faults: the measured part), which for a restart last until it is
// over, and where they are shorter than a stall until the first grant after them,
//
//	live    no stall of a second, or an eighth of a run shorter than 8 s, or half a second
//	        there where no fault is in force
//	stalls  there were such, and either grants came again before the heal was asked
//	        for, or the last stall was less than half of the fault's time, or nobody
//	        can tell, as below
//	down    one of them lasted until the heal was asked for, and was at least half
//	        of the fault's time; who wants nothing any more says nothing of the end
//
// and whatever the scenario expects,
//
//	dead    a second of an outage lies where no fault is in force or settling; without faults
//	        it lasts to the end
//
// The lock as a whole is judged by all grants, and each resource by its own; the worst
// counts. A resource that somebody alive holds is not stuck. And what a node waits for in
// vain tells of the resource only as far as the node is not cut off, which its grants of
// other resources show; it counts until the last of these:
//
//	m1   want x ──────────────────────────────────   x is stuck until here
//	m1     grant y    grant z       grant y ┘        (and to the end: down)
//	m2   want x ──────────────────────────────────   no grants: cut off, no word on x
//
// The lock is down for a resource only if the fault lasted for longer than a lease: whoever is gone
// may have held it, or was granted it before the server noticed. Nor is it down as a whole where that
// may be so of all that is wanted.
//
// After a fault that is shorter than a stall a resource is judged until its own next grant. If
// it was granted again within a lease, whoever was hit may have held it.
//
// Where no fault is in force a stall is one too many: the lock stalls then, if it was not
// worse. When a fault has ended, a failover or a lease explains stalls for a while, and so does
// who alive holds what is wanted. The longest stall that is told of is that of the whole
// measured part; where nobody at all is granted anything, nobody counts as cut off:
//
//	fault       ├─────────────┤
//	judged  ────┼─────────────┤ · · · · · ├──────────────
//	        none, or stalls     explained    none, or stalls
//
// Who did not want the lock cannot say how it fared. Unless in half of the windows somebody
// wanted it for some time, or got what he had asked for there, nothing was seen: a scenario that
// judges liveness decides nothing, and under another one it is not judged, rather than live.
//
// Wanting ends with the answer to whom it was for: a master may need a while longer to end the try of
// a player who has got a seat. How much of the longest stall was over when the first fault was asked
// for is told beside it, and whether it went on when the measured part ended: then it was at least
// that long. Where one resource had the longest, that of the lock as a whole is told apart.
//
// Recovery is counted from the moment the heal was asked for until the lock, and each resource that
// somebody wanted then and nobody alive held, is granted again, and availability is back above 90 %
// of what it was before. If a stall follows soon, it had not recovered yet. A time in which nobody wanted
// it, longer than [DemandGap], is left out. One that had not come by the end of the run has no length.
// Of several faults each counts from its own heal, through the next ones if it had not recovered
// before, and the longest is told.
//
// # Waiting in line
//
// A request that waited for a second or more, while living holders had the resource for half of that or
// more, is in no share of those served. One of a master that is never granted anything is.
//
// # Lost holds
//
// A lock that takes back what it grants has served nobody. With nothing broken, holds that
// were lost before half of their lease was over, or at all where they have none, count like
// requests that failed: the share that must be served is that of holds that must last, too.
//
// # Links of programs
//
// A lock that a user brings shows under broken links what they do to it only if it uses them.
// One that asks for no servers, or sends nothing to those that it asked for, is not judged by
// a fault of links alone.
package check
