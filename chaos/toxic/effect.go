package toxic

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"
)

// Effect is what an impairment does to the bytes of every connection, in one direction.
// Its JSON is its settings.
type Effect interface {
	toxics.Toxic
	// Kind is its name; with a prefix before it, toxiproxy has it under that.
	Kind() string
	// Validate says what is wrong with its settings.
	Validate() error
	// Least is how long so many bytes take at least; Never, if they do not pass.
	Least(bytes int64) time.Duration
}

const (
	// prefix is that of the names under which toxiproxy has the toxics.
	prefix = "locklab-"
	// Never is the time that nothing takes that passes.
	Never = time.Duration(math.MaxInt64)
	// longest bounds what an effect delays.
	longest = time.Minute
)

// effects are all that the lab has itself.
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

// Register makes the toxics known to toxiproxy, for its API, and keeps its toxics from writing
// to stderr.
func Register() {
	zerolog.SetGlobalLevel(zerolog.Disabled)
	for _, e := range effects() {
		toxics.Register(prefix+e.Kind(), e)
	}
}

// New is an effect of that kind without settings.
func New(kind string) (Effect, error) {
	if name, foreign := strings.CutPrefix(kind, foreignPrefix); foreign {
		if w := (&toxics.ToxicWrapper{Type: name}); toxics.New(w) != nil && !strings.HasPrefix(name, prefix) {
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

// Cuts says whether nothing passes.
func Cuts(e Effect) bool { return e.Least(0) == Never }

// cut is embedded in all effects through which nothing passes.
type cut struct{}

// Validate finds nothing: there are no settings.
func (cut) Validate() error { return nil }

// Least is Never.
func (cut) Least(int64) time.Duration { return Never }

// Hold keeps everything that is sent and delivers it, in order, when the toxic is
// removed: what a partition does to a TCP connection that outlives it.
type Hold struct {
	cut
	delays
}

// Kind is hold.
func (*Hold) Kind() string { return "hold" }

// Pipe keeps all bytes until it is interrupted.
func (*Hold) Pipe(stub *toxics.ToxicStub) {
	lineOf(stub).run(stub, func(int64, int) int64 { return math.MaxInt64 })
}

// Drop swallows everything that is sent while the connection stays open. A TCP
// stream with a hole is something no network delivers: whoever removes the toxic
// should end the connections that lost bytes.
type Drop struct{ cut }

// Kind is drop.
func (*Drop) Kind() string { return "drop" }

// Pipe swallows until it is interrupted. The end does not come through either.
func (*Drop) Pipe(stub *toxics.ToxicStub) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case chunk := <-stub.Input:
			if chunk == nil {
				<-stub.Interrupt
				return
			}
		}
	}
}

// Reset ends every connection, and those to come, with a RST. The link does it: a toxic
// cannot reach the other end.
type Reset struct {
	cut
	toxics.NoopToxic
}

// Kind is reset.
func (*Reset) Kind() string { return "reset" }
