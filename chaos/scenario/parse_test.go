package scenario_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/chaos/fault"
	"locklab/chaos/scenario"
	"locklab/internal/testfile"
	"locklab/locks"
)

const right = `name: mine
summary: A test.
timeline:
  - at: 30%
    for: 2s
    id: cut
    fault: partition
    between: [zone:a, others]
    mode: hold
  - {at: 1.5s, fault: flaky, from: zone: a, to: "host:h1", loss: 0.05, stall: 200ms}
expect:
  none: {safety: unsafe, liveness: live}
  redlock:ttl=1s: {safety: safe}
  multiphase:quorum:
    safety: safe
    liveness: [live, stalls]
    topologies:
      seoul-3az: {liveness: down}
  multiphase: {safety: unsafe}
`

func TestParse(t *testing.T) {
	s, err := scenario.Parse("f.yaml", []byte(strings.Replace(right, "from: zone: a", "from: zone:a", 1)), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Timeline) != 2 || s.Timeline[0].ID != "cut" || s.Timeline[1].ID != "flaky-2" {
		t.Fatalf("%+v", s.Timeline)
	}
	cut, flaky := s.Timeline[0], s.Timeline[1]
	if cut.Fault.Target != "zone:a <-> others" || cut.Fault.Kind != "partition" || flaky.Fault.Target != "zone:a -> host:h1" {
		t.Errorf("%+v, %+v", cut.Fault, flaky.Fault)
	}
	if w := cut.Window(10 * time.Second); w != (fault.Window{From: 3 * time.Second, Until: 5 * time.Second}) {
		t.Errorf("window %+v", w)
	}
	if w := cut.Window(2 * time.Second); w != (fault.Window{From: 600 * time.Millisecond, Until: 2 * time.Second}) {
		t.Errorf("window of a short run %+v", w)
	}
	if w := flaky.Window(10 * time.Second); w != (fault.Window{From: 1500 * time.Millisecond, Until: 10 * time.Second}) {
		t.Errorf("window without an end %+v", w)
	}
}

// TestAvailabilityHasADefault wherever anything is expected, and topologies replace it
// part by part.
func TestAvailabilityHasADefault(t *testing.T) {
	text := `name: x
timeline: []
expect:
  none: {safety: unsafe}
  local: {availability: {outside: 50%}}
  raft:
    availability: {during: 40%}
    topologies:
      small: {availability: {during: 0%}}
  redlock: {}
`
	s, err := scenario.Parse("f.yaml", []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	show := func(share *float64) string {
		if share == nil {
			return "-"
		}
		return strconv.FormatFloat(*share, 'g', 3, 64)
	}
	for _, c := range []struct{ lock, topology, want string }{
		{"none", "big", "0.99 -"}, {"local", "big", "0.5 -"}, {"raft", "big", "0.99 0.4"}, {"raft", "small", "0.99 0"}, {"redlock", "big", "- -"}, {"2pc", "big", "- -"},
	} {
		e, _ := s.Expect(locks.Spec{Name: c.lock}, c.topology)
		if got := show(e.Outside) + " " + show(e.During); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.lock, c.topology, got, c.want)
		}
	}
}

// TestReasons: each lock has its own, or the scenario's source; one line may speak of several
// locks, and may say that the scenario does not apply to them.
func TestReasons(t *testing.T) {
	s, err := scenario.Parse("f.yaml", []byte(`name: x
hold: 2s
clients: 50
resources: 3
source: A, section 1
timeline: []
reasons:
  redis: {why: one server}
  redis:replica raft: {why: two, source: C}
expect:
  redlock raft:store=memory: {safety: safe, why: a majority has to agree}
  raft: {safety: safe, why: logs, source: "B"}
  redis: {safety: safe}
  redis:persistence=always: {safety: safe}
  redis:replica: {safety: safe}
  none local: {not_for: they have no server}
`), "")
	if err != nil {
		t.Fatal(err)
	}
	if s.Wants != (scenario.Wants{Hold: 2 * time.Second, Clients: 50, Resources: 3}) {
		t.Errorf("wants %+v", s.Wants)
	}
	for lock, want := range map[string]string{
		"redlock": "safe false A, section 1: a majority has to agree", "raft:store=memory": "safe false A, section 1: a majority has to agree",
		"raft": "safe false B: logs", "redis": "safe false A, section 1: one server",
		"redis:persistence=always": "safe false A, section 1: one server", "redis:replica": "safe false C: two", "none": " true : they have no server", "local": " true : they have no server",
	} {
		spec, err := locks.ParseSpec(lock)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := s.Expect(spec, "t")
		if got := fmt.Sprintf("%s %v %s: %s", e.Safety, e.NotFor, e.Source, e.Why); got != want {
			t.Errorf("%s: %q, want %q", lock, got, want)
		}
	}
}

