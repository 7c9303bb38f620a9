// Package hostload measures what the CPUs of a machine do, how long the lab's processes
// there wait for one, and how long a write takes to be safe on its disk: a verdict about
// a lock needs a machine that lets the lock run.
//
//	/proc/stat, cgroup cpu.stat ────────────┐
//	/proc/PID/task/*/schedstat ─────────────┼──▶ Sampler.Sample ──▶ history.KindMachine
//	a timer that goes off every 10 ms ──────┤
//	a page written and synced every 250 ms ─┘
//	/proc/PID/stat of a node and its descendants ──▶ UsageOf ──▶ history.KindUsage
//
// The share of time in which CPUs are busy does not tell whether anybody waits: a
// machine can be full of work of low priority that gives way. So the kernel is asked
// how long each thread of the lab's processes was ready to run and did not, and a timer
// measures how late it wakes one. What a system does not tell is absent; outside
// of Linux that is all but the late timer.
package hostload
