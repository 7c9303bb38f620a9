package check

import "locklab/workloads/history"

// Capacity is how many grants a full load of clients got, over all repeats.
type Capacity struct {
	Grants, OverNS int64
	CPUNS          int64 // CPU time of all nodes meanwhile; 0 if nobody looked
}

// PerS is the grants per second; false if none were measured.
func (c Capacity) PerS() (float64, bool) {
	return ratio(float64(c.Grants)*1e9, float64(c.OverNS)), c.OverNS > 0
}

// CPUPerGrantNS is the CPU time of all nodes for one grant; false if that is not known.
func (c Capacity) CPUPerGrantNS() (float64, bool) {
	return ratio(float64(c.CPUNS), float64(c.Grants)), c.CPUNS > 0 && c.Grants > 0
}

// measureCapacity takes the CPU time from the samples during which the load was on all the time.
func (c *Checker) measureCapacity(f *Findings) {
	for _, e := range c.capacities {
		into := &f.Own
		if e.State == history.CapacityOne {
			into = &f.One
		}
		over := e.AtNS - e.SentNS
		into.Grants += int64(e.Count) //nolint:gosec // validated
		into.OverNS += over
		ran, looked := map[int32]int64{}, map[int32]int64{}
		for _, u := range c.usage {
			if u.CPUNS != nil && u.from >= e.FromNS && u.to <= e.AtNS {
				ran[u.node] += *u.CPUNS
				looked[u.node] += u.to - u.from
			}
		}
		for node, ns := range ran {
			into.CPUNS += int64(float64(ns) / float64(looked[node]) * float64(over))
		}
	}
}
