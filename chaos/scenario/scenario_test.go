package scenario_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/chaos/fault"
	"locklab/chaos/scenario"
	"locklab/internal/must"
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
  - {when: {lock: none}, safety: unsafe, liveness: live}
  - {when: {lock: ["redlock:ttl=1s", raft]}, safety: safe}
  - {when: {agree: majority-of-peers, left: too-few}, safety: safe, liveness: [stalls, down], served: 5%}
  - {when: {agree: [majority-of-peers, all-peers]}, liveness: down, why: they wait}
`

func TestParse(t *testing.T) {
	s, err := scenario.Parse("f.yaml", []byte(strings.Replace(right, "from: zone: a", "from: zone:a", 1)), "")
	must.Do(t, err)
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

// TestRulesAreTakenInOrder: of each aspect the first that fits counts, a scenario's own before the general ones.
func TestRulesAreTakenInOrder(t *testing.T) {
	s, err := scenario.Parse("f.yaml", []byte(`name: x
source: A, section 1
timeline: []
expect:
  - {when: {agree: all-peers}, not_for: they wait}
  - {when: {lock: "redis:persistence=always"}, safety: safe, why: it is on disk, source: B}
  - {when: {lock: redis, masters: one}, safety: unsafe, why: one client}
  - {when: {lock: redis}, served: 50%}
  - {when: {lease: [server-clock, none]}, liveness: [live, stalls], why: it polls}
  - {when: {lock: raft}, safety: not-judged, liveness: not-judged}
