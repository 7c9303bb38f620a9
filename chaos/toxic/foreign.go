package toxic

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/strictjson"
)

// foreignPrefix begins the kinds of toxiproxy's own toxics.
const foreignPrefix = "toxiproxy-"

// Foreign is one of toxiproxy's own toxics, as it is: see the package for how it differs
// from a network. Its JSON is the toxic's attributes.
type Foreign struct {
	toxics.NoopToxic
	Type       string
	Attributes jsontext.Value
}

var _ Effect = (*Foreign)(nil)

// Kind is the toxic's type, marked as toxiproxy's.
func (t *Foreign) Kind() string { return foreignPrefix + t.Type }

// longestForeign bounds the times of toxiproxy's toxics, and largestForeign their sizes and
// rates: toxiproxy multiplies both without a look.
const (
	longestForeign = time.Hour
	largestForeign = 1 << 40
)

// Validate wants a type that toxiproxy has, and attributes with which it does not end the
// process or turn for ever: it does not look at them itself.
func (t *Foreign) Validate() error {
	made := toxics.New(&toxics.ToxicWrapper{Type: t.Type})
	if made == nil || strings.HasPrefix(t.Type, Prefix) {
		return fmt.Errorf("toxiproxy has no toxic of the type %q", t.Type)
	}
	if err := strictjson.Decode(t.Attributes, made); err != nil {
		return err
	}
	ms, µs := time.Millisecond, time.Microsecond
	switch made := made.(type) {
	case *toxics.LatencyToxic:
		return cmp.Or(within("latency", made.Latency, 0, int64(longestForeign/ms)), within("jitter", made.Jitter, 0, int64(longestForeign/ms)))
	case *toxics.BandwidthToxic:
		return within("rate", made.Rate, 1, largestForeign)
	case *toxics.SlowCloseToxic:
		return within("delay", made.Delay, 0, int64(longestForeign/ms))
	case *toxics.TimeoutToxic:
		return within("timeout", made.Timeout, 0, int64(longestForeign/ms))
	case *toxics.ResetToxic: // it cannot be taken off while it waits
		return within("timeout", made.Timeout, 0, int64(longest/ms))
	case *toxics.SlicerToxic:
		return cmp.Or(within("average_size", int64(made.AverageSize), 1, largestForeign),
			within("size_variation", int64(made.SizeVariation), 0, int64(made.AverageSize)-1),
			within("delay", int64(made.Delay), 0, int64(longestForeign/µs)))
	case *toxics.LimitDataToxic:
		return within("bytes", made.Bytes, 0, largestForeign)
	default: // it has none
		return nil
	}
}

func within(attribute string, value, low, high int64) error {
	if value < low || value > high {
		return fmt.Errorf("%s is %d: want %d to %d", attribute, value, low, high)
	}
	return nil
}

// Least is nothing: what it does to a byte is toxiproxy's to say.
func (*Foreign) Least(int64) time.Duration { return 0 }

// MarshalJSON gives the attributes.
func (t *Foreign) MarshalJSON() ([]byte, error) {
	if len(t.Attributes) == 0 {
		return []byte("{}"), nil
	}
	return t.Attributes, nil
}

// UnmarshalJSON keeps them.
func (t *Foreign) UnmarshalJSON(text []byte) error {
	t.Attributes = append(jsontext.Value(nil), text...)
	return nil
}

// TypeOf is what toxiproxy calls an effect.
func TypeOf(e Effect) string {
	if f, is := e.(*Foreign); is {
		return f.Type
	}
	return Prefix + e.Kind()
}

// OfType is an effect without settings by what toxiproxy calls it.
func OfType(name string) (Effect, error) {
	if kind, ours := strings.CutPrefix(name, Prefix); ours {
		return New(kind)
	}
	return New(foreignPrefix + name)
}