func TestExpect(t *testing.T) {
	s, err := scenario.Parse("f.yaml", []byte(strings.Replace(right, "from: zone: a", "from: zone:a", 1)), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lock, topology, safety, liveness string
		known                            bool
	}{
		{"none", "seoul-2az", "unsafe", "live", true},
		{"redlock:ttl=1s", "seoul-2az", "safe", "", true},
		{"redlock", "seoul-2az", "", "", false},
		{"multiphase", "seoul-2az", "unsafe", "", true},
		{"multiphase:view=off", "seoul-2az", "unsafe", "", true},
		{"multiphase:quorum", "seoul-2az", "safe", "live,stalls", true},
		{"multiphase:quorum,fair=off", "seoul-3az", "safe", "down", true},
	} {
		spec, err := locks.ParseSpec(c.lock)
		if err != nil {
			t.Fatal(err)
		}
		e, known := s.Expect(spec, c.topology)
		if known != c.known || e.Safety != c.safety || strings.Join(e.Liveness, ",") != c.liveness {
			t.Errorf("%s in %s: %+v, %v", c.lock, c.topology, e, known)
		}
	}
}

// step makes a scenario with one step; its line is 4.
func step(fields string) string {
	return "name: x\nsummary: x\ntimeline:\n  - {" + fields + "}\n"
}

