package link

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/strictjson"
)

// Direction of the traffic of a link, seen from the host that dials.
type Direction string

// The directions.
const (
	Up   Direction = "up"   // towards the node
	Down Direction = "down" // the answers
	Both Direction = "both"
)

// has says whether d includes the way.
func (d Direction) has(way Direction) bool { return d == Both || d == way }

func ways() []Direction { return []Direction{Up, Down} }

// ErrInvalid says that a request to a host of links is wrong.
var ErrInvalid = errors.New("link: invalid")

// Impairment is one fault on the links of a host.
type Impairment struct {
	ID        string    `json:"id"`
	ToHosts   []string  `json:"to_hosts"` // the links to these hosts; empty means all
	Direction Direction `json:"direction"`
	Effect    Effect    `json:"-"`

	Link     string   `json:"link,omitzero"`     // that a user breaks by hand; empty means all to ToHosts
	Toxicity *float32 `json:"toxicity,omitzero"` // the share of connections that it hits, as in toxiproxy; nil means all
}

type (
	plain   Impairment // without methods
	written struct {
		plain
		Type     string         `json:"type"` // of the effect
		Settings jsontext.Value `json:"settings"`
	}
)

// MarshalJSON writes the effect as its type and its settings.
func (i Impairment) MarshalJSON() ([]byte, error) {
	settings, err := json.Marshal(i.Effect)
	if err != nil {
		return nil, err
	}
	return json.Marshal(written{plain(i), typeOf(i.Effect), settings})
}

// UnmarshalJSON refuses unknown types and settings.
func (i *Impairment) UnmarshalJSON(text []byte) error {
	var w written
	if err := strictjson.Decode(text, &w); err != nil {
		return err
	}
	effect, err := newEffect(w.Type)
	if err != nil {
		return err
	}
	*i = Impairment(w.plain)
	i.Effect = effect
	return strictjson.Decode(w.Settings, effect)
}

// byHand says whether a user made it, not a scenario.
func (i Impairment) byHand() bool { return i.Link != "" }

func (i Impairment) validate() error {
	switch {
	case i.ID == "" || len(i.ID) > 200:
		return fmt.Errorf("impairment %q: id: want 1 to 200 bytes: %w", i.ID, ErrInvalid)
	case i.Direction != Up && i.Direction != Down && i.Direction != Both:
		return fmt.Errorf("impairment %q: direction %q: want up, down or both: %w", i.ID, i.Direction, ErrInvalid)
	case i.Effect == nil:
		return fmt.Errorf("impairment %q: no effect: %w", i.ID, ErrInvalid)
	}
	if Cuts(i.Effect) && i.share() != 1 {
		return fmt.Errorf("impairment %q: a %s hits all connections: want a toxicity of 1: %w",
			i.ID, typeOf(i.Effect), ErrInvalid)
	}
	if err := checkEffect(i.Effect); err != nil {
		return fmt.Errorf("impairment %q: %s: %w: %w", i.ID, typeOf(i.Effect), err, ErrInvalid)
	}
	return nil
}

// strikes says whether it hits the link.
func (i Impairment) strikes(s Spec) bool {
	return i.hits(s.ToHost) && (i.Link == "" || i.Link == s.Name)
}

// hits says whether it hits links to the host.
func (i Impairment) hits(host string) bool {
	return len(i.ToHosts) == 0 || slices.Contains(i.ToHosts, host)
}

// share is the share of connections that it hits.
func (i Impairment) share() float32 {
	if i.Toxicity == nil {
		return 1
	}
	return *i.Toxicity
}

func (i Impairment) resets() bool {
	_, is := i.Effect.(*Reset)
	return is
}

// blocks says whether nothing passes and new connections wait.
func (i Impairment) blocks() bool { return Cuts(i.Effect) && !i.resets() }

// delay is the least one-way delay that the impairment adds.
func (i Impairment) delay(way Direction) time.Duration {
	if Cuts(i.Effect) || !i.Direction.has(way) {
		return 0
	}
	return Least(i.Effect, 0)
}

// Spec describes one link.
type Spec struct {
	Name     string `json:"name"`     // unique on the host
	ToHost   string `json:"to_host"`  // decides which impairments hit it
	ToNode   string `json:"to_node"`  // empty for probes
	Upstream string `json:"upstream"` // host:port that the node listens on
	// Listen is the loopback address, IP:port, that the link listens on; "" is any port of 127.0.0.1. Links may share
	// one if they differ in Source, the IP address of their programs. See [Gates].
	Listen string `json:"listen,omitzero"`
	Source string `json:"source,omitzero"`
	// Up and Down are the base delays, always on.
	Up   Latency `json:"up"`
	Down Latency `json:"down"`
}

// isProbe says whether the link carries the lab's probes, not the workload.
func (s Spec) isProbe() bool { return s.ToNode == "" }

func (s Spec) base(way Direction) Latency {
	if way == Up {
		return s.Up
	}
	return s.Down
}

func (s Spec) validate() error {
	if s.Name == "" || s.ToHost == "" || !strings.Contains(s.Upstream, ":") || s.Up.Delay < 0 || s.Down.Delay < 0 {
		return fmt.Errorf("link %+v: want a name, a host, an upstream of host:port and delays: %w", s, ErrInvalid)
	}
	return nil
}
