package why_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/reports/why"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// story is a history; its times are milliseconds of the measured part.
type story struct{ events []history.Event }

func ns(ms float64) int64 { return int64(ms*1e6) + 5e9 }

func begin(workload string) *story {
	s := &story{}
	zones := map[string]string{}
	hosts := map[string]string{}
	for _, zone := range []string{"a", "c"} {
		for _, node := range []string{"master-" + zone, "worker-" + zone, "raft-" + zone} {
			zones[node], hosts[node] = zone, node
		}
	}
	s.add(history.Event{Kind: history.KindRun, Run: &history.Run{
		Schema: history.Schema, Lock: "redlock", Scenario: "zone-partition", Workload: workload, Repeat: 1, OfferedPS: 100,
		DurationNS: 8e9, WarmupNS: 1e9, LeaseNS: 1e9, HostZones: zones, NodeHosts: hosts, Expect: &history.Expect{Safety: "safe"},
	}})
	for state, at := range map[string]float64{"warmup": -1000, "measure": 0, "drain": 8000, "end": 8100} {
		s.add(history.Event{Kind: history.KindPhase, AtNS: ns(at), State: state})
	}
	return s
}

func (s *story) add(e history.Event) { s.events = append(s.events, e) }

func (s *story) hold(node, resource, hold string, token uint64, asked, got, stopped float64) {
	s.add(history.Event{Kind: history.KindAcquire, Node: node, Host: node, Client: "p1", Resource: resource, Hold: hold, Token: token, Outcome: "ok", FromNS: ns(asked), AtNS: ns(got)})
	if stopped > 0 {
		s.add(history.Event{Kind: history.KindRelease, Node: node, Host: node, Client: "p1", Resource: resource, Hold: hold, Outcome: "ok", FromNS: ns(stopped), AtNS: ns(stopped + 1)})
	}
}

func (s *story) refused(node, resource, kind string, asked, at float64) {
	s.add(history.Event{Kind: history.KindAcquire, Node: node, Host: node, Client: "p1", Resource: resource, Outcome: "failed", Error: kind, FromNS: ns(asked), AtNS: ns(at)})
}

func (s *story) fault(kind, target string, began, heal, ended float64) {
	for _, m := range []struct {
		state string
		at    float64
	}{{"asked", began - 1}, {"began", began}, {"heal-asked", heal}, {"ended", ended}} {
		s.add(history.Event{Kind: history.KindFault, ID: kind + "-1", Fault: kind, Target: target, State: m.state, AtNS: ns(m.at)})
	}
}

// canaries run in both masters; those of lost zones get nothing in a time.
func (s *story) canaries(from, to float64, lost ...string) {
	for at := 0.0; at < 8000; at += 100 {
		for _, zone := range []string{"a", "c"} {
			node := "master-" + zone
			if at >= from && at < to && strings.Contains(strings.Join(lost, ""), zone) {
				s.refused(node, "canary-"+node, "timeout", at, at+90)
				continue
			}
			s.hold(node, "canary-"+node, "", 0, at, at+2, 0)
		}
	}
}

func (s *story) room(master, worker, room, hold string, looked, sent, starts, full float64, unreachable ...string) {
	s.add(history.Event{Kind: history.KindOrder, Node: master, Host: master, Resource: "g18", Hold: hold, Order: "o-" + room, Room: room, Worker: worker, Outcome: "ok", FromNS: ns(looked), SentNS: ns(sent), AtNS: ns(starts + 1), Unreachable: unreachable})
	for state, at := range map[string]float64{"starting": starts, "open": starts + 150, "full": full} {
		if at > 0 {
			s.add(history.Event{Kind: history.KindRoom, Node: worker, Host: worker, Client: master, Resource: "g18", Order: "o-" + room, Room: room, State: state, AtNS: ns(at)})
		}
	}
}

func (s *story) write(node, hold string, token, base, version uint64, at float64) {
	s.add(history.Event{Kind: history.KindWrite, Node: "store", Client: node, Resource: "r1", Hold: hold, Token: token, Base: base, Version: version, State: "accepted", AtNS: ns(at)})
}

func row(workload string, figures map[string]float64) *result.Row {
	ok := result.Statement{State: result.OK}
	return &result.Row{
		Lock: "redlock", Scenario: "zone-partition", Workload: workload, Repeat: 1, Figures: figures, MeasuredMS: 8000,
		Verdict: result.Verdict{Sound: ok, Safety: ok, Liveness: ok, Word: result.Live, As: result.AsExpected},
	}
}

