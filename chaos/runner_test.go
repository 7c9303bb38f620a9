package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/chaos/fault"
	"locklab/internal/damage"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// TestFaults plays one step each in virtual time: what is done, what is recorded, and
// whether it is believed. What links, agents and programs say that they did is no proof.
func TestFaults(t *testing.T) {
	const (
		cut      = "fault: partition, between: [zone:a, others], mode: hold"
		whole    = "asked began heal-asked ended"
		never    = "asked unproven heal-asked ended"
		stays    = "asked began heal-asked unproven"
		program  = `fault: external, target: "zone:a", run: [fis], effect: partition`
		stopping = `fault: external, target: "zone:a", run: [fis], effect: stop`
		told     = "start [fis] [], stop [fis]"
	)
	deaf := func(s *stage) { s.deaf = true }
	noise := func(deaf bool, varies func(time.Duration, uint64) time.Duration) func(*stage) {
		return func(s *stage) { s.deaf, s.varies = deaf, varies }
	}
	busy := func(at time.Duration, n uint64) time.Duration { // most round trips get longer when the fault is to begin
		if at >= time.Second && n%3 != 0 {
			return 20 * time.Millisecond
		}
		return 0
	}
	mixed := func(_ time.Duration, n uint64) time.Duration { return time.Duration(n%8) * 2 * time.Millisecond }
	hiccup := func(_ time.Duration, n uint64) time.Duration { // of any machine, every 60 ms
		if n%12 == 0 {
			return 30 * time.Millisecond
		}
		return 0
	}
	ignored := func(verb string) func(*stage) { return func(s *stage) { s.ignored = verb } }
	late := func(d time.Duration) func(*stage) { return func(s *stage) { s.takes["pause"] = d } }
	external := func(setup func(s *stage)) func(*stage) {
		return func(s *stage) {
			s.begin, s.end = cutZoneA(s.config.Links)
			setup(s)
		}
	}
	stopped := func(gone, cut bool) func(*stage) {
		return external(func(s *stage) {
			begin, end := s.begin, s.end
			s.begin = func(ctx context.Context) error {
				if s.away = gone; !cut {
					return nil
				}
				return begin(ctx)
			}
			s.end = func(ctx context.Context) error { s.away = false; return end(ctx) }
		})
	}
	for name, c := range map[string]struct {
		setup    func(*stage)
		step     string
		measured time.Duration // 10 s if it is 0
		why      string        // it is not proven; "" if it is
		states   string        // that it went through; "" is any
		calls    string        // "" is none, "*" any
		err      string        // of the run
	}{
		"a cut":                        {nil, cut, 0, "", whole, "", ""},
		"a cut of probes alone":        {func(s *stage) { s.probesOnly = true }, cut, 0, "before it was healed: 100 bytes passed from host ", "asked began heal-asked unproven ended", "", ""},
		"no cut":                       {deaf, cut, 0, "still hears", never, "", ""},
		"no delay":                     {deaf, "fault: latency, between: [zone:a, others], delay: 20ms", 0, "on the wrong side of", never, "", ""},
		"no stalls":                    {deaf, "fault: flaky, between: [zone:a, others], loss: 0.5, stall: 40ms", 0, "no probe was stalled on 8 of 8 ways", never, "", ""},
		"a delay":                      {nil, "for: 4s, fault: latency, between: [zones], delay: 2ms", 0, "", whole, "", ""},
		"a delay beside noise":         {noise(false, mixed), "for: 4s, fault: latency, between: [zones], delay: 20ms", 0, "", whole, "", ""},
		"a delay less than noise":      {noise(false, mixed), "for: 4s, fault: latency, between: [zones], delay: 5ms", 0, "varied by", "", "", ""},
		"no delay on a busy machine":   {noise(true, busy), "for: 4s, fault: latency, between: [zones], delay: 10ms", 0, "on the wrong side of", "", "", ""},
		"hiccups are no stalls":        {noise(true, hiccup), "for: 4s, fault: flaky, between: [zones], loss: 0.5, stall: 40ms", 0, "no probe was stalled on ", "", "", ""},
		"a delay, and no probe before": {func(s *stage) { s.silentUntil = 4 * time.Second }, "for: 4s, fault: latency, between: [zones], delay: 5ms", 0, "before the fault: want 8", "", "", ""},
		"a kill that did nothing":      {ignored("kill"), "fault: kill, target: node:master-a", 0, "node master-a is ready, not ended", never, "*", ""},
		"a resume that did nothing":    {ignored("resume"), "fault: pause, target: node:master-a", 0, "node master-a is paused, not ready", stays, "*", ""},
		"a restart that did nothing":   {ignored("restart"), "fault: kill, target: node:master-a", 0, "node master-a is ended, not ready", stays, "*", ""},
		"a kill that is refused":       {func(s *stage) { s.refuses = errors.New("the agent said no") }, "fault: kill, target: node:master-a", 0, "the agent said no", "", "*", ""},
		"a pause that somebody else ends": {func(s *stage) {
			clock.System().AfterFunc(1500*time.Millisecond, func() { _ = s.order(context.Background(), "continue", "", "master-a", history.NodeReady) })
		}, "fault: pause, target: node:master-a", 0, "node master-a is ready, not paused", "", "*", ""},
		// 3 s lease and a margin, less 1 s
		"a clock":                  {nil, "fault: clock-step, target: node:redis-a, by: -1m", 0, "", whole, "clock redis-a -1m0s, clock redis-a 0s", ""},
		"a clock that stays right": {ignored("clock"), "fault: clock-step, target: node:redis-a, by: 1m", 0, "is off by 20ms, not by 1m0s", never, "*", ""},
		"a clock that stays wrong": {func(s *stage) {
			clock.System().AfterFunc(1500*time.Millisecond, func() { s.mu.Lock(); s.ignored = "clock"; s.mu.Unlock() })
		}, "fault: clock-step, target: node:redis-a, by: 1m", 0, "is off by 1m0.02s, not by 0s", stays, "*", ""},
		"a clock that was wrong":        {func(s *stage) { _ = s.SetClock(context.Background(), "redis-a", time.Second, 1) }, "fault: clock-step, target: node:redis-a, by: 1m", 0, "is off by 1.02s, not by 0s", "", "*", ""},
		"a clock that runs fast":        {nil, "fault: clock-drift, target: node:redis-a, rate: 1.5", 0, "", whole, "clock redis-a 0s, clock redis-a 0s x1.5", ""},
		"a clock that does not drift":   {ignored("clock"), "fault: clock-drift, target: node:redis-a, rate: 2", 0, "the clock of node redis-a is off by 20ms, not by ", never, "*", ""},
		"a slow disk":                   {nil, "fault: slow-disk, target: node:redis-a, delay: 100ms", 0, "", whole, "disk redis-a 0s, disk redis-a 100ms", ""},
		"a disk that stays as it is":    {ignored("disk"), "fault: slow-disk, target: node:redis-a, delay: 100ms", 0, "is not as the fault left it", never, "*", ""},
		"a slow disk that nobody uses":  {ignored("sync"), "fault: slow-disk, target: node:redis-a, delay: 100ms", 0, "node redis-a has used its disk for nothing", never, "*", ""},
		"a disk too slow for its fault": {nil, "for: 200ms, fault: slow-disk, target: node:redis-a, delay: 1s", 0, "no fsync of node redis-a has taken 1s yet", "", "*", ""},
		"a full disk":                   {nil, "fault: full-disk, target: node:redis-a", 0, "", whole, "disk redis-a 0s, disk redis-a full, restart redis-a", ""},
		"a full disk of which one ends": {func(s *stage) { s.dies = true }, "fault: full-disk, target: node:redis-a", 0, "", whole, "disk redis-a 0s, disk redis-a full, restart redis-a", ""},
		"a disk that somebody empties": {func(s *stage) {
			clock.System().AfterFunc(1500*time.Millisecond, func() { _ = s.SetDisk(context.Background(), "redis-a", damage.Disk{}) })
		}, "fault: full-disk, target: node:redis-a", 0, "is not as the fault left it", "", "*", ""},
		"a power cut":                 {nil, "fault: power-loss, target: node:redis-a", 0, "", "asked lost began heal-asked ended", "cut power redis-a, restart redis-a", ""},
		"a torn one":                  {nil, "fault: power-loss, target: node:redis-a, torn: on", 0, "", "asked lost began heal-asked ended", "cut power torn redis-a, restart redis-a", ""},
		"one that cannot be followed": {func(s *stage) { s.refuses = errors.New("it maps its file") }, "fault: power-loss, target: node:redis-a", 0, "it maps its file", "", "*", ""},
		"one without a disk":          {nil, "fault: power-loss, target: node:master-a", 0, "", whole, "kill master-a, restart master-a", ""},
		"a zone without power":        {nil, `fault: zone-failure, target: "zone:a", power: on`, 20 * time.Second, "", "asked lost began heal-asked ended", "cut power redis-a, kill master-a, restart master-a, restart redis-a", ""},
		"a point":                     {nil, "fault: pause, target: node:master-a, point: granted", 0, "", whole, "pause at granted master-a, resume master-a", ""},
		"a point that nobody passes":  {ignored("point"), "fault: pause, target: node:master-a, point: granted", 0, "did not come to granted", never, "*", ""},
		"a short pause at a point":    {nil, "for: 300ms, fault: pause, target: node:master-a, point: releasing", 0, "", whole, "*", ""},
		"a clock that somebody sets right": {func(s *stage) {
			clock.System().AfterFunc(1500*time.Millisecond, func() { _ = s.SetClock(context.Background(), "redis-a", 0, 1) })
		}, "fault: clock-step, target: node:redis-a, by: 1m", 0, "is off by 20ms, not by 1m0s", "", "*", ""},
		"a zone that forgets": {nil, `fault: zone-failure, target: "zone:a", lose_data: [redis]`, 20 * time.Second, "", "asked began heal-asked ended", "kill master-a, kill redis-a, restart master-a, restart wiped at 4.25s redis-a", ""},
		// A master that lived on behind cut links would act as in a partition.
		"a zone whose links live longer": {func(s *stage) {
			s.takes["kill"] = 5 * time.Millisecond
			s.onApply = func() {
				for _, node := range []string{"master-a", "redis-a"} {
					if state, _ := s.State(context.Background(), node); state != history.NodeEnded {
						s.refuses = fmt.Errorf("%s is %s when the links are cut", node, state)
					}
				}
			}
		}, `fault: zone-failure, target: "zone:a"`, 20 * time.Second, "", whole, "*", ""},
		"back only after the run":      {nil, `fault: kill, target: "role:redis", lose_data: [redis]`, 4 * time.Second, "", "asked began heal-asked away", "kill redis-a", ""},
		"a holder that is waited for":  {func(s *stage) { clock.System().AfterFunc(1300*time.Millisecond, func() { s.hold("master-c") }) }, "for: 2s, fault: pause, target: holder", 0, "", whole, "pause master-c, resume master-c", ""},
		"no leader":                    {nil, "fault: kill, target: leader", 0, "no leader", "", "", ""},
		"no holder":                    {nil, "fault: kill, target: holder", 0, "no holder", "", "", ""},
		"no zone":                      {nil, `fault: kill, target: "zone:x"`, 0, "zone:x", "", "", ""},
		"a search that takes for ever": {func(s *stage) { s.leader = searching }, "fault: kill, target: leader", 0, "no raft server leads", "", "", ""},
		"begun a little late":          {late(400 * time.Millisecond), "for: 2s, fault: pause, target: node:master-a", 5 * time.Second, "", "", "*", ""},
		"begun late, to last as long":  {late(600 * time.Millisecond), "for: 2s, fault: pause, target: node:master-a", 5 * time.Second, "", "", "*", ""},
		"a shorter one, a little late": {late(40 * time.Millisecond), "for: 100ms, fault: pause, target: node:master-a", 5 * time.Second, "", "", "*", ""},
		"to the end of the run":        {nil, "at: 4900ms, fault: pause, target: node:master-a", 5 * time.Second, "", "", "*", ""},
		"too late for the run":         {late(60 * time.Millisecond), "at: 4900ms, fault: pause, target: node:master-a", 5 * time.Second, "meant to be for", "", "*", ""},
		"a program":                    {external(func(*stage) {}), program, 0, "", whole, told, ""},
		"a program that did nothing":   {nil, program, 0, "still hears", never, told, ""},
		"a program that fails": {func(s *stage) {
			s.begin = func(context.Context) error { return errors.New("run fis-start: exit status 3: no such zone") }
		}, program, 0, "exit status 3: no such zone", never, told, ""},
		"a program that takes its time": {external(func(s *stage) { // as long as it comes before its end
			s.config.ProofTime = 400 * time.Millisecond
			begin := s.begin
			s.begin = func(context.Context) error {
				clock.System().AfterFunc(800*time.Millisecond, func() { _ = begin(context.Background()) })
				return nil
			}
		}), "for: 4s, " + program, 0, "", whole, told, ""},
		// An error, as it would spoil the next run.
		"a program that does not end":   {func(s *stage) { s.end = func(context.Context) error { return errors.New("the cloud says no") } }, program, 0, "still hears", "asked unproven heal-asked unproven", told, "the cloud says no"},
		"a stop":                        {stopped(true, true), stopping, 0, "", whole, "start [fis] [a1 a2], stop [fis]", ""},
		"a stop whose hosts answer":     {stopped(true, false), stopping, 0, "still gets answers of", "", "*", ""},
		"a stop whose agents are there": {stopped(false, true), stopping, 0, "still answers the controller", "", "*", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, start := newStage(), clock.Mono()
				if c.setup != nil {
					c.setup(s)
				}
				step, measured := "id: f, "+c.step, c.measured
				for key, usual := range map[string]string{"at:": "at: 1s, ", "for:": "for: 1s, "} {
					if !strings.Contains(c.step, key) && (key == "at:" || !strings.Contains(c.step, "at: 4900ms")) {
						step = usual + step
					}
				}
				if measured == 0 {
					measured = 10 * time.Second
				}
				ledger, err := s.run(t.Context(), t, "  - {"+step+"}", measured)
				if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				s.healed(t)
				if len(ledger) != 1 || proven(ledger) != (c.why == "") || !strings.Contains(ledger[0].why, c.why) {
					t.Errorf("ledger %+v, want %q", ledger, c.why)
				}
				if got := s.states("f"); c.states != "" && got != c.states {
					t.Errorf("recorded %s, want %s", got, c.states)
				}
				if got := s.called(); c.calls != "*" && got != c.calls {
					t.Errorf("called %s, want %s", got, c.calls)
				}
				if took := time.Duration(clock.Mono() - start); took > 11*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// searching looks for a leader for as long as it is given.
func searching(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", fmt.Errorf("no raft server leads: %w", fault.ErrNoTarget)
}

// TestTheHistorySaysWhatIsHit: both sides of a cut, the nodes of hosts that go away, who
// held.
func TestTheHistorySaysWhatIsHit(t *testing.T) {
	for step, want := range map[string]string{
		"fault: partition, between: [zone:a, others], mode: hold":                              "zone:a <-> others: [a1 a2] [c1] []",
		`fault: external, target: "zone:a", run: [fis, a, stop], effect: stop`:                 "zone:a (fis a stop): [a1 a2] [c1] [master-a redis-a]",
		`fault: external, target: "zone:a", run: [fis, a, partition], effect: partition`:       "zone:a (fis a partition): [a1 a2] [c1] []",
		"fault: pause, target: holder":                                                         "holder (master-c): [] [] [master-c]",
		"fault: partition, between: [others, holder], mode: hold":                              "others <-> holder (master-c): [a1 a2] [c1] []",
		"fault: flap, between: [zone:a, zone:c], mode: reset, down: 300ms, up: 700ms, for: 3s": "zone:a <-> zone:c: [a1 a2] [c1] []",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage()
			s.hold("master-c")
			if !strings.Contains(step, "for:") {
				step += ", for: 1s"
			}
			if _, err := s.run(t.Context(), t, "  - {at: 1s, "+step+"}", 10*time.Second); err != nil {
				t.Error(err)
			}
			e := s.events[0]
			if got := fmt.Sprint(e.Target, ": ", e.From, " ", e.To, " ", e.Nodes); got != want {
				t.Errorf("%s: recorded %s, want %s", step, got, want)
			}
		})
	}
}

// TestTwoFaultsOfOneNode: the end of the first undoes the second, which is seen.
func TestTwoFaultsOfOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger, err := newStage().run(t.Context(), t, `
  - {at: 1s, for: 4s, fault: kill, target: node:redis-a}
  - {at: 2s, for: 4s, fault: kill, target: role:redis}`, 10*time.Second)
		if err != nil || len(ledger) != 2 || ledger[1].why == "" || !strings.Contains(ledger[1].why, "redis-a is ready, not ended") {
			t.Errorf("ledger %+v, %v", ledger, err)
		}
	})
}

func TestTimelineIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := newStage(), clock.Mono()
		clock.System().AfterFunc(7795*time.Millisecond, func() { s.hold("master-c") }) // is waited for, and then hit for as long
		ledger, err := s.run(t.Context(), t, `
  - {at: 10%, for: 20%, fault: partition, between: [zone:a, others], mode: hold}
  - {at: 4s, for: 2s, id: flap, fault: flap, between: [zone:a, zone:c], mode: reset, down: 300ms, up: 700ms}
  - {at: 6s, for: 1s, fault: pause, target: "node:master-c"}
  - {at: 7500ms, for: 1s, fault: pause, target: holder}
  - {at: 90%, fault: kill, target: "role:redis"}`, 10*time.Second)
		s.healed(t)
		if err != nil || !proven(ledger) || ledger[2].id != "flap#2" || s.states("flap#2") != "asked began heal-asked ended" {
			t.Fatalf("ledger %+v, %v", ledger, err)
		}
		var got [][2]time.Duration
		for _, e := range ledger {
			got = append(got, [2]time.Duration{time.Duration(e.asked - start), time.Duration(e.healAsked - start)})
		}
		const s1, ms = time.Second, time.Millisecond
		want := [][2]time.Duration{{s1, 3 * s1}, {4 * s1, 4300 * ms}, {5 * s1, 5300 * ms}, {6 * s1, 7 * s1}, {7800 * ms, 8800 * ms}, {9 * s1, 10 * s1}}
		if !slices.Equal(got, want) {
			t.Errorf("asked and healed at %v, want %v", got, want)
		}
	})
}

func TestCancelHealsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := newStage(), clock.Mono()
		s.fails = 3 // healing is tried again
		ctx, cancel := context.WithCancel(t.Context())
		clock.System().AfterFunc(2*time.Second, cancel)
		ledger, err := s.run(ctx, t, `
  - {at: 1s, fault: partition, id: cut, between: [zone:a, others], mode: hold}
  - {at: 1s, fault: pause, target: "node:master-a"}
  - {at: 5s, fault: kill, target: "node:master-c"}`, time.Hour)
		if took := time.Duration(clock.Mono() - start); err != nil || took > 3*time.Second {
			t.Errorf("returned after %v: %v", took, err)
		}
		s.healed(t)
		if got := s.called(); got != "pause master-a, resume master-a" {
			t.Errorf("called %s", got)
		}
		if len(ledger) != 2 || s.states("cut") != "asked began heal-asked ended" { // the third was never asked for
			t.Errorf("ledger %+v, recorded %s", ledger, s.states("cut"))
		}
	})
}

// TestCancelEndsPrograms, also while they begin.
func TestCancelEndsPrograms(t *testing.T) {
	for name, wait := range map[string]func(context.Context) error{
		"while it lasts":  func(context.Context) error { return nil },
		"while it begins": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage()
			ctx, cancel := context.WithCancel(t.Context())
			s.begin = func(ctx context.Context) error {
				clock.System().AfterFunc(time.Millisecond, cancel)
				return wait(ctx)
			}
			s.end = func(ctx context.Context) error { return ctx.Err() } // it has time of its own
			_, err := s.run(ctx, t, `  - {at: 100ms, for: 20s, fault: external, target: "zone:a", run: [fis], effect: partition}`, 30*time.Second)
			if got := s.called(); err != nil || got != "start [fis] [], stop [fis]" {
				t.Errorf("%s: called %s, %v", name, got, err)
			}
		})
	}
}
