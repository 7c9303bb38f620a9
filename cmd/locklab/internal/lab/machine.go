package lab

import (
	"context"
	"time"

	"locklab/locks/clock"
	"locklab/nodes/hostload"
	"locklab/workloads/history"
)

// MeasureEach is how often it is recorded what a machine does: often enough to find
// the busiest second, seldom enough to cost next to nothing.
const MeasureEach = 500 * time.Millisecond

// measure records what this machine does until done ends: with the nodes of all hosts
// that run in this process, which are its own. Agents elsewhere measure theirs.
func (f *fleet) measure(done context.Context, rec history.Recorder) {
	sampler := hostload.New(f.localPIDs(), f.data.Path)
	defer sampler.Close()
	for done.Err() == nil {
		_ = clock.Sleep(done, MeasureEach) // the last sample is that of the end
		rec.Record(sampler.Sample(f.localPIDs()))
	}
}

func (f *fleet) localPIDs() []int {
	var pids []int
	for _, m := range f.machines {
		if m.local != nil {
			pids = append(pids, m.local.agent.PIDs()...)
		}
	}
	return pids
}
