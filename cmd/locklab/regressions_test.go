package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
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
			"explore said safe, or undecided, without saying of what",
			"locklab explore multiphase:quorum --peers 5 --states-max 5000",
			"cmd/locklab.TestExploreCommand",
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
		{
			"the same, of a core whose votes do not survive the connection",
			"break that rule and simulate the core under pause",
			"locks/multiphase/quorum.TestPausesDoNotExcuse",
		},
	},

	"shell and mesh of peer-to-peer locks": {
		{
			"a pause longer than the lease killed a peer of multiphase:quorum: leases that ran out were ended over a connection that was lost",
			"kill -STOP, 3.5 s, kill -CONT for a master that holds 50 locks",
			"locks/multiphase.TestPausedHolder",
		},
		{
			"the same, without processes: a lease that ends late, together with a connection",
			"go test ./locks/peerlock -run TestLeaseEndsLateWithTheLink",
			"locks/peerlock.TestLeaseEndsLateWithTheLink",
		},
		{
			"a peer that was asked for more names than its limit, or whose queue was full, ended the connection: both sides thought that they were alone and both acquired",
			"two masters with Config.Resources 16, or Limits.Queue 512, and callers of many names",
			"locks/multiphase.TestLimitsSplitNothing",
		},
		{
			"a connection was given up because a queue was full, though the peer read",
			"go test ./locks/peerlock/mesh -run TestFullQueueKeepsTheLink",
			"locks/peerlock/mesh.TestFullQueueKeepsTheLink",
		},
		{
			"tokens of multiphase:quorum went back to 1 when most peers had lost their memory, and a fenced resource then refused everybody",
			"locklab sim multiphase:quorum --seeds 10000 --faults crash",
			"cmd/locklab.TestSimTokensOutliveCrashes",
		},
		{
			"an idle mesh filled the machine: a heartbeat every 50 ms for each pair, and a wake-up of its reader for each",
			"locklab run --topology FILE-WITH-32-MASTERS --locks multiphase --scenarios baseline --workload mutex --rate 1",
			"locks/peerlock/mesh.TestIdlePeersHardlyWork",
		},
		{
			"heartbeats were sent over connections that carried something anyway",
			"go test ./locks/peerlock/mesh -run TestHeartbeatsOnlyWhereNothingElseIsSaid",
			"locks/peerlock/mesh.TestHeartbeatsOnlyWhereNothingElseIsSaid",
		},
		{
			"probes went round ten times a second on every pair of hosts, and two hundred times after a start, although nobody looked: a run with 32 masters did not get past its start",
			"the same run",
			"chaos/link.TestProbesThatNobodyLooksAtAreRare",
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
			"nobody could help peers that can't recover because too many others are gone for good",
			"two of three peers with Options.Quorum.Rules.Unaided off",
			"locks/multiphase.TestWayOut",
		},
		{
			"tokens of multiphase:quorum went back after its state file had been written anew and the peer was started again: of the sixteen numbers that forgotten names start above, one was read",
			"a peer on disk that has seen more names than it remembers, until the file shrinks, and another process of it",
			"locks/peerlock.TestTokensGrowAfterCompaction",
		},
		{
			"a peer of multiphase:quorum that was started twice with one state file let two hold: the second process gave the first one's own vote anew",
			"two processes of one peer with the same Config.StateFile",
			"locks/multiphase.TestOneProcessForAFile",
		},
		{
			"after a power cut that kept a later page of the last frame, and not its first, a peer of multiphase:quorum refused its state file as damaged",
			"zeros in place of the first page of the last frame of a state file",
			"locks/peerlock/journal.TestTornBegin",
		},
	},

	"redlock": {
		{
			"order=sequential stopped asking at a quorum: one instance of the three that lost its memory let a second client in",
			"two clients of redlock:order=sequential,extend=off; the first acquires; FLUSHALL at the first instance",
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
			"a client of redlock:wake=publish,extend=off that is stopped between grant and return for longer than ttl",
			"locks/redlock.TestLostBeforeItIsReturned",
		},
		{
			"with its home instance down, the queue of every released resource was kept for ever",
			"redlock:wake=publish with a minority of the instances down, and many resources",
			"locks/redlock.TestNothingIsKeptWithoutHome",
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
			"the same, in every interleaving",
			"have the instances of the exploration set the key again",
			"locks/redlock.TestAnExtensionMustNotSetTheKeyAgain",
		},
		{
			"with wake=publish the release script was refused the queue or the message after it had deleted the key: it was repeated, and said not held",
			"ACL SETUSER with resetchannels at all instances, Acquire and Release as that user",
			"locks/redlock.TestAUserWithoutTheQueue",
		},
		{
			"a lease of 292 years was over at once, as its end overflowed",
			"locklab run --locks redlock:ttl=2562047h",
			"locks/redlock.TestParseOptions",
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
			wrong: "a server that closed while its disk was slow left out an entry and applied the next one",
			shows: "close a leader with two entries pending, of which the disk takes both after the first was refused",
			test:  "nodes/raftnode.TestAServerThatClosesAppliesNothingAfterAnEntryThatItLeftOut",
		},
		{
			wrong: "a session that was renewed while the leader's watcher waited for the mutex lost its lease early",
			shows: "read the clock, let a renewal be applied much later, look at the sessions with the time that was read",
			test:  "nodes/raftnode.TestASessionRenewedWhileItsWatcherWaitedKeepsAFullLease",
		},
		{
			wrong: "a raft server that could not read its log when it started ended in a panic",
			shows: "stop and start followers whose log was cut, some 20 times",
			test:  "nodes/raftnode.TestALogThatCannotBeReadIsAnError",
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
			"a raft server that had lost its data voted before it had again what it had acknowledged in the leader's term",
			"every order of elections, appends and one loss among three servers, with two entries",
			"nodes/raftnode.TestAServerThatForgotHarmsNothing",
		},
		{
			"of five raft servers one that had lost its data did not ask the candidate that it had voted for, and helped the leader before to commit",
			"lose the data after a vote, and hear from the three that do not know of the election",
			"nodes/raftnode.TestFiveServersNeedEveryAnswerTwice",
		},
		{
			"every acquisition of raft that timed out during an outage kept 184 bytes",
			"stop all servers, Acquire with short deadlines, look at the heap",
			"nodes/raftnode.TestWaitsThatNeverLeftLeaveNothing",
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
			"conform passed a program whose grants were all lost",
			"locklab conform PROGRAM",
			"locks/program.TestBrokenClientsAreRejected",
		},
		{
			"conform and the conformance suite passed locks that number claims when they ask: no client ever queued while they looked at tokens",
			"locklab conform PROGRAM, of one that draws the token before it has the lock",
			"locks/locktest.TestBrokenLocksFail",
		},
		{
			"the first hello named no client, and no list of servers: conform blamed five rules on a program that read them and died",
			"locklab conform PROGRAM, of one that reads client of hello",
			"locks/program.TestTheFirstHelloIsWhole",
		},
		{
			"conform went on to judge a program that had died, and did not show what it wrote",
			"locklab conform PROGRAM, of one that ends with an error at its first acquisition",
			"locks/program.TestADeathIsToldAndNothingElse",
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
			"the same in masters",
			"kill a master while its release is under way",
			"nodes/master.TestAReleaseIsOnRecordBeforeItIsSent",
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
		{
			"a zone that is not there was found out while the run was under way",
			"locklab run --scenarios FILE, with target: zone:q",
			"cmd/locklab/internal/lab.TestScenariosAreCheckedBeforeTheStart",
		},
	},

	"verdicts: what does not come back, and what waits": {
		{
			"a lock that nobody got any more after the fault was as expected, and one that nobody ever got was undecided",
			"locklab run --lock-cmd of SET NX without an expiry --scenarios holder-kill,link-flap",
			"cmd/locklab.TestE2EALockThatStaysTaken",
		},
		{
			"a control was dead after its scenario: a clock half a minute ahead wrote times of expiry that blocked the lock for as long",
			"locklab run --workload mutex --locks redis:setnx-getset --scenarios client-clock",
			"cmd/locklab.TestE2EAWrongClockLeavesNothing",
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
			"an agent said paused of a process that somebody else had let go on, and ready of one that stood still",
			"GET /v1/nodes of an agent after kill -CONT of a paused node",
			"nodes/agent.TestStateIsTheKernelsWord",
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
			"a topology that expect misspells, liveness: [], 0x1p-3%, and a cut between a zone and itself were taken; lose_data: [raft] too, of which nothing can be expected",
			"locklab run --scenarios FILE, with one of these",
			"cmd/locklab/internal/lab.TestScenariosAreCheckedBeforeTheStart",
		},
		{
			"a file with the name of a built-in scenario was run in its place, and reported as if it were that",
			"locklab run --scenarios FILE, with name: zone-partition",
			"chaos/scenario.TestLoadFile",
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
		{
			"clients of toxiproxy were refused what they know: a bandwidth of 0, a toxicity of 0, a proxy that is disabled; and answers lacked defaults",
			"toxiproxy-cli toggle master-a:redis-a-1:redis",
			"chaos/link/reference.TestLinksDoAsToxiproxyDoes",
		},
	},

	"agents, files and processes": {
		{
			"a tag without a value in a topology ended the program with a panic, of the YAML library",
			"locklab run --topology F, with F: name: x, hosts: !x",
			"cmd/locklab.TestE2EBadInput",
		},
		{
			"300 kB of opening brackets took 14 GB and ended with exit code 2, which means violated",
			"locklab run --topology F, with F: 300,000 times [",
			"internal/strictyaml.TestDepthIsBounded",
		},
		{
			"a crash, and SIGQUIT, ended with exit code 2, which means violated",
			"kill -QUIT the pid of locklab agent",
			"cmd/locklab.TestCrashIsNoVerdict",
		},
		{
			"an error bound of 2^63-1 overflowed and made a violation of a doubt; a history of another version was judged",
			`locklab check H, with "err_ns":9223372036854775807 in an event of H`,
			"workloads/history.TestFiguresThatCannotBeCountedWith",
		},
		{
			"a long history was read to its end in spite of SIGINT, and its verdict was the exit code",
			"locklab check H, with H of 1.9 GB, and Ctrl-C",
			"cmd/locklab.TestE2ECheckIsInterrupted",
		},
		{
			"a pipe in place of a file was waited for, in spite of all signals",
			"mkfifo D/result.json; locklab report D",
			"cmd/locklab.TestE2EPipesAreRefused",
		},
		{
			"an agent whose token file was a pipe waited for it in spite of all signals",
			"mkfifo token; locklab agent --host a --token-file token",
			"cmd/locklab.TestNoTokenFile",
		},
		{
			"a data directory that was killed before it had an owner stayed for ever",
			"mkdir -m 700 /tmp/locklab-x; touch -d yesterday /tmp/locklab-x; locklab run; ls /tmp",
			"cmd/locklab/internal/scratch.TestWhatNeverHadAnOwnerIsRemoved",
		},
		{
			"a run that got SIGKILL left up to 65 MB in the temporary directory, for ever",
			"kill -9 the pid of locklab run; ls /tmp",
			"cmd/locklab/internal/scratch.TestWhatNobodyOwnsIsRemoved",
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
			"requests without the token kept an agent from its idle reset",
			"curl 127.0.0.1:7500/v1/health, every second, when the controller is dead",
			"nodes/agent.TestOnlyAControllerKeepsNodes",
		},
		{
			"--resume put rows of files that were changed since beside those of before",
			"locklab run --suite FILE, Ctrl-C, change a scenario of it, locklab run --resume DIR",
			"cmd/locklab.TestResumeWantsTheFilesOfThen",
		},
		{
			"Close of a client of postgres that was cut off took up to 15 s, for as long as pgx asks a server to forget a statement",
			"a client whose link carries nothing, with calls that gave up, and Close",
			"locks/pglock.TestCloseOfAClientThatIsCutOff",
		},
		{
			"postgres called an acquisition unknown of which only the prepare, or the making of the row, had failed",
			"cut the connection as the statement is sent to be prepared",
			"locks/pglock.TestWhatWasNotAskedIsNotUnknown",
		},
	},

	"reports": {
		{
			wrong: "a comparison that was killed left no result.json, so nothing could be reported, and the nodes' logs were deleted",
			shows: "locklab run, SIGKILL in the second run, locklab report DIR",
			test:  "cmd/locklab.TestE2EKilled",
		},
		{
			wrong: "a start that failed left an empty directory in reports/runs",
			shows: "locklab run --agents http://127.0.0.1:1",
			test:  "cmd/locklab.TestE2EFailedStartLeavesNothing",
		},
		{
			wrong: "what a node wrote before it died was deleted with its run",
			shows: "kill a node of a run by hand, then look for its last lines in the report",
			test:  "nodes/agent.TestANodeThatEndsByItselfIsNoticed",
		},
	},

	"inputs from elsewhere": {
		{
			"a blank after a comma was part of a scenario's name", "locklab run --locks 'none, local' --scenarios 'baseline, zone-latency'",
			"cmd/locklab.TestBlanksAfterCommas",
		},
		{
			"a file that began with %YAML 1.2 was incompatible, and expect: without a value an error", "locklab run --topology FILE",
			"internal/strictyaml.TestReadsWhatOthersWrite",
		},
		{
			"built-in scenarios wanted a zone that is called a", "locklab run --topology FILE --scenarios zone-partition",
			"cmd/locklab/internal/lab.TestBuiltinScenariosFit",
		},
		{
			"masters gave requests up in the time that is right in one region, wherever they were", "locklab run --topology aws-regions --scenarios baseline --rate 4",
			"nodes/master.TestSettings",
		},
		{
			"bytes to a near host took no base delay while bytes to a farther one waited for theirs, and sea-cable was not proven",
			"locklab run --topology aws-regions --scenarios sea-cable --rate 4", "chaos/link.TestNearHostsAreNotEarly",
		},
		{
			"etcd's members and clients, and clients of PostgreSQL, had the limits of one region: unknown answers, and none for the farthest zone",
			"locklab run --topology aws-regions --scenarios baseline --rate 4 --locks etcd,postgres", "cmd/locklab/internal/catalog.TestLimitsOfLocksFollowTheRoundTrips",
		},
		{
			"list told of built-in topologies, scenarios and suites only", "locklab list topologies FILE",
			"cmd/locklab.TestListFile",
		},
		{
			"the program did not compile for Windows, where result files are read too; there two processes could open one journal",
			"GOOS=windows go vet ./...; on Windows: locklab run",
			"cmd/locklab.TestOnWindows",
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
			"every acquisition failed behind PgBouncer, and waits that ended made PgBouncer 1.18 end itself", "postgres:lease through PgBouncer with its defaults",
			"locks/pglock.TestBehindPgBouncer",
		},
		{
			"a holder whose session the server had ended, and that was told, noticed up to half a second later", "SELECT pg_terminate_backend(PID) of the holder",
			"locks/pglock.TestASessionThatTheServerEnds",
		},
		{
			"a grant that was read after a pause was believed, though its session was over: another client held", "kill -STOP while a claim is answered, the end of its session, kill -CONT",
			"locks/pglock.TestGrantedTooLate",
		},
		{
			"a user that lacked a right on the tables retried to the end of its time, and was told of that", "REVOKE CREATE ON SCHEMA public FROM PUBLIC, and postgres as another user",
			"locks/pglock.TestAUserWithoutRights",
		},
	},

	"benchmarks": {
		{
			"make bench did not say that redlock's one-key rows measured wake-ups and a local queue, nor that etcd's Mutex hands over on a timer, and had no row against redsync with 1 ms delay or a mutex without the timer",
			"make bench",
			"cmd/bench.TestRowsSayWhatTheyCompare",
		},
		{
			"redsync's pause of 1 ms was fixed where that of redlock, beside it, is drawn",
			"make bench",
			"cmd/bench.TestRowsSayWhatTheyCompare",
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
			"explore said safe within bounds of which those of leases were missing, on its page and in JSON", "locklab explore multiphase:quorum --peers 2 --rounds 1 --expiries 1 --page a.html --json",
			"cmd/locklab.TestBoundsAreRepeated",
		},
		{
			"sim said that tokens were forgotten where none was", "locklab sim multiphase:quorum --seeds 300 --faults partition,crash,pause,slow",
			"cmd/locklab.TestHarmlessIsWhatWasFound",
		},
		{
			"sim --fairness acquitted locks by runs that --max-events had ended", "locklab sim multiphase --fairness --max-events 200 --seeds 5",
			"cmd/locklab.TestFairnessSaysHowFarItWent",
		},
		{
			"a sweep left out in what the others need more", "locklab sim multiphase --sweep peers=2..20 --against lamport",
			"cmd/locklab.TestCrossingsSayWhatIsWorse",
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
			"redlock with a restart_delay was judged by that, and multiphase:quorum as if it had no lease", "locklab run --quick --workload mutex --locks redlock:restart_delay=100ms,multiphase:quorum --scenarios session-expired",
			"cmd/locklab/internal/catalog.TestLeases",
		},
		{
			"a sweep's medians were of the rank above, so that the sentences about them named other numbers of peers", "locklab sim multiphase:quorum --sweep peers=2..60",
			"verify/sim.TestHist",
		},
		{
			"a fault had ended of which servers stayed away to the end of the run, and the lock had not recovered from it", "locklab run --locks redlock,raft --scenarios zone-failure --duration 4s --seed 301",
			"chaos.TestFaults",
		},
		{
			"the plots of latency drew nothing where a tenth of a second was served between two in which nothing was, and looked as if nobody had been", "locklab run --locks redis:release=naive --scenarios late-release --workload fenced-write --duration 6s --seed 14, latency over time",
			"reports/plots.TestLoneBinIsSeen",
		},
		{
			"multiphase:quorum was not as expected under slow-disk-peers at the run's own load, where locks with servers may be down for the same reason", "locklab run --locks multiphase:quorum --scenarios slow-disk-peers --seed 17",
			"cmd/locklab/internal/lab.TestExpectations",
		},
		{
			"raft's servers with full disks went on where they followed, and a leader with space asked them again up to ten seconds after they had some", "locklab run --locks raft --scenarios full-disk --repeat 6 --duration 10s --seed 9111, where raft-c leads",
			"nodes/raftnode.TestAFollowerWithAFullDiskEnds",
		},
		{
			"the live page spoke of two zones, and of rooms, whatever was run", "locklab run --topology one-host --workload mutex --locks local --scenarios baseline --ui 127.0.0.1:7789",
			"reports/live.TestPageSaysWhatIsRun",
		},
		{
			"what a sweep said of times was chance: another seed said the opposite", "locklab sim multiphase --sweep peers=500..1000 --against ricart-agrawala,multiphase:quorum --seed 1, and --seed 2",
			"cmd/locklab.TestChanceIsNoCrossing",
		},
		{
			"the live page missed duplicates where it judged no room for as long as a judgement takes to settle", "locklab run --ui 127.0.0.1:7789 --locks none --scenarios zone-partition on a machine that does much else",
			"reports/live.TestRoomsAreJudgedHoweverLate",
		},
		{
			"the highest label of a sweep's times lost its first digit: 100000k", "locklab sim multiphase --sweep peers=2..20 --against 2pc --seed 5",
			"reports/plots.TestAxisLabelsStayNarrow",
		},
	},

	"the lab on AWS": {
		{
			"the deployer's policy lacked route53:AssociateVPCWithHostedZone and the kms actions of an account's own key: the apply stopped halfway",
			"make -C terraform apply with exactly deployer-policy.json",
			"terraform.TestDeployerPolicy",
		},
		{
			"expired credentials ended make destroy with advice that deletes the reports, and make run after 22 s with make attach",
			"make -C terraform destroy with AWS_PROFILE of a session that is over",
			"terraform.TestCredentials",
		},
		{
			"after an apply in which one instance failed, make run began a run that ended in a 403 in a log",
			"make -C terraform run after InsufficientInstanceCapacity for redis-a-1",
			"terraform.TestMakeSaysWhatToDo",
		},
		{
			"ARCH=amd64 built for arm64; apply -replace outside make lost the commit and the architecture",
			"make -C terraform build ARCH=amd64; make -C terraform apply REPLACE='aws_instance.lab[\"driver\"]'",
			"terraform.TestWhatMakePasses",
		},
		{
			"a lab whose state was lost had no way to be removed but by hand",
			"terraform/scripts/lost ap-northeast-2 locklab",
			"terraform.TestLostLab",
		},
		{
			"scripts/lost tried each call for five minutes with a session that was over",
			"terraform/scripts/lost ap-northeast-2 locklab delete with an ExpiredToken",
			"terraform.TestLostLab",
		},
		{
			"the recipe for CI left the lab standing under bash -e, after a comparison that ended with an error",
			"bash -e with the commands under Unattended of terraform/README.md",
			"terraform.TestUnattended",
		},
		{
			"make destroy stopped the comparison that ran, and asked then",
			"make -C terraform destroy, and answer no",
			"terraform.TestDestroy",
		},
		{
			"without the AWS CLI make named the credentials, and the profile default where there was none",
			"make -C terraform run where aws is not installed",
			"terraform.TestCredentials",
		},
		{
			"make apply replaced nothing, and succeeded, by an address that the state does not have",
			"make -C terraform apply REPLACE='aws_instance.lab[\"nope\"]'",
			"terraform.TestWhatMakePasses",
		},
	},
}

// TestRegressionsAreTested checks that every row above names a test that exists.
func TestRegressionsAreTested(t *testing.T) {
	for subject, rows := range regressions {
		for _, r := range rows {
			folder, name, ok := strings.Cut(r.test, ".")
			if !ok || r.wrong == "" || r.shows == "" {
				t.Errorf("%s: row %+v: want what was wrong, what shows it, and FOLDER.TestName", subject, r)
				continue
			}
			if !declaresTest(t, filepath.Join("..", "..", folder), name) {
				t.Errorf("%s: %q: no test %s in %s", subject, r.wrong, name, folder)
			}
		}
	}
}

// declaresTest says whether a test file of the folder declares the function. In the files
// that only the end-to-end tests build, only what is called TestE2E... is ever run.
func declaresTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source := testfile.Read(t, file)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(source), "//go:build e2e\n") && !strings.HasPrefix(name, "TestE2E") {
			continue
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == name {
				return true
			}
		}
	}
	return false
}