func (s *story) violation(code result.Code, at float64, resource string, first, second result.Party) *result.Row {
	name := strings.ReplaceAll(string(code), "-", "_")
	workload := history.Mutex
	if first.Room != "" {
		workload = history.Matchmaking
	}
	r := row(workload, map[string]float64{name: 3})
	r.Verdict.Safety = result.Statement{State: result.Failed, Code: code, N: 3}
	r.Verdict.As, r.Verdict.Why = result.NotAsExpected, result.Statement{State: result.Failed, Code: result.NotSafe}
	r.Expected.Safety = result.Safe
	r.Violations = []result.Violation{{Code: code, AtMS: at, Resource: resource, First: first, Second: second}}
	return r
}

func stories() map[string]func() (*result.Row, *story) {
	outage := func(word string, o result.Outage) *result.Row {
		r := row(history.Matchmaking, map[string]float64{"outage_ms": o.MS(), "recovery_ms": 310, "served_in_fault": 0.031})
		r.Verdict.Word, r.Outages = word, []result.Outage{o}
		if word != result.Live {
			r.Verdict.Liveness = result.Statement{State: result.Failed, Code: result.Code(word), N: o.MS(), Of: o.Of}
		}
		return r
	}
	return map[string]func() (*result.Row, *story){
		"duplicate": func() (*result.Row, *story) {
			s := begin(history.Matchmaking)
			s.fault("partition", "zone:a <-> zone:c", 2000, 5000, 5040)
			s.hold("master-a", "g18", "h-a-1", 0, 2100, 2104, 2290)
			s.room("master-a", "worker-a", "w-a-1", "h-a-1", 2105, 2108, 2109, 2900)
			s.hold("master-c", "g18", "h-c-1", 0, 2200, 2204, 2390)
			s.room("master-c", "worker-c", "w-c-1", "h-c-1", 2205, 2300, 2301, 0, "worker-a")
			return s.violation(result.Duplicates, 2301, "g18",
				result.Party{Node: "master-a", Room: "w-a-1", Worker: "worker-a", Hold: "h-a-1", FromMS: 2109, ToMS: 2900},
				result.Party{Node: "master-c", Room: "w-c-1", Worker: "worker-c", Hold: "h-c-1", FromMS: 2301, ToMS: result.Never}), s
		},
		"overlap": func() (*result.Row, *story) {
			s := begin(history.Mutex)
			s.hold("master-a", "r1", "h-a-1", 0, 1000, 1002, 0)
			for state, at := range map[string]float64{"paused": 1010, "resumed": 4010} {
				s.add(history.Event{Kind: history.KindNode, Node: "master-a", Host: "master-a", State: state, AtNS: ns(at)})
			}
			s.fault("pause", "master-a", 1010, 4010, 4011)
			s.hold("master-c", "r1", "h-c-1", 0, 1500, 2060, 5000)
			s.add(history.Event{Kind: history.KindLost, Node: "master-a", Host: "master-a", Client: "p1", Resource: "r1", Hold: "h-a-1", AtNS: ns(4012)})
			return s.violation(result.Overlaps, 2060, "r1",
				result.Party{Node: "master-a", Hold: "h-a-1", FromMS: 1002, ToMS: 4012}, result.Party{Node: "master-c", Hold: "h-c-1", FromMS: 2060, ToMS: 5000}), s
		},
		"tokens-back": func() (*result.Row, *story) {
			s := begin(history.Mutex)
			s.hold("master-a", "r1", "h-a-1", 7, 1000, 1002, 1100)
			s.hold("master-c", "r1", "h-c-1", 4, 1200, 1230, 1300)
			return s.violation(result.TokensBack, 1230, "r1",
				result.Party{Node: "master-a", Hold: "h-a-1", Token: 7, FromMS: 1002, ToMS: 1100}, result.Party{Node: "master-c", Hold: "h-c-1", Token: 4, FromMS: 1230, ToMS: 1300}), s
		},
		"late-write": func() (*result.Row, *story) {
			s := begin(history.FencedWrite)
			s.hold("master-a", "r1", "h-a-1", 0, 1000, 1002, 4020)
			s.hold("master-c", "r1", "h-c-1", 0, 1500, 2060, 2100)
			s.write("master-c", "h-c-1", 0, 11, 12, 2070)
			s.write("master-a", "h-a-1", 0, 11, 13, 4015)
			return s.violation(result.StaleWrites, 4015, "r1",
				result.Party{Node: "master-c", Hold: "h-c-1", FromMS: 2060, ToMS: 2100}, result.Party{Node: "master-a", Hold: "h-a-1", FromMS: 1002, ToMS: 4020}), s
		},
		"outage": func() (*result.Row, *story) {
			s := begin(history.Matchmaking)
			s.fault("kill", "raft-a", 2010, 5000, 5100)
			s.add(history.Event{Kind: history.KindNode, Node: "raft-a", Host: "raft-a", State: "killed", AtNS: ns(2010)})
			s.add(history.Event{Kind: history.KindNode, Node: "raft-a", Host: "raft-a", State: "ready", AtNS: ns(5100)})
			s.canaries(2050, 5350, "a", "c")
			return outage(result.Down, result.Outage{FromMS: 2002, ToMS: 5402}), s
		},
		"outage-zone": func() (*result.Row, *story) {
			s := begin(history.Matchmaking)
			s.fault("partition", "zone:a <-> zone:c", 2010, 5000, 5040)
			s.canaries(2050, 5250, "c")
			r := outage(result.Live, result.Outage{Of: "zone c", FromMS: 2002, ToMS: 5302})
			return r, s
		},
		"outage-resource": func() (*result.Row, *story) {
			s := begin(history.Mutex)
			s.hold("master-a", "r1", "h-a-1", 0, 1000, 1002, 1100)
			for at := 1110.0; at < 6000; at += 700 {
				s.refused("master-c", "r1", "timeout", at, at+690)
			}
			r := outage(result.Dead, result.Outage{Of: "r1", FromMS: 1110, ToMS: 8000, Open: true})
			return r, s
		},
		"unsound": func() (*result.Row, *story) {
			s := begin(history.Matchmaking)
			r := row(history.Matchmaking, map[string]float64{"late_p99_ms": 1.5})
			r.Verdict.Sound = result.Statement{State: result.Failed, Code: result.NodeLost, N: 1, Of: "raft-a"}
			r.Verdict.As = result.Unsound
			r.Faults = []result.Fault{{ID: "node-loss-1", Kind: "node-loss", Target: "raft-a", Unasked: true, BeganMS: 3100, Why: "exit status 2", Log: []string{"panic: disk is full", "goroutine 1 [running]:"}}}
			r.Hosts = []result.Machine{{CPUs: 2, Busy: 0.82, Slowdown: 1.31, LateMS: 4.2}}
			return r, s
		},
		"too-little": func() (*result.Row, *story) {
			r := row(history.Matchmaking, map[string]float64{"served": 0.71, "served_in_fault": 0.2, "outage_ms": 320, "request_p99_ms": 9.7})
			r.Verdict.As, r.Verdict.Why = result.NotAsExpected, result.Statement{State: result.Failed, Code: result.ServedTooLittle, N: 0.2}
			r.Errors, r.Expected = map[string]int64{"timeout": 700, "unavailable": 12}, result.Expected{Liveness: []string{"live"}, ServedInFault: 0.9}
			return r, begin(history.Matchmaking)
		},
		"nothing": func() (*result.Row, *story) {
			return row(history.Matchmaking, map[string]float64{"duplicates": 0, "served": 1, "outage_ms": 104, "zone_outage_ms": 112, "request_p50_ms": 1.31, "request_p99_ms": 9.66, "acquire_p50_ms": 1.02}), begin(history.Matchmaking)
		},
	}
}

