package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/internal/testfile"
)

// regression is something that the lab or one of its locks once said or did although it
// was not so, and the test that fails if it comes back.
type regression struct {
	wrong string // what was wrong
	shows string // the command, or what one does, that shows it
	test  string // folder of the package, a dot, and the name of the test
}

// regressions are kept apart by what they are about, newest last.
var regressions = map[string][]regression{
	"quorum lock": {
		{
			"with five peers two clients could hold: a holder forgot its hold when the vote that it had lent came back",
			"locklab sim multiphase:quorum --peers 5 --seed 62235 --seeds 1 --faults crash,partition " +
				"--give-up 30ms --hold 4s --think 1ms --jitter 3 --no-shrink",
			"cmd/locklab.TestSimHolderIsNotForgotten",
		},
		{
			"exploration, simulation and tests judged the core's state, which no client sees: a core that forgot a hold looked safe",
			"break that rule (a lent vote that comes back ends the hold) and explore, walk or simulate the core",
			"locks/multiphase/quorum.TestForgottenHold",
		},
		{
			"exploration saw no production recovery (one control state for all resources) and no resource that is forgotten",
			"locklab explore multiphase:quorum --peers 2 --faults crash,reconnect --forgets any",
			"locks/multiphase/quorum.TestProductionParts",
		},
		{
			"sim called two holders no violation where tokens grew, though nothing but crashes and partitions was there to excuse it",
			"a core whose clients all hold, with growing tokens and no fault",
			"verify/sim.TestChecksReject",
		},
		{
			"sim called a peer stuck that waited behind clients that held for long",
			"locklab sim multiphase:quorum --peers 5 --seeds 20000 --faults crash,partition,slow --give-up 30ms --hold 4s --think 1ms --jitter 3",
			"verify/sim.TestLongHoldsAreNotStuck",
		},
		{
			"sim excused every overlap with growing tokens as soon as anybody had stood still or had a clock that ran wrong, long ago or elsewhere",
			"free votes on disconnect, and locklab sim multiphase:quorum --seed 2 --seeds 1 --faults pause",
			"verify/sim.TestOnlyALeaseExcuses",
		},
	},

	"shell and mesh of peer-to-peer locks": {
		{
			"a pause longer than the lease killed a peer of multiphase:quorum: leases that ran out were ended over a connection that was lost",
			"kill -STOP, 3.5 s, kill -CONT for a master that holds 50 locks",
			"locks/peerlock.TestLeaseEndsLateWithTheLink",
		},
		{
			"a peer that was asked for more names than its limit, or whose queue was full, ended the connection: both sides thought that they were alone and both acquired",
			"a peer that reads late, and far more for it than a socket holds",
			"locks/peerlock/mesh.TestSlowReader",
		},
		{
			"tokens of multiphase:quorum went back to 1 when most peers had lost their memory, and a fenced resource then refused everybody",
			"locklab sim multiphase:quorum --seeds 10000 --faults crash",
			"cmd/locklab.TestSimTokensOutliveCrashes",
		},
		{
			"a peer of multiphase that was connected to some of its peers, and never to all at once, acquired: of four, two pairs that had found each other both did",
			"two of three masters started, and Acquire at one of them",
			"locks/multiphase.TestAcquireBeforeTheMeshHasFormed",
		},
		{
			"after a power cut of all masters, of which one of three stayed away, multiphase:quorum never recovered",
			"kill -KILL for three masters, two of which are started again",
			"locks/multiphase.TestPowerCut",
		},
		{
			"tokens of multiphase:quorum went back after its state file had been written anew and the peer was started again: of the sixteen numbers that forgotten names start above, one was read",
			"a peer on disk that has seen more names than it keeps, and another process of it",
			"locks/peerlock.TestTokensGrowThoughNamesAreForgotten",
		},
		{
			"a peer of multiphase:quorum that was started twice with one state file let two hold: the second process gave the first one's own vote anew",
			"two processes of one peer with the same Config.StateFile",
			"locks/multiphase.TestOneProcessForAFile",
		},
	},

	"redlock": {
		{
			"order=sequential stopped asking at a quorum: one instance of the three that lost its memory let a second client in",
			"two clients of redlock:order=sequential; the first acquires; FLUSHALL at the first instance",
			"locks/redlock.TestOneLostMemoryIsNotEnough",
		},
		{
			"redlock without options was not the algorithm of the documents: it queued inside the process and woke waiters by messages",
			"locklab list locks; MONITOR at an instance while clients of the lock redlock wait",
			"locks/redlock.TestTheDefaultIsTheTextbook",
		},
		{
			"a lock whose leases never end passed the conformance suite",
			"take PX out of redlock's SET; go test ./locks/redlock ./nodes/redisnode",
			"locks/locktest.TestBrokenLeasesFail",
		},
		{
			"a hold whose lease was over before its caller looked at the grant was registered as held for ever, and all waiters of the process stayed behind it",
			"a client of redlock:wake=publish that is stopped between grant and return for longer than ttl",
			"locks/redlock.TestLostBeforeItIsReturned",
		},
		{
			"the pause before the next attempt began while the instances were still busy with the last one, whose commands piled up before the holder's release: with 1 ms delay a third of redsync's grants on one key",
			"make bench BENCH='-rows textbook'",
			"locks/redlock.TestMachine",
		},
		{
			"an extension set the key again where it was gone: one that a cut delayed brought back the key of a hold that was over, and blocked the lock for a TTL",
			"cut off all instances as a hold is extended, release it, heal",
			"locks/redlock.TestALateExtensionBringsNoKeyBack",
		},
		{
			"with wake=publish the release script was refused the queue or the message after it had deleted the key: it was repeated, and said not held",
			"ACL SETUSER with resetchannels at all instances, Acquire and Release as that user",
			"locks/redlock.TestAUserWithoutTheQueue",
		},
	},

	"redis and redsync": {
		{
			"redis:pubsub asked for a key without an end without a pause: 100,000 messages in 2 s",
			"SET lock:r x, and Acquire of redis:pubsub",
			"locks/redis.TestAKeyWithoutAnEndIsNotPolled",
		},
		{
			"redis:pubsub said not held of what it had just deleted, as its user may not publish",
			"ACL SETUSER with resetchannels, Acquire and Release of redis:pubsub as that user",
			"locks/redis.TestAUserWithoutChannels",
		},
		{
			"what a server refused, such as WAIT, a password or a command, was told as a server that does not answer",
			"ACL SETUSER default -wait, and Acquire of redis:replica,wait=1",
			"locks/redis.TestARefusalIsNamed",
		},
	},

	"raft": {
		{
			wrong: "a session that was renewed while the leader's watcher waited for the mutex lost its lease early",
			shows: "read the clock, let a renewal be applied much later, look at the sessions with the time that was read",
			test:  "nodes/raftnode.TestASessionRenewedWhileItsWatcherWaitedKeepsAFullLease",
		},
		{
			wrong: "a new raft service never elected a leader: a server stood for election before the others had asked whether the service is new",
			shows: "locklab run --workload mutex --locks raft --scenarios holder-kill on a busy machine, 1 of 40: no grant at all",
			test:  "nodes/raftnode.TestAServiceIsFoundedOnce",
		},
		{
			"a raft server that had lost its data founded the service again, with one that was cut off since its first boot: two held, and tokens went back",
			"cut raft-3 off, let clients acquire, cut raft-1 off, restart raft-2 with an empty directory and let it reach raft-3",
			"nodes/raftnode.TestAServiceIsFoundedOnce",
		},
		{
			"a release of raft without a deadline did not return during an outage",
			"stop all servers, Release with context.Background()",
			"nodes/raftnode.TestAReleaseEndsWithItsLease",
		},
		{
			"a release of raft that was committed said that it was not held, when its answer was lost",
			"lose the answer, and let the session expire before the client is back",
			"nodes/raftnode.TestAReleaseThatWasDoneWasNotTooLate",
		},
	},

	"verdicts: what is not judged, and runs that can't decide": {
		{
			"a lock that expect misspells was as expected", "a scenario file with `expect: [{when: {lock: redlok}, safety: safe}]`, run with redlock",
			"cmd/locklab.TestUnknownLockInExpect",
		},
		{
			"check judged every history as if safety were expected", "locklab check on the history of a control, or of a lock that had to be live and was down",
			"cmd/locklab.TestCheckJudgesAsTheReport",
		},
		{
			"all workers or both masters dead, or one stopped for 1.5 s, was expected or violated", "locklab run --locks redlock --scenarios baseline, and kill -KILL, or -STOP and -CONT, by hand",
			"cmd/locklab.TestE2EUnasked",
		},
		{
			"nobody knew of a node that somebody stopped by hand", "kill -STOP of a node's process",
			"nodes/agent.TestStateIsTheKernelsWord",
		},
		{
			"conform and the conformance suite passed locks that number claims when they ask: no client ever queued while they looked at tokens",
			"locklab conform PROGRAM, of one that draws the token before it has the lock",
			"locks/locktest.TestBrokenLocksFail",
		},
		{
			"a lock program passed faults that hit its master alone: a clock that was set, a disk that was full, data that was lost",
			"locklab run --workload mutex --lock-cmd mine=PROGRAM --scenarios client-clock, of one whose leases end by the client's wall clock",
			"cmd/locklab/internal/lab.TestFaultsReachLockPrograms",
		},
		{
			"a lock program that had begun a session of its own ran on while its master stood still",
			"locklab run --lock-cmd mine=PROGRAM --scenarios holder-pause, of one that calls setsid",
			"cmd/locklab.TestE2EAPauseReachesTheProgram",
		},
		{
			"a threshold that a run crossed which decides nothing was evidence of claims, and stood in grids, answers and comparisons as a violation",
			"locklab run --suite FILE --fail-on 'overlaps>0' on a machine that is busy",
			"cmd/locklab/internal/suite.TestDecide",
		},
	},

	"verdicts: violations": {
		{
			"nothing on record said that a release had been sent",
			"kill a process of the mutex workload while its release is under way",
			"workloads/mutex.TestAReleaseIsOnRecordBeforeItIsSent",
		},
		{
			"a fault that came so late that little was left of it was proven",
			"locklab run on a machine that takes a second to stop a process",
			"chaos.TestFaults",
		},
		{
			"a fault past the end of the run was cut to fit, and one of 35% to 0.2 s",
			"locklab run --duration 2s --scenarios FILE, with at: 5s; or at: 90%, for: 35%",
			"chaos/scenario.TestFaultsMustFitIntoTheRun",
		},
		{
			"multiphase was convicted of a zone failure: its links were cut a moment before its master was killed",
			"locklab run --locks multiphase --scenarios zone-failure, beside four busy loops",
			"chaos.TestFaults",
		},
	},

	"verdicts: what does not come back, and what waits": {
		{
			"a lock that nobody got any more after the fault was as expected, and one that nobody ever got was undecided",
			"locklab run --lock-cmd of SET NX without an expiry --scenarios holder-kill,link-flap",
			"cmd/locklab.TestE2EALockThatStaysTaken",
		},
		{
			"runs ended before a lock that does not come back could be seen",
			"locklab run --scenarios holder-kill: the fault is healed 1.6 s before the end",
			"cmd/locklab/internal/lab.TestRunsLastUntilFaultsHaveSettled",
		},
	},
	"busy machines": {
		{
			"a machine on which nothing got a CPU judged its locks: 24 masters on two cores were as expected at 8 grants a second, and right locks violated beside four busy loops",
			"for i in $(seq 32); do (while :; do :; done) & done; locklab run --workload mutex --locks multiphase --scenarios baseline --duration 1s",
			"cmd/locklab.TestE2EBusyMachineJudgesNothing",
		},
		{
			"a node that was not stopped within 15 s, or not ready, ended the whole comparison with exit code 1",
			"locklab run beside so much load that a stop takes longer than 15 s",
			"cmd/locklab.TestE2ESlowStopEndsOneRun",
		},
	},

	"faults and their proofs": {
		{
			"a resume or a restart that did nothing counted as ended, and a pause that somebody else ended as in force",
			"locklab run --locks redlock --scenarios holder-pause, and kill -CONT of the paused master",
			"chaos.TestFaults",
		},
		{
			"a cut or a latency that reached only the links of the probes was proven, whatever passed on the workload's connections",
			"locklab run --locks redlock --scenarios zone-partition, with impairments that skip the links of nodes",
			"chaos.TestFaults",
		},
		{
			"a latency that was not there was proven on a machine that got busier: medians were compared with quick quarters",
			"locklab run --locks redlock --scenarios FILE, of a latency that the links do not apply, beside builds",
			"chaos.TestFaults",
		},
		{
			"a latency of 1 ns and a partition of 1 ns or of the last 19 ms of a run were proven",
			"locklab run --scenarios FILE, with delay: 1ns, for: 1ns, or at: 99%, for: 1%",
			"chaos/scenario.TestFaultsMustFitIntoTheRun",
		},
		{
			"toxiproxy's own toxics ended the lab by their values: a slicer without a size, a negative rate, times and jitter beyond reason",
			"locklab run --toxiproxy-api 127.0.0.1:8474, and POST a slicer of average_size 0 to /proxies/NAME/toxics",
			"chaos/toxic.TestForeign",
		},
		{
			"a latency both ways was proven by one way alone, and a flaky link by one late probe of one pair of ten",
			"a scenario with fault: flaky between: [zones], on a busy machine",
			"chaos/fault.TestEveryOrderedPairIsProven",
		},
		{
			"bytes of the workload that passed as if there were no flaky link, or no jitter, contradicted nothing",
			"a scenario with fault: flaky whose links carry the workload's bytes unharmed",
			"chaos/link.TestDataLinksSayWhatPassed",
		},
		{
			"four of toxiproxy's toxics ended the lab by SIGABRT: timeout when it expires or is removed, reset_peer, limit_data, and a new connection under reset_peer",
			"locklab run --toxiproxy-api 127.0.0.1:8474, and POST a timeout of 200 to /proxies/NAME/toxics",
			"chaos/link/reference.TestLinksDoAsToxiproxyDoes",
		},
	},

	"agents, files and processes": {
		{
			"an error bound of 2^63-1 overflowed and made a violation of a doubt; a history of another version was judged",
			`locklab check H, with "err_ns":9223372036854775807 in an event of H`,
			"workloads/history.TestFiguresThatCannotBeCountedWith",
		},
		{
			"with few file descriptors a run hung and said nothing",
			"ulimit -n 64; locklab run",
			"cmd/locklab.TestE2EFewFiles",
		},
		{
			"the agents of a local run obeyed whoever was on the machine, and its masters did",
			"curl -X POST 127.0.0.1:PORT/v1/reset, during locklab run",
			"cmd/locklab.TestE2EStrangersControlNothing",
		},
		{
			"whoever was on the machine could order rooms at a worker, and the oracle counted them as the lock's duplicates",
			`curl -d '{"group":"g-1","order":"x","by":"master-a"}' 127.0.0.1:PORT/v1/rooms, during locklab run`,
			"nodes/worker.TestOnlyTheRunOrders",
		},
		{
			"a web page that had its own name lead to an agent could read nodes, logs and events",
			"curl -H 'Host: evil.example' 127.0.0.1:7500/v1/nodes",
			"internal/httpapi.TestWhoIsLetIn",
		},
		{
			"whoever read an agent's events took them from the controller",
			"curl 127.0.0.1:7500/v1/events?from=1000000, during a run",
			"nodes/agent.TestReadersTakeNothing",
		},
		{
			"postgres called an acquisition unknown of which only the prepare, or the making of the row, had failed",
			"cut the connection as the statement is sent to be prepared",
			"locks/pglock.TestWhatWasNotAskedIsNotUnknown",
		},
	},

	"locks on PostgreSQL, ZooKeeper and etcd": {
		{
			"users with schemas of their own did not exclude each other, nor did users with different encodings of names: both held", "ALTER ROLE one SET client_encoding = 'LATIN1', CREATE SCHEMA AUTHORIZATION one, and a name with a letter beyond ASCII",
			"locks/pglock.TestUsersExcludeEachOther",
		},
		{
			"a server or user with synchronous_commit=off forgot grants in a crash: two held, and tokens went back", "postgres -c synchronous_commit=off, and a crash",
			"locks/pglock.TestCommitsThatAreAnsweredEarly",
		},
		{
			"a holder whose session the server had ended, and that was told, noticed up to half a second later", "SELECT pg_terminate_backend(PID) of the holder",
			"locks/pglock.TestASessionThatTheServerEnds",
		},
		{
			"a grant that was read after a pause was believed, though its session was over: another client held", "kill -STOP while a claim is answered, the end of its session, kill -CONT",
			"locks/pglock.TestGrantedTooLate",
		},
	},

	"what newcomers found": {
		{
			"a release said that a key was not held which it had just deleted, as an extension under way made it delete again", "locklab run --workload fenced-write --fencing off --locks redis:ttl=1s --hold 1s --clients 2 --scenarios baseline --duration 6s --seed 41",
			"locks/redlock.TestMachine",
		},
		{
			"a release said so after a deletion whose answer was lost", "a connection that breaks under a release",
			"locks/redlock.TestALostAnswerIsNoLoss",
		},
		{
			"lamport:detect=on was violated, as it went on where lamport stops", "locklab run --locks lamport:detect=on --scenarios zone-failure",
			"cmd/locklab/internal/lab.TestExpectations",
		},
		{
			"who waited when a run was interrupted counted as failed", "Ctrl-C under locklab run --workload handoff --locks multiphase:cohort --scenarios herd",
			"workloads/mutex.TestWhoWaitsWhenTheRunIsInterruptedIsCalledOff",
		},
		{
			"a fault had ended of which servers stayed away to the end of the run, and the lock had not recovered from it", "locklab run --locks redlock,raft --scenarios zone-failure --duration 4s --seed 301",
			"chaos.TestFaults",
		},
		{
			"raft's servers with full disks went on where they followed, and a leader with space asked them again up to ten seconds after they had some", "locklab run --locks raft --scenarios full-disk --repeat 6 --duration 10s --seed 9111, where raft-c leads",
			"nodes/raftnode.TestAFollowerWithAFullDiskEnds",
		},
	},
}

// TestRegressionsAreTested checks that every row above names a test that exists.
func TestRegressionsAreTested(t *testing.T) {
	for subject, rows := range regressions {
		for _, r := range rows {
			folder, name, _ := strings.Cut(r.test, ".")
			files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(files, func(file string) bool {
				return bytes.Contains(testfile.Read(t, file), []byte("\nfunc "+name+"(t *testing.T)"))
			}) {
				t.Errorf("%s: %q: no test %s in %s", subject, r.wrong, name, folder)
			}
		}
	}
}
