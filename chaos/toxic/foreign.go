package toxic

import (
	"cmp"
	"fmt"
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/go-json-experiment/json"

	"locklab/locks/clock"
)

// foreignPrefix begins the kinds of toxiproxy's own toxics.
const foreignPrefix = "toxiproxy-"

// Foreign is one of toxiproxy's own toxics, as it is: see the package for how it differs
// from a network. Its JSON is the toxic's attributes.
type Foreign struct {
	toxics.Toxic
	Type string
}

var _ Effect = (*Foreign)(nil)

// Kind is the toxic's type, marked as toxiproxy's.
func (t *Foreign) Kind() string { return foreignPrefix + t.Type }

// Of is the effect that toxiproxy has read.
func Of(w *toxics.ToxicWrapper) Effect {
	if e, ours := w.Toxic.(Effect); ours {
		return e
	}
	return &Foreign{Toxic: w.Toxic, Type: w.Type}
}

// Runs is the toxic that does what an effect says.
func Runs(e Effect) toxics.Toxic {
	f, foreign := e.(*Foreign)
	if !foreign {
		return e
	}
	if t, resets := f.Toxic.(*toxics.ResetToxic); resets {
		return &ResetPeer{ResetToxic: *t}
	}
	return f.Toxic
}

// TypeOf is what toxiproxy calls an effect.
func TypeOf(e Effect) string {
	if f, is := e.(*Foreign); is {
		return f.Type
	}
	return prefix + e.Kind()
}

// Validate refuses attributes with which toxiproxy panics, turns for ever or overflows: it
// does not look at them itself.
func (t *Foreign) Validate() error {
	switch made := t.Toxic.(type) {
	case *toxics.LatencyToxic:
		return cmp.Or(bounded("latency", made.Latency), bounded("jitter", made.Jitter))
	case *toxics.BandwidthToxic:
		return within("rate", made.Rate, 0, largest)
	case *toxics.SlowCloseToxic:
		return bounded("delay", made.Delay)
	case *toxics.TimeoutToxic:
		return bounded("timeout", made.Timeout)
	case *toxics.ResetToxic:
		return bounded("timeout", made.Timeout)
	case *toxics.SlicerToxic:
		size := int64(made.AverageSize)
		return cmp.Or(within("average_size", size, 1, largest),
			within("size_variation", int64(made.SizeVariation), 1-size, size-1), bounded("delay", int64(made.Delay)))
	case *toxics.LimitDataToxic:
		return bounded("bytes", made.Bytes)
	default: // it has none
		return nil
	}
}

// largest bounds attributes of toxiproxy's toxics: it multiplies them without a look.
const largest = 1 << 40

func bounded(attribute string, value int64) error { return within(attribute, value, -largest, largest) }

func within(attribute string, value, low, high int64) error {
	if value < low || value > high {
		return fmt.Errorf("%s is %d: want %d to %d", attribute, value, low, high)
	}
	return nil
}

// Least is nothing: what it does to a byte is toxiproxy's to say.
func (*Foreign) Least(int64) time.Duration { return 0 }

// MarshalJSON gives the attributes.
func (t *Foreign) MarshalJSON() ([]byte, error) { return json.Marshal(t.Toxic) }

// UnmarshalJSON reads them.
func (t *Foreign) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, t.Toxic) }

// ResetPeer is toxiproxy's reset_peer, but can be interrupted while it waits: then it resets
// at once, as it has swallowed bytes.
type ResetPeer struct{ toxics.ResetToxic }

// Resets is the state of a stub whose toxic has reset the connection.
type Resets struct{}

// Pipe waits for the first bytes, or the end, and ends the stream after the timeout.
func (t *ResetPeer) Pipe(stub *toxics.ToxicStub) {
	select {
	case <-stub.Interrupt:
		return
	case <-stub.Input:
	}
	clock.Await(clock.System(), time.Duration(t.Timeout)*time.Millisecond, stub.Interrupt)
	stub.State = Resets{}
	stub.Close()
}
