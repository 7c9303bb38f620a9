package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/chaos"
	"locklab/chaos/link"
	"locklab/locks/clock"
)

// outside breaks things behind the lab's back.
type outside struct {
	begin, end func(context.Context) error

	mu    sync.Mutex
	calls []string
}

func (o *outside) note(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, fmt.Sprintf(format, args...))
}

func (o *outside) called() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.calls)
}

func (o *outside) Start(ctx context.Context, run, hosts []string) error {
	o.note("start %v %v", run, hosts)
	return o.begin(ctx)
}

func (o *outside) Stop(ctx context.Context, run []string) error {
	o.note("stop %v", run)
	return o.end(ctx)
}

func nothing(context.Context) error { return nil }

// cutZoneA impairs the links themselves, as a network would.
func cutZoneA(links map[string]chaos.LinkControl, kind link.Kind) *outside {
	impair := func(ctx context.Context, host string, to ...string) error {
		return links[host].Apply(ctx, link.Impairment{ID: "real trouble", Kind: kind, Direction: link.Both, ToHosts: to})
	}
	return &outside{
		begin: func(ctx context.Context) error {
			return errors.Join(impair(ctx, "a1", "c1"), impair(ctx, "a2", "c1"), impair(ctx, "c1", "a1", "a2"))
		},
		end: func(ctx context.Context) error {
			var errs []error
			for _, host := range []string{"a1", "a2", "c1"} {
				errs = append(errs, links[host].Heal(ctx, "real trouble"))
			}
			return errors.Join(errs...)
		},
	}
}

func runExternal(ctx context.Context, t *testing.T, config chaos.Config, fields string) (chaos.Ledger, error) {
	t.Helper()
	runner, err := chaos.NewRunner(config)
	if err != nil {
		t.Fatal(err)
	}
	return runner.Run(ctx, parse(t, "  - {at: 100ms, id: x, fault: external, target: \"zone:a\", "+fields+"}"), 30*time.Second, clock.Mono())
}

func TestExternalPartitionIsProven(t *testing.T) {
	config, rec := lab(t)
	trouble := cutZoneA(config.Links, link.Drop)
	config.External = trouble
	ledger, err := runExternal(t.Context(), t, config, "for: 500ms, run: [fis, a, partition], effect: partition")
	if err != nil {
		t.Fatal(err)
	}
	if len(ledger) != 1 || !ledger.Proven() || ledger[0].Target != "zone:a (fis a partition)" {
		t.Fatalf("ledger %+v, want one proven fault", ledger)
	}
	e := ledger[0]
	if e.Asked > e.Began || e.Began >= e.HealAsked || e.HealAsked > e.Ended {
		t.Errorf("out of order: %+v", e)
	}
	if got := rec.states("x"); !slices.Equal(got, []string{"asked", "began", "heal-asked", "ended"}) {
		t.Errorf("recorded %v", got)
	}
	if got := trouble.called(); !slices.Equal(got, []string{"start [fis a partition] []", "stop [fis a partition]"}) {
		t.Errorf("called %v", got)
	}
}

// TestExternalFaultThatTakesItsTime is proven although it comes late, as long as
// it comes before its end.
func TestExternalFaultThatTakesItsTime(t *testing.T) {
	config, _ := lab(t)
	config.ProofTime = 400 * time.Millisecond
	trouble := cutZoneA(config.Links, link.Drop)
	begin := trouble.begin
	done := make(chan error, 1)
	trouble.begin = func(context.Context) error { // it is on its way
		config.Clock.AfterFunc(800*time.Millisecond, func() { done <- begin(context.WithoutCancel(t.Context())) })
		return nil
	}
	config.External = trouble
	ledger, err := runExternal(t.Context(), t, config, "for: 4s, run: [fis], effect: partition")
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	if len(ledger) != 1 || !ledger.Proven() {
		t.Fatalf("ledger %+v, want one proven fault", ledger)
	}
}

func TestExternalFaultThatIsNotThereIsNotProven(t *testing.T) {
	fails := func(context.Context) error { return errors.New("run fis-start: exit status 3: no such zone") }
	for name, c := range map[string]struct {
		external chaos.External
		why      string
	}{
		"it did nothing": {&outside{begin: nothing, end: nothing}, "still hears"},
		"it failed":      {&outside{begin: fails, end: nothing}, "exit status 3: no such zone"},
		"not allowed":    {nil, "no external programs are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			config, rec := lab(t)
			config.ProofTime = 300 * time.Millisecond
			config.External = c.external
			ledger, err := runExternal(t.Context(), t, config, "for: 200ms, run: [fis], effect: partition")
			if err != nil {
				t.Fatal(err)
			}
			if len(ledger) != 1 || ledger[0].Proven || !strings.Contains(ledger[0].Why, c.why) {
				t.Fatalf("ledger %+v, want one unproven fault: %s", ledger, c.why)
			}
			said := ""
			for _, e := range rec.events {
				if e.State == "unproven" {
					said = e.Error
				}
			}
			if !strings.Contains(said, c.why) {
				t.Errorf("the history says %q, want %q", said, c.why)
			}
			if o, ok := c.external.(*outside); ok && !slices.Contains(o.called(), "stop [fis]") {
				t.Errorf("called %v: it was not stopped", o.called())
			}
		})
	}
}

