package peertest

import (
	"slices"
	"strings"
	"testing"

	"locklab/locks/explore"
	"locklab/locks/peerlock/peercore"
)

// Explore visits every state within the scope and fails unless it finds that
// violation, or sees all if want is "".
func Explore[S, M any, P explore.Core[S, M]](t *testing.T, want string, alg peercore.Algorithm[S, M], sc explore.Scope) {
	t.Helper()
	r, err := explore.Of[S, M, P](alg, nil).Explore(t.Context(), sc, nil)
	if err != nil {
		t.Fatal(err)
	}
	var trace strings.Builder
	if r.Trace != nil {
		if err := r.Trace.WriteText(&trace); err != nil {
			t.Fatal(err)
		}
	}
	if r.Violation != want || (want == "" && r.Ended != explore.Complete) {
		t.Errorf("want %q, got %v after %d states\n%s%s", want, r.Ended, r.States, trace.String(), r.Violation)
	}
	t.Logf("%v: %d states\n%s%s", r.Scope, r.States, trace.String(), r.Violation)
}

// Mutant is a core with a rule broken.
type Mutant[S, M any, P peercore.Core[S, M]] struct {
	State  S
	mutate Mutation[S, M]
}

// Mutation takes a step in place of the core's own Step.
type Mutation[S, M any] func(s *S, ev peercore.Event[M]) []peercore.Effect[M]

// Step calls the mutation.
func (m *Mutant[S, M, P]) Step(ev peercore.Event[M], out []peercore.Effect[M]) []peercore.Effect[M] {
	return append(out, m.mutate(&m.State, ev)...)
}

// Waits is the core's.
func (m *Mutant[S, M, P]) Waits() bool { return P(&m.State).Waits() }

// Holds is the core's.
func (m *Mutant[S, M, P]) Holds() bool { return P(&m.State).Holds() }

// Idle is the core's.
func (m *Mutant[S, M, P]) Idle() bool { return P(&m.State).Idle() }

// Round is the core's.
func (m *Mutant[S, M, P]) Round() uint64 { return P(&m.State).Round() }

// AppendEncode is the core's.
func (m *Mutant[S, M, P]) AppendEncode(b []byte) []byte { return P(&m.State).AppendEncode(b) }

// Load is the core's.
func (m *Mutant[S, M, P]) Load(b []byte) []byte { return P(&m.State).Load(b) }

// Renumber is the core's, which must have it.
func (m *Mutant[S, M, P]) Renumber(f func(owner int, number uint64) uint64) {
	any(P(&m.State)).(peercore.Numbered).Renumber(f)
}

// Pauses is the core's; false if it has none.
func (m *Mutant[S, M, P]) Pauses() bool {
	p, ok := any(P(&m.State)).(peercore.Pauser)
	return ok && p.Pauses()
}

// Reset is the core's.
func (m *Mutant[S, M, P]) Reset(like *Mutant[S, M, P], round uint64) {
	P(&m.State).Reset(&like.State, round)
}

// Bootstrapped is the core's.
func (m *Mutant[S, M, P]) Bootstrapped() bool { return P(&m.State).Bootstrapped() }

// Running is the core's; false if it has no timers.
func (m *Mutant[S, M, P]) Running(t peercore.Timer) bool {
	c, ok := any(P(&m.State)).(peercore.Timed)
	return ok && c.Running(t)
}

// Uses is the core's; 0 if it has no timers.
func (m *Mutant[S, M, P]) Uses() uint64 {
	if c, ok := any(P(&m.State)).(peercore.Timed); ok {
		return c.Uses()
	}
	return 0
}

// Voted is the core's; 0 if it has no timers.
func (m *Mutant[S, M, P]) Voted() uint64 {
	if c, ok := any(P(&m.State)).(peercore.Timed); ok {
		return c.Voted()
	}
	return 0
}

// Mutate is the algorithm with a rule broken.
func Mutate[S, M any, P peercore.Core[S, M]](alg peercore.Algorithm[S, M], mutate Mutation[S, M]) peercore.Algorithm[Mutant[S, M, P], M] {
	var control func(self int, peers peercore.Set, amnesic bool) (c, idle Mutant[S, M, P])
	if alg.Control != nil {
		control = func(self int, peers peercore.Set, amnesic bool) (c, idle Mutant[S, M, P]) {
			c.mutate, idle.mutate = mutate, mutate
			c.State, idle.State = alg.Control(self, peers, amnesic)
			return c, idle
		}
	}
	return peercore.Algorithm[Mutant[S, M, P], M]{
		Spec: alg.Spec, Opens: alg.Opens, Append: alg.Append, Decode: alg.Decode, Renumber: alg.Renumber, Control: control,
		New: func(self int, peers peercore.Set, amnesic bool) Mutant[S, M, P] {
			return Mutant[S, M, P]{alg.New(self, peers, amnesic), mutate}
		},
	}
}

// ExploreMutant does to an algorithm with a rule broken what Explore does.
func ExploreMutant[S, M any, P peercore.Core[S, M]](
	t *testing.T, want string, alg peercore.Algorithm[S, M], sc explore.Scope, mutate Mutation[S, M],
) {
	t.Helper()
	Explore[Mutant[S, M, P], M, *Mutant[S, M, P]](t, want, Mutate[S, M, P](alg, mutate), sc)
}

// Silent is a core that keeps one kind of effect, Hold or Lose, to itself.
func Silent[S, M any, P peercore.Core[S, M]](kind peercore.EffectKind) Mutation[S, M] {
	return func(s *S, ev peercore.Event[M]) []peercore.Effect[M] {
		return slices.DeleteFunc(P(s).Step(ev, nil), func(e peercore.Effect[M]) bool { return e.Kind == kind })
	}
}

// WithoutSends leaves out the messages of a step that drop names.
func WithoutSends[M any](out []peercore.Effect[M], drop func(m M) bool) (rest []peercore.Effect[M]) {
	for _, e := range out {
		if e.Kind != peercore.Send || !drop(e.Msg) {
			rest = append(rest, e)
		}
	}
	return rest
}
