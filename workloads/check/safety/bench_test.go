package safety_test

import (
	"fmt"
	"testing"

	"locklab/workloads/check/liveness"
	"locklab/workloads/check/record"
	"locklab/workloads/check/safety"
	"locklab/workloads/history"
)

// BenchmarkMillion judges a million events of three kinds: the goal is 0.4 s for both packages.
func BenchmarkMillion(b *testing.B) {
	for name, r := range map[string]*record.Run{
		"one resource": million(1, 500_000), "many resources": million(100_000, 500_000), "rooms": million(20, 100_000),
		"none": overlapping(million(1, 500_000)),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				safety.Judge(r)
				liveness.Judge(r)
			}
		})
	}
}

func overlapping(r *record.Run) *record.Run {
	for i := range r.Acquires {
		r.Acquires[i].Until += 100 * ms
	}
	return r
}

// million has n holds, and if these are few, a room and three requests for each.
func million(resources, n int) *record.Run {
	r := &record.Run{Head: history.Run{Workload: history.Mutex}, Names: []string{""}}
	name := func(s string) record.Name {
		r.Names = append(r.Names, s)
		return record.Name(len(r.Names) - 1)
	}
	masters, worker := []record.Name{name("m1"), name("m2"), name("m3")}, name("w1")
	for i := range resources {
		resource := name(fmt.Sprint("r", i))
		for k := range n / resources {
			at := int64(k*resources+i+100) * ms
			client := (k*resources + i) % 24
			r.Acquires = append(r.Acquires, record.Acquire{
				Op:    record.Op{From: at - 40*ms, Sent: at - 40*ms, At: at, Node: masters[client%3], Resource: resource, Count: 1},
				Until: at + ms/2, Stopped: at + ms/2, Answered: at + ms/2 + 1000, Lost: record.Never, Killed: record.Never,
				Hold: name(fmt.Sprint("h", at)), Token: uint64(at),
			})
			if n > 100_000 {
				continue
			}
			order, room := name(fmt.Sprint("o", at)), name(fmt.Sprint("w1-", at))
			for range 3 {
				r.Requests = append(r.Requests, record.Request{Op: record.Op{From: at - 40*ms, At: at, Count: 1}})
			}
			r.Orders = append(r.Orders, record.Order{From: at, At: at + ms/2, ID: order, Room: room, Resource: resource, Worker: worker})
			for s := range record.RoomClosed + 1 {
				r.Rooms = append(r.Rooms, record.RoomEvent{At: at + int64(s)*ms/10, Room: room, Order: order, Worker: worker, Resource: resource, State: s})
			}
		}
	}
	r.Drain = int64(n+1000) * ms
	r.End = r.Drain
	return r
}