// TestExternalFaultIsStoppedOnAbort, also while it begins.
func TestExternalFaultIsStoppedOnAbort(t *testing.T) {
	for name, c := range map[string]func(began chan<- struct{}) func(context.Context) error{
		"while it lasts": func(began chan<- struct{}) func(context.Context) error {
			return func(context.Context) error { close(began); return nil }
		},
		"while it begins": func(began chan<- struct{}) func(context.Context) error {
			return func(ctx context.Context) error { close(began); <-ctx.Done(); return ctx.Err() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			config, _ := lab(t)
			ctx, cancel := context.WithCancel(t.Context())
			began := make(chan struct{})
			trouble := &outside{begin: c(began)}
			trouble.end = func(ctx context.Context) error { return ctx.Err() } // it has time of its own
			config.External = trouble
			go func() { <-began; cancel() }()
			if _, err := runExternal(ctx, t, config, "for: 20s, run: [fis], effect: partition"); err != nil {
				t.Fatal(err)
			}
			if got := trouble.called(); !slices.Equal(got, []string{"start [fis] []", "stop [fis]"}) {
				t.Errorf("called %v", got)
			}
		})
	}
}

// TestExternalFaultThatStays is an error: it would spoil the next run.
func TestExternalFaultThatStays(t *testing.T) {
	config, _ := lab(t)
	config.ProofTime = 100 * time.Millisecond
	trouble := &outside{begin: nothing, end: func(context.Context) error { return errors.New("the cloud says no") }}
	config.External = trouble
	_, err := runExternal(t.Context(), t, config, "for: 100ms, run: [fis], effect: partition")
	if err == nil || !strings.Contains(err.Error(), "the cloud says no") {
		t.Fatalf("error %v", err)
	}
	if got := trouble.called(); len(got) != 3 {
		t.Errorf("called %v: want to try twice", got)
	}
}

// away is a host that the controller does not reach while it is switched off.
type away struct {
	chaos.LinkControl
	off *switchedOff
}

type switchedOff struct {
	mu sync.Mutex
	is bool
}

func (s *switchedOff) set(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.is = is
}

func (a away) Probes(ctx context.Context) (link.Report, error) {
	a.off.mu.Lock()
	defer a.off.mu.Unlock()
	if a.off.is {
		return link.Report{}, errors.New("no answer")
	}
	return a.LinkControl.Probes(ctx)
}

func TestExternalStopIsProven(t *testing.T) {
	for name, c := range map[string]struct {
		cut, off bool
		why      string
	}{
		"it stops":                     {true, true, ""},
		"probes are still answered":    {false, true, "still gets answers of"},
		"the controller still gets it": {true, false, "still answers the controller"},
	} {
		t.Run(name, func(t *testing.T) {
			config, rec := lab(t)
			if c.why != "" {
				config.ProofTime = 300 * time.Millisecond
			}
			trouble := cutZoneA(config.Links, link.Drop)
			cut, off := trouble.begin, &switchedOff{}
			heal := trouble.end
			trouble.begin = func(ctx context.Context) error {
				off.set(c.off)
				if !c.cut {
					return nil
				}
				return cut(ctx)
			}
			trouble.end = func(ctx context.Context) error { off.set(false); return heal(ctx) }
			config.External = trouble
			for _, host := range []string{"a1", "a2"} {
				config.Links[host] = away{config.Links[host], off}
			}
			ledger, err := runExternal(t.Context(), t, config, "for: 500ms, run: [fis, a, stop], effect: stop")
			if err != nil {
				t.Fatal(err)
			}
			if len(ledger) != 1 || ledger[0].Proven != (c.why == "") || !strings.Contains(ledger[0].Why, c.why) {
				t.Fatalf("ledger %+v, want %q", ledger, c.why)
			}
			if got := rec.events[0]; !slices.Equal(got.Nodes, []string{"master-a", "redis-a"}) || !slices.Equal(got.From, []string{"a1", "a2"}) {
				t.Errorf("recorded %+v, want the hosts' nodes", got)
			}
			if got := trouble.called(); got[0] != "start [fis a stop] [a1 a2]" {
				t.Errorf("called %v", got)
			}
		})
	}
}
