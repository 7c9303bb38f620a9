// Package hostload measures how busy a machine's CPUs are, how long the lab's processes wait
// for a CPU, and how long a synced write takes. A verdict about a lock needs a machine that
// was not overloaded.
//
//	/proc/stat, cgroup cpu.stat ────────────┐
//	/proc/PID/task/*/schedstat ─────────────┼──▶ Sampler.Sample ──▶ history.KindMachine
//	a timer that goes off every 10 ms ──────┤
//	a page written and synced every 250 ms ─┘
//	/proc/PID/stat of a node and its descendants ──▶ UsageOf ──▶ history.KindUsage
//
// Busy CPUs need not make the lab's processes wait: other work may have a low priority. So
// Sampler also reads from the kernel how long each thread of the lab's processes was ready
// but not running, and measures how late a timer fires. Figures that a system does not have
// are absent; outside Linux only the timer and the disk remain.
package hostload