`), "")
	must.Do(t, err)
	for _, c := range []struct {
		lock   string
		traits locks.Traits
		want   string
	}{
		{"redis", locks.Traits{Agree: locks.AgreeServer, Lease: locks.LeaseServer}, "unsafe [live stalls] 0.50; one client (A, section 1); it polls"},
		{"redis:persistence=always,ttl=1s", locks.Traits{Agree: locks.AgreeServer, Lease: locks.LeaseServer}, "safe [live stalls] 0.50; it is on disk (B); it polls"},
		{"mine", locks.Traits{Agree: locks.AgreeServer, Lease: locks.LeaseOwn}, "safe [live] 0.99; one server decides, "},
		{"raft", locks.Traits{Agree: locks.AgreeServers, Lease: locks.LeaseOwn}, " [] 0.99; "},
		{"mine", locks.Traits{Agree: locks.AgreeUnknown}, "safe [live stalls] 0.99; every lock promises it"},
		{"lamport", locks.Traits{Agree: locks.AgreeAll}, "f.yaml:5: they wait"},
	} {
		spec, err := locks.ParseSpec(c.lock)
		must.Do(t, err)
		e := s.Expect(scenario.Lock{Spec: spec, Traits: c.traits, Clients: []fault.Node{{Name: "m", Host: "h"}}}, nil)
		got := fmt.Sprintf("%s %v %.2f; %s (%s); %s", e.Safety, e.Liveness, e.Availability.Outside, e.SafetyBy.Why, e.SafetyBy.Source, e.LivenessBy.Why)
		if not := s.NotFor(spec, c.traits); not != nil {
			got = not.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.lock, got, c.want)
		}
	}
}

// step makes a scenario with one step; its line is 4.
func step(fields string) string {
	return "name: x\nsummary: x\ntimeline:\n  - {" + fields + "}\n"
}

func TestErrorsSayWhereAndWhatWouldBeRight(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no name", "timeline: []\n", `f.yaml:1: name: missing: want 1 to 100 lower-case letters, digits and dashes, such as worker-a-1`},
		{"a timeline that is commented out", "name: x\nsummary: x\ntimeline:\n#  - {}\n", `f.yaml:3: timeline: missing: want a list of faults, or [] for none`},
		{"a short delay", step("at: 1s, fault: latency, between: [zones], delay: 1ns"), `f.yaml:4: timeline[0].delay: 1ns: want at least 1ms: probes see no less`},
		{"a short stall", step("at: 1s, fault: flaky, between: [zones], loss: 0.1, stall: 1ms"), `f.yaml:4: timeline[0].stall: 1ms: want at least 20ms: probes see no less`},
		{"a wide band", step("at: 1s, fault: bandwidth, between: [zones], bytes_per_s: 1000000000"), `f.yaml:4: timeline[0].bytes_per_s: "1000000000": want a whole number from 1 to 16000000: probes see no more`},
		{"a zone and itself", step("at: 1s, fault: partition, between: [zone:a, zone:a], mode: hold"), `f.yaml:4: timeline[0].between[1]: "zone:a" is on both sides: want two different ones`},
		{"past the end", step("at: 90%, for: 35%, fault: kill, target: holder"), `f.yaml:4: timeline[0]: no run is long enough for it: want at and for of less than 100%, together at most 100%`},
		{"bad at", step("at: soon, fault: kill, target: holder"), `f.yaml:4: timeline[0].at: "soon": want a share of the measured time, 0% to 100%, or a duration such as 2s`},
		{"for nothing", step("at: 1s, for: 0s, fault: kill, target: holder"), `f.yaml:4: timeline[0].for: 0s: want at least 100ms, which a proof takes`},
		{"unknown fault", step("at: 1s, fault: earthquake"), `f.yaml:4: timeline[0].fault: "earthquake": want one of bandwidth, `},
		{"foreign field", step("at: 1s, fault: kill, target: holder, delay: 1ms"), `f.yaml:4: timeline[0]: unknown field "delay": want at, for, id, fault, target, lose_data`},
		{"one-way reset", step("at: 1s, fault: partition, from: zone:a, to: others, mode: reset"), `f.yaml:4: timeline[0].mode: a reset hits both ways: want between: instead of from: and to:`},
		{"both and one way", step("at: 1s, fault: partition, between: [zones], from: zone:a, to: others, mode: hold"), `f.yaml:4: timeline[0].between: want either between: [A, B], for both ways, or from: A and to: B, for one`},
		{"half a side", step("at: 1s, fault: partition, from: zone:a, mode: hold"), `f.yaml:4: timeline[0].to: missing: want first-zone, zone:NAME, role:NAME, node:NAME, host:NAME, one:NAME, majority:NAME, minority:NAME, holder, holder-of:RESOURCE, leader, primary or others`},
		{"three sides", step("at: 1s, fault: partition, between: [zone:a, zone:b, zone:c], mode: hold"), `f.yaml:4: timeline[0].between: want two selectors, such as [zone:a, others], or [zones]`},
		{"a right rate", step("at: 1s, fault: clock-drift, target: \"role:redis\", rate: 1.05"), `f.yaml:4: timeline[0].rate: "1.05": want a number from 0.1 to 10 that is at least 0.1 off 1, such as 1.5 or 0.5`},
		{"zone failure of a node", step("at: 1s, fault: zone-failure, target: holder"), `f.yaml:4: timeline[0].target: "holder": want first-zone or zone:NAME`},
		{"fast flap", step("at: 1s, fault: flap, between: [zones], mode: hold, down: 1ms, up: 1s"), `f.yaml:4: timeline[0].down: 1ms: want at least 60ms: probes see no less`},
		{"loss", step("at: 1s, fault: flaky, between: [zones], loss: 5, stall: 1s"), `f.yaml:4: timeline[0].loss: want a share above 0, up to 1, such as 0.05`},
		{"for of a restart", step("at: 1s, for: 1s, fault: restart, target: holder"), `f.yaml:4: timeline[0].for: a restart has no such field: it is over at once; want a kill`},
		{"nothing to run", step("at: 1s, fault: external, effect: stop, target: zone:c"), `f.yaml:4: timeline[0].run: missing: the fault external needs it`},
		{"a shell", step("at: 1s, fault: external, run: [fis, \"c; reboot\"], effect: stop, target: zone:c"), `f.yaml:4: timeline[0].run: "c; reboot": want words of up to 32 lower-case letters, digits and dashes`},
		{"id twice", "name: x\ntimeline:\n  - {at: 1s, id: k, fault: kill, target: holder}\n  - {at: 2s, id: k, fault: kill, target: leader}\n", `f.yaml:4: timeline[1].id: "k" is there twice`},
		{"bad lock", "name: x\ntimeline: []\nexpect:\n  - {when: {lock: Red Lock}, safety: safe}\n", `f.yaml:4: expect[0].when.lock: lock "Red Lock"`},
		{"not for, and yet", "name: x\ntimeline: []\nexpect:\n  - {not_for: it locks nothing, safety: safe}\n", `f.yaml:4: expect[0].not_for: want only why the scenario does not apply`},
		{"not for what is hit", "name: x\ntimeline: []\nexpect:\n  - {when: {left: all}, not_for: it is not hit}\n", `f.yaml:4: expect[0].when: want only lock, agree, lease, keeps, replica where the scenario does not apply`},
		{"nothing said", "name: x\ntimeline: []\nexpect:\n  - {when: {lock: none}}\n", `f.yaml:4: expect[0]: want safety, liveness, served or not_for`},
		{"bad share", "name: x\ntimeline: []\nexpect:\n  - {served: 0.99}\n", `f.yaml:4: expect[0].served: "0.99": want a share of the operations, 0% to 100%`},
		{"bad liveness", "name: x\ntimeline: []\nexpect:\n  - {liveness: [live, dead]}\n", `f.yaml:4: expect[0].liveness[1]: "dead": want one of live, stalls, down, not-judged`},
		{"judged and not", "name: x\ntimeline: []\nexpect:\n  - {liveness: [live, not-judged]}\n", `f.yaml:4: expect[0].liveness: want not-judged alone, or one or more of live, stalls, down`},
		{"unknown fact", "name: x\ntimeline: []\nexpect:\n  - {when: {agreed: nobody}, safety: safe}\n", `f.yaml:4: expect[0].when: unknown field "agreed": want lock, agree, clients, cut, failover, fault, keeps, `},
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
		if k.Summary == "" {
			t.Errorf("%s has no summary", k.Name)
		}
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
			text := "name: x\nsummary: y\ntimeline:\n  - {" + strings.Join(pairs, ", ") + "}\nexpect: []\n"
			s, err := scenario.Parse("f.yaml", []byte(text), "")
			if err != nil {
				t.Errorf("%s: %v", text, err)
			} else if cut := s.Timeline[0].Fault.Cut; cut != "" && !slices.Contains(fault.Cuts(), cut) {
				t.Errorf("%s: rules do not know the cut %q", k.Name, cut)
			}
		}
	}
}

func TestBuiltinScenariosAreRight(t *testing.T) {
	for n, name := range scenario.Names() {
		s, err := scenario.Load(name, "")
		if err != nil || s.Name != name || s.Summary == "" {
			t.Errorf("file %s.yaml calls itself %q, or has no summary: %v", name, s.Name, err)
		}
		if n == 0 && len(s.Timeline) > 0 {
			t.Error("the first one breaks something")
		}
	}
}

// TestTitles: those of the built-in scenarios differ, and break into two lines of nine columns.
func TestTitles(t *testing.T) {
	fits := func(title string) bool {
		width := func(s string) (n int) {
			for _, r := range s {
				n += 1 + min(1, int(r)/0x1100) // Hangul has two columns
			}
			return n
		}
		for i, r := range title + " " {
			if r == ' ' && width(title[:i]) <= 9 && width(strings.TrimSpace(title[i:])) <= 9 {
				return true
			}
		}
		return false
	}
	seen := map[string]string{}
	for _, name := range scenario.Names() {
		s, err := scenario.Load(name, "a")
		must.Do(t, err)
		for _, title := range []string{s.Title, s.TitleKO} {
			if other, twice := seen[title]; twice || !fits(title) {
				t.Errorf("%s: the title %q is that of %q, or does not fit", name, title, other)
			}
			seen[title] = name
		}
	}
	if s, err := scenario.Parse("mine.yaml", []byte("{name: mine, timeline: []}"), "a"); err != nil || s.Title != "mine" || s.TitleKO != "mine" {
		t.Errorf("without a title: %q, %q, %v", s.Title, s.TitleKO, err)
	}
}

func TestFaultsMustFitIntoTheRun(t *testing.T) {
	for _, c := range []struct {
		times    string
		measured time.Duration
		want     string // of the error; "" if it fits
	}{
		{"at: 30%, for: 35%", time.Second, ""},
		{"at: 65%, for: 35%", time.Second, ""},
		{"at: 1s, for: 1s", 2 * time.Second, ""},
		{"at: 1s", 2 * time.Second, ""},
		{"at: 0s", time.Second, ""},
		{"at: 5s", 2 * time.Second, "f.yaml:4: fault kill-1 is on from 5s to 2s of a run of 2s: want at least 100ms of it"},
		{"at: 2s", 2 * time.Second, "from 2s to 2s"},
		{"at: 1s, for: 1500ms", 2 * time.Second, "from 1s to 2.5s of a run of 2s"},
		{"at: 30%, for: 2s", 2 * time.Second, "from 600ms to 2.6s"},
		{"at: 30%, for: 2s", 2900 * time.Millisecond, ""},
		{"at: 99%, for: 1%", 1900 * time.Millisecond, "from 1.881s to 1.9s of a run of 1.9s"},
		{"at: 99%, for: 1%", 10 * time.Second, ""},
		{"at: 1990ms", 2 * time.Second, "from 1.99s to 2s"},
	} {
		s, err := scenario.Parse("f.yaml", []byte(step(c.times+", fault: kill, target: holder")), "")
		must.Do(t, err)
		err = s.CheckTimes(c.measured)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s in %v: %v", c.times, c.measured, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, scenario.ErrInvalid)):
			t.Errorf("%s in %v: got %v, want %q", c.times, c.measured, err, c.want)
		}
	}
}
