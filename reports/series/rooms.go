package series

import (
	"cmp"
	"slices"

	"locklab/workloads/history"
)

// duplicates are the moments when a room began to start while another one of its
// group was starting or had a free seat. A room ends when it is full or closed, or
// when its worker's process ends.
func duplicates(rooms, gone []history.Event) []int64 {
	events := slices.Concat(gone, rooms) // at the same moment the end of a process comes first
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.AtNS, b.AtNS) })
	type room struct{ group, worker string }
	joinable := map[string]room{}     // by room
	byGroup := map[string]int{}       // joinable rooms of the group
	onWorker := map[string][]string{} // rooms that the worker ever had since it started
	leave := func(id string) {
		if r, ok := joinable[id]; ok {
			delete(joinable, id)
			byGroup[r.group]--
		}
	}
	var out []int64
	for _, e := range events {
		worker := e.Worker
		if worker == "" {
			worker = e.Node
		}
		switch {
		case e.Kind == history.KindNode:
			for _, id := range onWorker[worker] {
				leave(id)
			}
			delete(onWorker, worker)
		case e.State == "starting", e.State == "open":
			if _, known := joinable[e.Room]; known {
				continue
			}
			if e.State == "starting" && byGroup[e.Resource] > 0 {
				out = append(out, e.AtNS)
			}
			joinable[e.Room] = room{e.Resource, worker}
			byGroup[e.Resource]++
			onWorker[worker] = append(onWorker[worker], e.Room)
		default: // full, closed
			leave(e.Room)
		}
	}
	return out
}
