package toxic

import (
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

// Validate wants a type that toxiproxy has, and its attributes.
func (t *Foreign) Validate() error {
	made := toxics.New(&toxics.ToxicWrapper{Type: t.Type})
	if made == nil || strings.HasPrefix(t.Type, Prefix) {
		return fmt.Errorf("toxiproxy has no toxic of the type %q", t.Type)
	}
	return strictjson.Decode(t.Attributes, made)
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
