package peertest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/sim"
)

// Explore visits every state within the scope and fails unless it finds that violation, or sees all, or
// all up to a bound of states, if want is "".
func Explore[S, M any, P peercore.Core[S, M]](
	t *testing.T, want string, alg peercore.Algorithm[S, M], sc explore.Scope,
) *explore.Result {
	t.Helper()
	r := explore.Of[S, M, P](alg).Explore(t.Context(), sc)
	trace := strings.Join(r.Trace, "\n")
	ended := r.Ended == explore.Complete || r.Ended == explore.StatesBound && sc.StatesMax > 0
	if r.Violation != want || (want == "" && !ended) {
		t.Errorf("want %q, got %v after %d states\n%s\n%s", want, r.Ended, r.States, trace, r.Violation)
	}
	t.Logf("%v: %d states\n%s\n%s", r.Scope, r.States, trace, r.Violation)
	return r
}

// Needed checks that the violation is found where a rule is broken, and none with the rule: of all states,
// or, where the way to the violation is what counts, of twice as many as that was found in.
func Needed[S, M any, P peercore.Core[S, M]](
	t *testing.T, want string, alg peercore.Algorithm[S, M], mutate Mutation[S, M], sc explore.Scope,
) {
	t.Helper()
	r := Explore[S, M, P](t, want, Mutate(alg, mutate), sc)
	if want != "" && !r.StuckChecked {
		sc.StatesMax = 2 * r.States
	}
	Explore[S, M, P](t, "", alg, sc)
}

// Mutation takes a step in place of the core's own Step.
type Mutation[S, M any] func(s *S, ev peercore.Event[M]) []peercore.Effect[M]

// Mutate is the algorithm with a rule broken.
func Mutate[S, M any](alg peercore.Algorithm[S, M], mutate Mutation[S, M]) peercore.Algorithm[S, M] {
	alg.Mutant.Step = mutate
	return alg
}

// Silent is a core that keeps one kind of effect, Hold or Lose, to itself.
func Silent[S, M any, P peercore.Core[S, M]](kind peercore.EffectKind) Mutation[S, M] {
	return func(s *S, ev peercore.Event[M]) []peercore.Effect[M] {
		return slices.DeleteFunc(P(s).Step(ev, nil), func(e peercore.Effect[M]) bool { return e.Kind == kind })
	}
}

// Unsent is a core that leaves out the messages of the steps to which it applies, which is
// asked before, if drop names them.
func Unsent[S, M any, P peercore.Machine[S, M]](
	drop func(m M) bool, applies func(s *S, ev peercore.Event[M]) bool,
) Mutation[S, M] {
	return func(s *S, ev peercore.Event[M]) []peercore.Effect[M] {
		drops := applies(s, ev)
		return slices.DeleteFunc(P(s).Step(ev, nil), func(e peercore.Effect[M]) bool {
			return drops && e.Kind == peercore.Send && drop(e.Msg)
		})
	}
}

// Reply is a message to who sent the one of ev.
func Reply[M any](ev peercore.Event[M], m M) peercore.Effect[M] {
	return peercore.Effect[M]{Kind: peercore.Send, To: peercore.SetOf(ev.Peer), Msg: m}
}

// SimFinds checks that simulations find the violation: of 200 seeds with partitions and crashes, and with
// the holds that locklab sim draws, unless the campaign says otherwise.
func SimFinds[S, M any, P peercore.Core[S, M]](
	t *testing.T, want sim.FindingKind, lock peerlock.Protocol[S, M], c sim.Campaign,
) {
	t.Helper()
	c.Seeds = cmp.Or(c.Seeds, 200)
	if c.Kinds == nil {
		c.Kinds = []sim.Kind{sim.Crash, sim.Partition}
	}
	if c.Config.Load.Hold == 0 {
		c.Holds = sim.Holds()
	}
	o := c.Run(t.Context(), sim.New[S, M, P](lock))
	if !slices.ContainsFunc(o.Groups, func(g sim.Group) bool { return g.Example.Kind == want }) {
		t.Errorf("%d simulations do not find %q, but %v", o.Totals.Runs, want, o.Groups)
	}
}

// FuzzDecode feeds any bytes to the algorithm's Decode. What is read must read the same
// when it is written again, and the name must be the end of what came.
func FuzzDecode[S any, M comparable](f *testing.F, alg peercore.Algorithm[S, M], messages ...M) {
	for _, m := range messages {
		f.Add(append(alg.Append(nil, m), "name"...))
	}
	for _, b := range []string{
		"", "\x00", "\x01", "\x81\x01\x01x", "\x01\x01\xff\xff\xff\xff\xff\x7f", strings.Repeat("\xff", 20),
	} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, name, err := alg.Decode(b)
		if err != nil {
			if !errors.Is(err, peerlock.ErrMalformed) {
				t.Fatalf("want ErrMalformed, got %v", err)
			}
			return
		}
		if text := fmt.Sprint(m); text == "" || !bytes.HasSuffix(b, name) { // kinds have names, or this panics
			t.Fatalf("read %v and name %q from %q", m, name, b)
		}
		again, rest, err := alg.Decode(append(alg.Append(nil, m), name...))
		if err != nil || again != m || !bytes.Equal(rest, name) {
			t.Fatalf("%v and %q read again as %v and %q, %v", m, name, again, rest, err)
		}
	})
}