func TestErrorsSayWhereAndWhatWouldBeRight(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "f.yaml:1: want exactly one YAML document"},
		{"list", "- a\n", `f.yaml:1: want fields (name, title, summary, min_duration, outlasts, hold, clients, resources, timeline, source, reasons, expect)`},
		{"broken", "name: [\n", "f.yaml:2: did not find expected node content"},
		{"no name", "timeline: []\n", `f.yaml:1: name: missing: want 1 to 100 lower-case letters, digits and dashes, such as worker-a-1`},
		{"a timeline that is commented out", "name: x\nsummary: x\ntimeline:\n#  - {}\n", `f.yaml:3: timeline: missing: want a list of faults, or [] for none`},
		{"bad name", "name: Ünfug\ntimeline: []\n", `f.yaml:1: name: "Ünfug" is not a name: want 1 to 100 lower-case letters, digits and dashes, such as worker-a-1`},
		{"no timeline", "name: x\n", `f.yaml:1: timeline: missing: want a list of faults, or [] for none`},
		{"unknown field", "name: x\ntimeline: []\nexpects: {}\n", `f.yaml:3: unknown field "expects": want name, title, summary, min_duration, outlasts, hold, clients, resources, timeline, source, reasons, expect`},
		{"twice", "name: x\nname: y\ntimeline: []\n", "f.yaml:2: "},
		{"timeline is a word", "name: x\ntimeline: now\n", "f.yaml:2: timeline: want a list"},
		{"step is a word", "name: x\ntimeline:\n  - kill\n", `f.yaml:3: timeline[0]: want fields (at, for, id, fault)`},
		{"no at", step("fault: kill, target: holder"), `f.yaml:4: timeline[0].at: missing: want a share of the measured time, or a duration such as 2s`},
		{"no fault", step("at: 1s, target: holder"), `f.yaml:4: timeline[0].fault: missing: want one of bandwidth, `},
		{"a hexadecimal share", step("at: 0x1p-3%, fault: kill, target: holder"), `f.yaml:4: timeline[0].at: "0x1p-3%": want a share of the measured time, 0% to 100%, or a duration such as 2s`},
		{"an exponent", step("at: 1e1%, fault: kill, target: holder"), `f.yaml:4: timeline[0].at: "1e1%": want a share of the measured time, 0% to 100%, or a duration such as 2s`},
		{"a short fault", step("at: 1s, for: 1ns, fault: kill, target: holder"), `f.yaml:4: timeline[0].for: 1ns: want at least 100ms, which a proof takes`},
		{"a short delay", step("at: 1s, fault: latency, between: [zones], delay: 1ns"), `f.yaml:4: timeline[0].delay: 1ns: want at least 1ms: probes see no less`},
		{"a short jitter", step("at: 1s, fault: jitter, between: [zones], jitter: 1ms"), `f.yaml:4: timeline[0].jitter: 1ms: want at least 2ms: probes see no less`},
		{"a short stall", step("at: 1s, fault: flaky, between: [zones], loss: 0.1, stall: 1ms"), `f.yaml:4: timeline[0].stall: 1ms: want at least 20ms: probes see no less`},
		{"a wide band", step("at: 1s, fault: bandwidth, between: [zones], bytes_per_s: 1000000000"), `f.yaml:4: timeline[0].bytes_per_s: "1000000000": want a whole number from 1 to 16000000: probes see no more`},
		{"a zone and itself", step("at: 1s, fault: partition, between: [zone:a, zone:a], mode: hold"), `f.yaml:4: timeline[0].between[1]: "zone:a" is on both sides: want two different ones`},
		{"from a zone to itself", step("at: 1s, fault: partition, from: zone:a, to: zone:a, mode: hold"), `f.yaml:4: timeline[0].to: "zone:a" is on both sides: want two different ones`},
		{"at the end", step("at: 100%, fault: kill, target: holder"), `f.yaml:4: timeline[0]: no run is long enough for it: want at and for of less than 100%, together at most 100%`},
		{"past the end", step("at: 90%, for: 35%, fault: kill, target: holder"), `f.yaml:4: timeline[0]: no run is long enough for it: want at and for of less than 100%, together at most 100%`},
		{"all of it, later", step("at: 1s, for: 100%, fault: kill, target: holder"), `f.yaml:4: timeline[0]: no run is long enough for it: want at and for of less than 100%, together at most 100%`},
		{"bad hold", "name: x\nhold: long\ntimeline: []\n", `f.yaml:2: hold: "long": want a duration above 0, up to 1m0s, such as 50ms`},
		{"bad at", step("at: soon, fault: kill, target: holder"), `f.yaml:4: timeline[0].at: "soon": want a share of the measured time, 0% to 100%, or a duration such as 2s`},
		{"late", step("at: 130%, fault: kill, target: holder"), `f.yaml:4: timeline[0].at: "130%": want a share of the measured time, 0% to 100%, or a duration such as 2s`},
		{"for nothing", step("at: 1s, for: 0s, fault: kill, target: holder"), `f.yaml:4: timeline[0].for: 0s: want at least 100ms, which a proof takes`},
		{"unknown fault", step("at: 1s, fault: earthquake"), `f.yaml:4: timeline[0].fault: "earthquake": want one of bandwidth, `},
		{"foreign field", step("at: 1s, fault: kill, target: holder, delay: 1ms"), `f.yaml:4: timeline[0]: unknown field "delay": want at, for, id, fault, target, lose_data`},
		{"unknown step field", step("at: 1s, fault: kill, tarket: holder"), `f.yaml:4: timeline[0]: unknown field "tarket": want at, for, id, fault, target, lose_data`},
		{"missing field", step("at: 1s, fault: latency, between: [zones]"), `f.yaml:4: timeline[0].delay: missing: the fault latency needs it`},
		{"bad duration", step("at: 1s, fault: latency, between: [zones], delay: 20"), `f.yaml:4: timeline[0].delay: "20": want a duration above 0, up to 1m0s, such as 50ms`},
		{"bad mode", step("at: 1s, fault: partition, between: [zones], mode: cut"), `f.yaml:4: timeline[0].mode: "cut": want one of hold, drop, reset`},
		{"one-way reset", step("at: 1s, fault: partition, from: zone:a, to: others, mode: reset"), `f.yaml:4: timeline[0].mode: a reset hits both ways: want between: instead of from: and to:`},
		{"both and one way", step("at: 1s, fault: partition, between: [zones], from: zone:a, to: others, mode: hold"), `f.yaml:4: timeline[0].between: want either between: [A, B], for both ways, or from: A and to: B, for one`},
		{"no side", step("at: 1s, fault: partition, mode: hold"), `f.yaml:4: timeline[0].between: want either between: [A, B], for both ways, or from: A and to: B, for one`},
		{"half a side", step("at: 1s, fault: partition, from: zone:a, mode: hold"), `f.yaml:4: timeline[0].to: missing: want first-zone, zone:NAME, role:NAME, node:NAME, host:NAME, one:NAME, majority:NAME, minority:NAME, holder, holder-of:RESOURCE, leader, primary or others`},
		{"others twice", step("at: 1s, fault: partition, between: [others, others], mode: hold"), `f.yaml:4: timeline[0].between[1]: "others" is on both sides: want two different ones`},
		{"three sides", step("at: 1s, fault: partition, between: [zone:a, zone:b, zone:c], mode: hold"), `f.yaml:4: timeline[0].between: want two selectors, such as [zone:a, others], or [zones]`},
		{"a point that is none", step("at: 1s, fault: pause, target: holder, point: writing"), `f.yaml:4: timeline[0].point: "writing": want one of acquiring, granted, releasing`},
		{"a right rate", step("at: 1s, fault: clock-drift, target: \"role:redis\", rate: 1.05"), `f.yaml:4: timeline[0].rate: "1.05": want a number from 0.1 to 10 that is at least 0.1 off 1, such as 1.5 or 0.5`},
		{"a clock that stands", step("at: 1s, fault: clock-drift, target: \"role:redis\", rate: 0"), `f.yaml:4: timeline[0].rate: "0": want a number from 0.1 to 10 that is`},
		{"no rate", step("at: 1s, fault: clock-drift, target: \"role:redis\""), `f.yaml:4: timeline[0].rate: missing: the fault clock-drift needs it`},
		{"bad selector", step("at: 1s, fault: kill, target: redis-3"), `f.yaml:4: timeline[0].target: "redis-3": want first-zone, zone:NAME, role:NAME, node:NAME, host:NAME, one:NAME, majority:NAME, minority:NAME, holder, holder-of:RESOURCE, leader or primary`},
		{"the holder of nothing", step("at: 1s, fault: kill, target: holder-of"), `f.yaml:4: timeline[0].target: "holder-of": want first-zone, zone:NAME, role:NAME, node:NAME, host:NAME, one:NAME, majority:NAME, minority:NAME, holder, holder-of:RESOURCE, leader or primary`},
		{"the holder of nothing named", step("at: 1s, fault: kill, target: \"holder-of:\""), `f.yaml:4: timeline[0].target: "holder-of:": want first-zone, zone:NAME, `},
		{"a holder with a name", step("at: 1s, fault: kill, target: \"holder:r1\""), `f.yaml:4: timeline[0].target: "holder:r1": want first-zone, zone:NAME, `},
		{"zone failure of a node", step("at: 1s, fault: zone-failure, target: holder"), `f.yaml:4: timeline[0].target: "holder": want first-zone or zone:NAME`},
		{"fast flap", step("at: 1s, fault: flap, between: [zones], mode: hold, down: 1ms, up: 1s"), `f.yaml:4: timeline[0].down: 1ms: want at least 60ms: probes see no less`},
		{"loss", step("at: 1s, fault: flaky, between: [zones], loss: 5, stall: 1s"), `f.yaml:4: timeline[0].loss: want a share above 0, up to 1, such as 0.05`},
		{"loss is not a number", step("at: 1s, fault: flaky, between: [zones], loss: NaN, stall: 1s"), `f.yaml:4: timeline[0].loss: want a share above 0, up to 1, such as 0.05`},
		{"rate", step("at: 1s, fault: bandwidth, between: [zones], bytes_per_s: 1.5"), `f.yaml:4: timeline[0].bytes_per_s: "1.5": want a whole number from 1 to 16000000: probes see no more`},
		{"for of a restart", step("at: 1s, for: 1s, fault: restart, target: holder"), `f.yaml:4: timeline[0].for: a restart has no such field: it is over at once; want a kill`},
		{"nothing to run", step("at: 1s, fault: external, effect: stop, target: zone:c"), `f.yaml:4: timeline[0].run: missing: the fault external needs it`},
		{"no word", step("at: 1s, fault: external, run: [], effect: stop, target: zone:c"), `f.yaml:4: timeline[0].run: want a name and up to 7 arguments, such as [fis, c, partition]`},
		{"a path", step("at: 1s, fault: external, run: [/bin/sh, x], effect: stop, target: zone:c"), `f.yaml:4: timeline[0].run: "/bin/sh": want words of up to 32 lower-case letters, digits and dashes`},
		{"an option", step("at: 1s, fault: external, run: [fis, --region], effect: stop, target: zone:c"), `f.yaml:4: timeline[0].run: "--region": want words of up to 32 lower-case letters, digits and dashes`},
		{"a shell", step("at: 1s, fault: external, run: [fis, \"c; reboot\"], effect: stop, target: zone:c"), `f.yaml:4: timeline[0].run: "c; reboot": want words of up to 32 lower-case letters, digits and dashes`},
		{"many words", step("at: 1s, fault: external, run: [a, b, c, d, e, f, g, h, i], effect: stop, target: zone:c"), `f.yaml:4: timeline[0].run: want a name and up to 7 arguments, such as [fis, c, partition]`},
		{"unknown effect", step("at: 1s, fault: external, run: [fis], effect: fire, target: zone:c"), `f.yaml:4: timeline[0].effect: "fire": want one of partition, stop`},
		{"external holder", step("at: 1s, fault: external, run: [fis], effect: stop, target: holder"), `f.yaml:4: timeline[0].target: "holder": want first-zone, zone:NAME or host:NAME`},
		{"min duration", "name: x\nmin_duration: long\ntimeline: []\n", `f.yaml:2: min_duration: "long": want a duration above 0, up to 1h0m0s, such as 3m`},
		{"id twice", "name: x\ntimeline:\n  - {at: 1s, id: k, fault: kill, target: holder}\n  - {at: 2s, id: k, fault: kill, target: leader}\n", `f.yaml:4: timeline[1].id: "k" is there twice`},
		{"bad lock", "name: x\ntimeline: []\nexpect:\n  Red Lock: {safety: safe}\n", `f.yaml:4: expect: lock "Red"`},
		{"a lock twice", "name: x\ntimeline: []\nexpect:\n  none: {safety: safe}\n  raft none: {safety: safe}\n", `f.yaml:5: expect: none is there twice`},
		{"not for, and yet", "name: x\ntimeline: []\nexpect:\n  none: {not_for: it locks nothing, safety: safe}\n", `f.yaml:4: expect.none: unknown field "safety": want not_for`},
		{"not for no reason", "name: x\ntimeline: []\nexpect:\n  none: {not_for: \"\"}\n", `f.yaml:4: expect.none.not_for: want why the scenario does not apply`},
		{"no clients", "name: x\nclients: 0\ntimeline: []\n", `f.yaml:2: clients: "0": want a whole number from 1 to 1000`},
		{"a reason for nothing", "name: x\ntimeline: []\nreasons:\n  raft: {why: it has a log}\nexpect:\n  none: {safety: safe}\n", `f.yaml:4: reasons: nothing is expected of raft that it would be the reason of`},
		{"bad safety", "name: x\ntimeline: []\nexpect:\n  none: {safety: maybe}\n", `f.yaml:4: expect.none.safety: "maybe": want one of safe, unsafe`},
		{"bad availability", "name: x\ntimeline: []\nexpect:\n  none: {availability: {outside: 0.99}}\n", `f.yaml:4: expect.none.availability.outside: "0.99": want a share of the operations, 0% to 100%`},
		{"too available", "name: x\ntimeline: []\nexpect:\n  none: {availability: {during: 101%}}\n", `f.yaml:4: expect.none.availability.during: "101%": want a share of the operations, 0% to 100%`},
		{"unknown availability", "name: x\ntimeline: []\nexpect:\n  none: {availability: {after: 1%}}\n", `f.yaml:4: expect.none.availability: unknown field "after": want outside, during`},
		{"bad liveness", "name: x\ntimeline: []\nexpect:\n  none:\n    liveness: [live, dead]\n", `f.yaml:5: expect.none.liveness[1]: "dead": want one of live, stalls, down`},
		{"a hexadecimal availability", "name: x\ntimeline: []\nexpect:\n  none: {availability: {during: 0x1p-3%}}\n", `f.yaml:4: expect.none.availability.during: "0x1p-3%": want a share of the operations, 0% to 100%`},
		{"no liveness", "name: x\ntimeline: []\nexpect:\n  none: {liveness: []}\n", `f.yaml:4: expect.none.liveness: missing: want one or more of live, stalls, down, or no liveness`},
		{"topologies of no lock", "name: x\ntimeline: []\nexpect:\n  topologies: {safety: safe}\n", `f.yaml:4: expect.topologies: want it below a lock, such as none: {topologies: {one-host: {safety: safe}}}`},
		{"a long name", "name: " + strings.Repeat("A", 3000) + "\ntimeline: []\n", `f.yaml:1: name: "` + strings.Repeat("A", 78) + `… is not a name: want 1 to 100 lower-case letters`},
		{"a long word", step("at: 1s, fault: kill, target: " + strings.Repeat("ä", 3000)), `f.yaml:4: timeline[0].target: "` + strings.Repeat("ä", 78) + `…: want first-zone, zone:NAME`},
		{"bad topology", "name: x\ntimeline: []\nexpect:\n  none:\n    topologies:\n      t: {savety: safe}\n", `f.yaml:6: expect.none.topologies.t: unknown field "savety": want safety, liveness, availability`},
		{"two documents", "name: x\ntimeline: []\n---\nname: y\n", "f.yaml:1: want exactly one YAML document"},
		{"bomb", "a: &a [x,x]\nb: *a\n", "f.yaml:1: anchors and aliases are not supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := scenario.Parse("f.yaml", []byte(c.text), "")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s ...", err, c.want)
			}
			if !errors.Is(err, scenario.ErrInvalid) {
				t.Errorf("%v does not wrap ErrInvalid", err)
			}
		})
	}
}

func TestLoadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	testfile.Write(t, path, "name: mine\ntimeline: []\n")
	if s, err := scenario.Load(path, ""); err != nil || s.Name != "mine" {
		t.Fatalf("%+v, %v", s, err)
	}
	testfile.Write(t, path, "summary: x\nname: zone-partition\ntimeline: []\n")
	if _, err := scenario.Load(path, ""); err == nil || !strings.HasPrefix(err.Error(), path+`:2: name: "zone-partition" is a built-in scenario: want another name`) {
		t.Errorf("a file with the name of a built-in scenario: %v", err)
	}
	for _, missing := range []string{"no-such-scenario", "", "../builtin/baseline", t.TempDir()} {
		if _, err := scenario.Load(missing, ""); !errors.Is(err, scenario.ErrInvalid) {
			t.Errorf("%q: %v", missing, err)
		}
	}
	if _, err := scenario.Load("zone-partitoin", ""); err == nil || !strings.Contains(err.Error(), "zone-partition,") {
		t.Errorf("a misspelt name should be answered with the right ones: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(right))
	f.Add([]byte("timeline: !x"))
	f.Add([]byte("name: x\ntimeline:\n  - {at: 2500000h, for: 2500000h, fault: kill, target: leader}\n"))
	for _, name := range scenario.Names() {
		files, err := filepath.Glob("builtin/*-" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(testfile.Read(f, files[0]))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := scenario.Parse("f.yaml", text, "")
		if err != nil {
			if !errors.Is(err, scenario.ErrInvalid) || !strings.HasPrefix(err.Error(), "f.yaml") {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		// What is accepted can be executed.
		for _, step := range s.Timeline {
			w := step.Window(20 * time.Second)
			if w.From < 0 || w.Until < w.From || w.Until > 20*time.Second {
				t.Fatalf("window %+v of %+v", w, step)
			}
			if n := len(step.Fault.Windows(w.From, w.Until)); n > 200 {
				t.Fatalf("%d windows of %+v", n, step)
			}
		}
	})
}

// TestExamplesOfFields are right: what a list shows of each fault is a step that is read, with
// the fields that it needs and with the others.
func TestExamplesOfFields(t *testing.T) {
	for _, k := range fault.Kinds() {
		for _, all := range []bool{false, true} {
			pairs := []string{"fault: " + k.Name}
			for _, f := range slices.Concat(scenario.StepFields(), k.Fields) {
				if f.Example == "" || f.Does == "" {
					t.Errorf("%s: %+v", k.Name, f)
				}
				oneWay := f.Name == "from" || f.Name == "to"
				if f.Needed || all && !oneWay && (f.Name != "for" || !k.Instant) {
					pairs = append(pairs, f.Name+": "+f.Example)
				}
			}
			text := "name: x\nsummary: y\ntimeline:\n  - {" + strings.Join(pairs, ", ") + "}\nexpect: {}\n"
			if _, err := scenario.Parse("f.yaml", []byte(text), ""); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}
