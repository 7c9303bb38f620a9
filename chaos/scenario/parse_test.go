package scenario_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/chaos/fault"
	"locklab/chaos/scenario"
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
	s, err := scenario.Parse("f.yaml", []byte(strings.Replace(right, "from: zone: a", "from: zone:a", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Timeline) != 2 || s.Timeline[0].ID != "cut" || s.Timeline[1].ID != "flaky-2" {
		t.Fatalf("%+v", s.Timeline)
	}
	cut, flaky := s.Timeline[0], s.Timeline[1]
	if !slices.Equal(cut.Fault.Between, []string{"zone:a", "others"}) || cut.Fault.Mode != "hold" {
		t.Errorf("%+v", cut)
	}
	if flaky.Fault.From != "zone:a" || flaky.Fault.To != "host:h1" || flaky.Fault.Loss != 0.05 || flaky.Fault.Stall != 200*time.Millisecond {
		t.Errorf("%+v", flaky)
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
	s, err := scenario.Parse("f.yaml", []byte(text))
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

func TestExpect(t *testing.T) {
	s, err := scenario.Parse("f.yaml", []byte(strings.Replace(right, "from: zone: a", "from: zone:a", 1)))
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
		{"list", "- a\n", "f.yaml:1: scenario: want fields (name, summary, min_duration, hold, timeline, expect)"},
		{"broken", "name: [\n", "f.yaml:2: did not find expected node content"},
		{"no name", "timeline: []\n", "f.yaml:1: name: want one"},
		{"bad name", "name: Ünfug\ntimeline: []\n", "f.yaml:1: name: \"Ünfug\": want lower-case"},
		{"no timeline", "name: x\n", "f.yaml:1: timeline: want a list of faults, or [] for none"},
		{"unknown field", "name: x\ntimeline: []\nexpects: {}\n", `f.yaml:3: scenario: unknown field "expects": want name, summary, min_duration, hold, timeline, expect`},
		{"twice", "name: x\nname: y\ntimeline: []\n", "f.yaml:2: "},
		{"timeline is a word", "name: x\ntimeline: now\n", "f.yaml:2: timeline: want a list"},
		{"step is a word", "name: x\ntimeline:\n  - kill\n", "f.yaml:3: timeline step 1: want fields"},
		{"no at", step("fault: kill, target: holder"), "f.yaml:4: timeline step 1: want at: and fault:"},
		{"at the end", step("at: 100%, fault: kill, target: holder"), "f.yaml:4: timeline step 1: no run is long enough for it: want at and for of less than 100%"},
		{"past the end", step("at: 90%, for: 35%, fault: kill, target: holder"), "f.yaml:4: timeline step 1: no run is long enough for it: want at and for of less than 100%"},
		{"bad hold", "name: x\nhold: long\ntimeline: []\n", "f.yaml:2: hold: want a duration above 0"},
		{"bad at", step("at: soon, fault: kill, target: holder"), `f.yaml:4: at: "soon": want a share of the measured time, 0% to 100%, or a duration such as 2s`},
		{"late", step("at: 130%, fault: kill, target: holder"), `f.yaml:4: at: "130%": want a share`},
		{"for nothing", step("at: 1s, for: 0s, fault: kill, target: holder"), "f.yaml:4: for: want more than 0"},
		{"unknown fault", step("at: 1s, fault: earthquake"), `f.yaml:4: timeline step 1: fault: unknown kind "earthquake": want one of bandwidth, external, flaky, flap, `},
		{"foreign field", step("at: 1s, fault: kill, target: holder, delay: 1ms"), "f.yaml:4: timeline step 1: delay: a kill has no such field: it has target, lose_data"},
		{"unknown step field", step("at: 1s, fault: kill, tarket: holder"), `f.yaml:4: timeline: unknown field "tarket": want at, for, id, fault, `},
		{"missing field", step("at: 1s, fault: latency, between: [zones]"), "f.yaml:4: timeline step 1: delay: a latency needs it"},
		{"bad duration", step("at: 1s, fault: latency, between: [zones], delay: 20"), "f.yaml:4: delay: want a duration above 0, up to 1m0s, such as 5ms"},
		{"bad mode", step("at: 1s, fault: partition, between: [zones], mode: cut"), `f.yaml:4: timeline step 1: mode: "cut": want hold, drop or reset`},
		{"one-way reset", step("at: 1s, fault: partition, from: zone:a, to: others, mode: reset"), "f.yaml:4: timeline step 1: mode: a reset hits both ways"},
		{"both and one way", step("at: 1s, fault: partition, between: [zones], from: zone:a, to: others, mode: hold"), "f.yaml:4: timeline step 1: between: want either between"},
		{"no side", step("at: 1s, fault: partition, mode: hold"), "f.yaml:4: timeline step 1: between: want either between"},
		{"half a side", step("at: 1s, fault: partition, from: zone:a, mode: hold"), `f.yaml:4: timeline step 1: to: "": want zone:NAME, role:NAME`},
		{"others twice", step("at: 1s, fault: partition, between: [others, others], mode: hold"), `f.yaml:4: timeline step 1: between: "others": want zone:NAME`},
		{"three sides", step("at: 1s, fault: partition, between: [zone:a, zone:b, zone:c], mode: hold"), "f.yaml:4: timeline step 1: between: want two selectors"},
		{"bad selector", step("at: 1s, fault: kill, target: redis-3"), `f.yaml:4: timeline step 1: target: "redis-3": want zone:NAME, role:NAME, node:NAME, host:NAME, holder or leader`},
		{"zone failure of a node", step("at: 1s, fault: zone-failure, target: holder"), "f.yaml:4: timeline step 1: target: want zone:NAME"},
		{"fast flap", step("at: 1s, fault: flap, between: [zones], mode: hold, down: 1ms, up: 1s"), "f.yaml:4: timeline step 1: down: want at least 60ms"},
		{"loss", step("at: 1s, fault: flaky, between: [zones], loss: 5, stall: 1ms"), "f.yaml:4: timeline step 1: loss: want a share above 0, up to 1"},
		{"loss is not a number", step("at: 1s, fault: flaky, between: [zones], loss: NaN, stall: 1ms"), "f.yaml:4: timeline step 1: loss: want a share"},
		{"rate", step("at: 1s, fault: bandwidth, between: [zones], bytes_per_s: 1.5"), "f.yaml:4: bytes_per_s: want a whole number above 0"},
		{"for of a restart", step("at: 1s, for: 1s, fault: restart, target: holder"), "f.yaml:4: timeline step 1: for: a restart has no such field"},
		{"nothing to run", step("at: 1s, fault: external, effect: stop, target: zone:c"), "f.yaml:4: timeline step 1: run: an external needs it"},
		{"no word", step("at: 1s, fault: external, run: [], effect: stop, target: zone:c"), "f.yaml:4: timeline step 1: run: want a name and up to 7 arguments, such as [fis, c, partition]"},
		{"a path", step("at: 1s, fault: external, run: [/bin/sh, x], effect: stop, target: zone:c"), `f.yaml:4: timeline step 1: run: "/bin/sh": want words of up to 32 lower-case letters, digits and dashes`},
		{"an option", step("at: 1s, fault: external, run: [fis, --region], effect: stop, target: zone:c"), `f.yaml:4: timeline step 1: run: "--region": want words`},
		{"a shell", step("at: 1s, fault: external, run: [fis, \"c; reboot\"], effect: stop, target: zone:c"), `f.yaml:4: timeline step 1: run: "c; reboot": want words`},
		{"many words", step("at: 1s, fault: external, run: [a, b, c, d, e, f, g, h, i], effect: stop, target: zone:c"), "f.yaml:4: timeline step 1: run: want a name and up to 7"},
		{"unknown effect", step("at: 1s, fault: external, run: [fis], effect: fire, target: zone:c"), `f.yaml:4: timeline step 1: effect: "fire": want partition or stop`},
		{"external holder", step("at: 1s, fault: external, run: [fis], effect: stop, target: holder"), `f.yaml:4: timeline step 1: target: "holder": want zone:NAME or host:NAME`},
		{"min duration", "name: x\nmin_duration: long\ntimeline: []\n", "f.yaml:2: min_duration: want a duration above 0, up to 1h, such as 3m"},
		{"id twice", "name: x\ntimeline:\n  - {at: 1s, id: k, fault: kill, target: holder}\n  - {at: 2s, id: k, fault: kill, target: leader}\n", `f.yaml:4: id: "k" is there twice`},
		{"bad lock", "name: x\ntimeline: []\nexpect:\n  Red Lock: {safety: safe}\n", `f.yaml:4: expect: lock "Red Lock"`},
		{"bad safety", "name: x\ntimeline: []\nexpect:\n  none: {safety: maybe}\n", `f.yaml:4: expect none safety: "maybe": want one of safe, unsafe`},
		{"bad availability", "name: x\ntimeline: []\nexpect:\n  none: {availability: {outside: 0.99}}\n", `f.yaml:4: expect none availability outside: "0.99": want a share of the operations, 0% to 100%`},
		{"too available", "name: x\ntimeline: []\nexpect:\n  none: {availability: {during: 101%}}\n", `f.yaml:4: expect none availability during: "101%"`},
		{"unknown availability", "name: x\ntimeline: []\nexpect:\n  none: {availability: {after: 1%}}\n", `f.yaml:4: expect none availability: unknown field "after": want outside, during`},
		{"bad liveness", "name: x\ntimeline: []\nexpect:\n  none:\n    liveness: [live, dead]\n", `f.yaml:5: expect none liveness: "dead": want one of live, stalls, down`},
		{"bad topology", "name: x\ntimeline: []\nexpect:\n  none:\n    topologies:\n      t: {savety: safe}\n", `f.yaml:6: expect none in t: unknown field "savety": want safety, liveness`},
		{"two documents", "name: x\ntimeline: []\n---\nname: y\n", "f.yaml:1: want exactly one YAML document"},
		{"bomb", "a: &a [x,x]\nb: *a\n", "f.yaml:1: anchors and aliases are not supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := scenario.Parse("f.yaml", []byte(c.text))
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
	if err := os.WriteFile(path, []byte("name: mine\ntimeline: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := scenario.Load(path); err != nil || s.Name != "mine" {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, missing := range []string{"no-such-scenario", "", "../builtin/baseline", t.TempDir()} {
		if _, err := scenario.Load(missing); !errors.Is(err, scenario.ErrInvalid) {
			t.Errorf("%q: %v", missing, err)
		}
	}
	if _, err := scenario.Load("zone-partitoin"); err == nil || !strings.Contains(err.Error(), "zone-partition,") {
		t.Errorf("a misspelt name should be answered with the right ones: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(right))
	f.Add([]byte("timeline: !x"))
	f.Add([]byte("name: x\ntimeline:\n  - {at: 2500000h, for: 2500000h, fault: kill, target: leader}\n"))
	for _, name := range scenario.Names() {
		text, err := os.ReadFile("builtin/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := scenario.Parse("f.yaml", text)
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
			if n := len(fault.Windows(step.Fault, w.From, w.Until)); n > 200 {
				t.Fatalf("%d windows of %+v", n, step)
			}
		}
	})
}