// TestGolden: each thing that is explained, in both languages, in at most 25 lines of 80 columns.
func TestGolden(t *testing.T) {
	all := lang.All()
	for name, tell := range stories() {
		r, s := tell()
		run, err := record.Of(s.events)
		must.Do(t, err)
		for _, say := range all {
			var out, sheet bytes.Buffer
			must.Do(t, why.Write(&out, say, r, run, why.Options{More: "locklab check --explain 1 reports/runs/a/histories/redlock/x.jsonl"}))
			compare(t, name+"."+say.Tag+".txt", out.String())
			if name == "duplicate" || name == "too-little" {
				must.Do(t, why.Sheet(&sheet, say, "histories/redlock/x.jsonl", r, run, 80))
				compare(t, "sheet."+name+"."+say.Tag+".txt", sheet.String())
			}
		}
	}
}

func compare(t *testing.T, name, have string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(have, "\n"), "\n")
	if len(lines) > 25 {
		t.Errorf("%s has %d lines, want at most 25", name, len(lines))
	}
	for _, line := range lines[:len(lines)-1] {
		if table.Columns(line) > 80 {
			t.Errorf("%s: more than 80 columns: %s", name, line)
		}
	}
	testfile.Golden(t, filepath.Join("testdata", name), have)
}

func TestNumbers(t *testing.T) {
	r, s := stories()["duplicate"]()
	r.Outages = []result.Outage{{FromMS: 2000, ToMS: 2900}}
	run, err := record.Of(s.events)
	must.Do(t, err)
	for number, want := range map[int]string{1: "duplicates", 2: "outage of the lock, 900 ms", 3: "the list ends at 2"} {
		var out bytes.Buffer
		if err := why.Write(&out, lang.English(), r, run, why.Options{Number: number}); err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("number %d: want %q in\n%s", number, want, out.String())
		}
	}
	var out bytes.Buffer
	err = why.Write(&out, lang.English(), r, nil, why.Options{})
	if text := out.String(); err != nil || !strings.Contains(text, "duplicates") ||
		!strings.Contains(text, "a history is missing") || strings.Contains(text, "none in force") {
		t.Errorf("without a history: %v\n%s", err, text)
	}
}
