package toxic

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"

	"locklab/internal/seed"
)

// Effect is what an impairment does to the bytes of every connection, in one direction.
// Its JSON is its settings.
type Effect interface {
	toxics.Toxic
	// Kind is its name; with Prefix before it, toxiproxy has it under that.
	Kind() string
	// Validate says what is wrong with its settings.
	Validate() error
	// Least is how long so many bytes take at least; Never, if they do not pass.
	Least(bytes int64) time.Duration
}

// Seeded is an effect that draws random numbers.
type Seeded interface {
	Effect
	// WithSeed is the same effect with a seed of its own.
	WithSeed(seed uint64) Effect
}

const (
	// Prefix is that of the names under which toxiproxy has the toxics.
	Prefix = "locklab-"
	// Never is the time that nothing takes that passes.
	Never = time.Duration(math.MaxInt64)
	// longest bounds what an effect delays.
	longest = time.Minute
)

// effects are all that there are.
func effects() []Effect {
	return []Effect{new(Latency), new(Bandwidth), new(Flaky), new(Hold), new(Drop), new(Reset)}
}

// Kinds are those of the effects that the lab has itself.
func Kinds() (all []string) {
	for _, e := range effects() {
		all = append(all, e.Kind())
	}
	return all
}

// New is an effect of that kind without settings.
func New(kind string) (Effect, error) {
	if name, foreign := strings.CutPrefix(kind, foreignPrefix); foreign {
		if w := (&toxics.ToxicWrapper{Type: name}); toxics.New(w) != nil && !strings.HasPrefix(name, Prefix) {
			return Of(w), nil
		}
	}
	for _, e := range effects() {
		if e.Kind() == kind {
			return e, nil
		}
	}
	return nil, fmt.Errorf("no impairment is called %q", kind)
}

// Runs is the toxic that does what an effect says, on one direction of one connection.
func Runs(e Effect, own seed.Seed) toxics.Toxic {
	if f, is := e.(*Foreign); is {
		if t, resets := f.Toxic.(*toxics.ResetToxic); resets {
			return &ResetPeer{ResetToxic: *t}
		}
		return f.Toxic
	}
	if random, is := e.(Seeded); is {
		return random.WithSeed(uint64(own))
	}
	return e
}

// Ours says whether an effect is the lab's and not toxiproxy's.
func Ours(e Effect) bool {
	_, foreign := e.(*Foreign)
	return !foreign
}

// Swallows says whether what a toxic is given vanishes.
func Swallows(t toxics.Toxic) bool {
	switch t.(type) {
	case *Drop, *toxics.TimeoutToxic, *ResetPeer:
		return true
	default:
		return false
	}
}

// Cuts says whether nothing passes.
func Cuts(e Effect) bool { return e.Least(0) == Never }

// cut is what all have in common through which nothing passes.
type cut struct{}

// Validate finds nothing: there are no settings.
func (cut) Validate() error { return nil }

// Least is Never.
func (cut) Least(int64) time.Duration { return Never }

// Reset ends every connection, and those to come, with a RST. The link does it: a toxic
// cannot reach the other end.
type Reset struct {
	cut
	toxics.NoopToxic
}

var _ Effect = (*Reset)(nil)

// Kind is reset.
func (*Reset) Kind() string { return "reset" }
