package judge_test

import (
	"testing"

	"locklab/workloads/check/judge"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
)

// eventBytes is what one event of a fuzzed history is made of. Bytes and not JSON: most changes
// of a text leave nothing to judge.
const eventBytes = 8

// FuzzRead feeds events of a small world in any order: nothing may panic or hang.
func FuzzRead(f *testing.F) {
	f.Add([]byte{
		1, 1, 0, 0, 0, 0, 0, 0, // warm-up, measure
		1, 5, 0, 0, 0, 0, 1, 0,
		3, 4, 1, 0, 1, 1, 0, 1, // acquired by one client, and by another one
		3, 4, 1, 1, 2, 1, 0, 2,
		5, 4, 1, 0, 1, 1, 0, 1, // released
		9, 2, 0, 2, 1, 1, 0, 0, // a room starts, another one, and is open
		9, 2, 0, 3, 2, 1, 0, 0,
		9, 5, 0, 2, 1, 1, 1, 0,
		10, 3, 0, 1, 0, 0, 1, 0, // a node is killed
		11, 3, 0, 0, 0, 0, 1, 0, // a fault
		1, 7, 0, 0, 0, 0, 2, 0, // drain
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 48
		run := history.Run{Lock: "raft", Workload: history.Mutex, DurationNS: 1e9, WarmupNS: int64(len(data)) * millisecond}
		if len(data)%2 == 0 {
			run.Workload, run.OfferedPS, run.Expect = history.Matchmaking, 10, &history.Expect{}
			run.Planned = []history.Planned{{ID: "f1", Target: "holder"}, {ID: "f3"}}
		}
		events := []history.Event{{Kind: history.KindRun, Run: &run}}
		for ; len(data) >= eventBytes && len(events) < most; data = data[eventBytes:] {
			if e := eventOf([eventBytes]byte(data)); e.Kind != history.KindRun {
				events = append(events, e)
			}
		}
		r, err := record.Of(events)
		if err != nil {
			t.Fatal(err)
		}
		judge.Run(r)
	})
}

func eventOf(b [eventBytes]byte) history.Event {
	pick := func(i byte, from ...string) string { return from[int(i)%len(from)] }
	e := history.Event{
		AtNS:     moment(b[1]),
		Node:     pick(b[3], "m1", "m2", "w1", "w2", ""),
		Host:     pick(b[3]>>4, "", "h1", "h2"),
		Client:   pick(b[3], "c1", "c2", "c3"),
		Hold:     pick(b[4], "", "a", "b", "c"),
		Order:    pick(b[4]>>4, "", "o1", "o2"),
		Resource: pick(b[5], "", "g1", "g2"),
		Room:     pick(b[5]>>4, "", "r1", "r2", "r3"),
		Worker:   pick(b[5]>>2, "w1", "w2"),
		Outcome:  pick(b[6], "ok", "failed", "unknown"),
		Token:    uint64(b[7] & 7),
		ErrNS:    max(moment(b[7]>>3), 0),
	}
	e.FromNS = e.AtNS - max(moment(b[2]&15), 0)
	switch b[0] % 13 {
	case 0:
		e.Kind = history.KindRun
		e.Run = &history.Run{
			Schema: history.Schema, Workload: pick(b[6], "matchmaking", "mutex"), WarmupNS: max(moment(b[2]&7), 0), DurationNS: max(moment(b[1]&7), 0),
			HostZones: map[string]string{"h1": "a", "h2": "c"}, NodeHosts: map[string]string{"m1": "h1", "m2": "h2", "w1": "h1", "w2": "h2"},
		}
	case 1:
		e.Kind, e.State = history.KindPhase, pick(b[6], "warmup", "measure", "drain", "end")
	case 2:
		e.Kind, e.SentNS = history.KindMatch, e.FromNS+max(moment(b[4]&7), 0)
	case 3:
		e.Kind = history.KindAcquire
	case 4:
		e.Kind = history.KindReleasing
	case 5:
		e.Kind = history.KindRelease
	case 6:
		e.Kind = history.KindLost
	case 7:
		e.Kind, e.Unreachable = history.KindOrder, []string{e.Worker}
	case 8:
		e.Kind = history.KindGrant
	case 9:
		e.Kind, e.State = history.KindRoom, pick(b[6], "starting", "open", "full", "closed")
	case 10:
		e.Kind, e.State = history.KindNode, pick(b[6], "started", "killed", "paused", "resumed", "stopped", "exited", "lost")
	case 11:
		e.Kind, e.State, e.ID = history.KindFault, pick(b[6], "asked", "began", "heal-asked", "ended", "unproven"), pick(b[4], "f1", "f2")
		e.Fault, e.Target = pick(b[5], "partition", "kill", history.FaultNodeLoss), "host h1"
		e.From, e.To, e.Nodes = []string{"h1"}, []string{"h2"}, []string{e.Node}
	case 12:
		e.Kind = history.KindClock
	}
	return e
}

// moment is a time from a nanosecond to the greatest that a history may have, either way.
func moment(b byte) int64 {
	all := [...]int64{0, 1, 1e3, 1e6, 5e6, 100e6, 500e6, 1e9, 2e9, 3e9, 5e9, 10e9, 20e9, 60e9, 3600e9, 1 << 60}
	at := all[b&15]
	if b&16 != 0 {
		return -at
	}
	return at
}
