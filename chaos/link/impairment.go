package link

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"locklab/chaos/toxic"
	"locklab/locks/seed"
)

// Direction of the traffic of a link, seen from the host that dials.
type Direction string

// The directions.
const (
	Up   Direction = "up"   // towards the node
	Down Direction = "down" // the answers
	Both Direction = "both"
)

func (d Direction) ways() []Direction {
	if d == Both {
		return []Direction{Up, Down}
	}
	return []Direction{d}
}

// Kind is what an impairment does.
type Kind string

// The kinds.
const (
	Latency   Kind = "latency"   // Delay, plus up to Jitter
	Jitter    Kind = "jitter"    // up to Jitter
	Bandwidth Kind = "bandwidth" // BytesPerS
	Flaky     Kind = "flaky"     // a share Loss of chunks comes Stall late
	Hold      Kind = "hold"      // bytes are kept until the heal
	Drop      Kind = "drop"      // bytes vanish
	Reset     Kind = "reset"     // connections are reset at once, new ones too
)

// ErrInvalid says that a request to a host of links is wrong.
var ErrInvalid = errors.New("link: invalid")

// Delay is a one-way delay: Base plus a part of Jitter, drawn evenly.
type Delay struct {
	Base   time.Duration `json:"base_ns"`
	Jitter time.Duration `json:"jitter_ns,omitempty"`
}

func (d Delay) validate(name string) error {
	if d.Base < 0 || d.Jitter < 0 || d.Base > time.Minute || d.Jitter > time.Minute {
		return fmt.Errorf("%s: delay %v, jitter %v: want 0 to 1m each: %w", name, d.Base, d.Jitter, ErrInvalid)
	}
	return nil
}

// Impairment is one fault on the links of a host.
type Impairment struct {
	ID        string    `json:"id"`
	ToHosts   []string  `json:"to_hosts"` // the links to these hosts; empty means all
	Direction Direction `json:"direction"`
	Kind      Kind      `json:"kind"`

	Delay     time.Duration `json:"delay_ns,omitempty"`
	Jitter    time.Duration `json:"jitter_ns,omitempty"`
	BytesPerS int64         `json:"bytes_per_s,omitempty"`
	Loss      float64       `json:"loss,omitempty"` // 0 to 1
	Stall     time.Duration `json:"stall_ns,omitempty"`
}

func (i Impairment) validate() error {
	bad := func(field, want string) error {
		return fmt.Errorf("impairment %q: %s: want %s: %w", i.ID, field, want, ErrInvalid)
	}
	if i.ID == "" || len(i.ID) > 200 {
		return bad("id", "1 to 200 bytes")
	}
	if i.Direction != Up && i.Direction != Down && i.Direction != Both {
		return bad(fmt.Sprintf("direction %q", i.Direction), "up, down or both")
	}
	if err := (Delay{i.Delay, i.Jitter}).validate("impairment " + i.ID); err != nil {
		return err
	}
	switch i.Kind {
	case Latency:
		if i.Delay == 0 && i.Jitter == 0 {
			return bad("delay_ns", "more than 0")
		}
	case Jitter:
		if i.Jitter == 0 {
			return bad("jitter_ns", "more than 0")
		}
	case Bandwidth:
		if i.BytesPerS < 1 {
			return bad("bytes_per_s", "more than 0")
		}
	case Flaky:
		if !(i.Loss > 0 && i.Loss <= 1) || i.Stall <= 0 || i.Stall > time.Minute {
			return bad("loss, stall_ns", "a loss above 0 up to 1 and a stall of up to 1m")
		}
	case Hold, Drop, Reset:
	default:
		return bad(fmt.Sprintf("kind %q", i.Kind), "latency, jitter, bandwidth, flaky, hold, drop or reset")
	}
	return nil
}

func (i Impairment) equal(j Impairment) bool {
	hosts := slices.Equal(i.ToHosts, j.ToHosts)
	i.ToHosts, j.ToHosts = nil, nil
	return hosts && reflect.DeepEqual(i, j)
}

// hits says whether links to the host suffer.
func (i Impairment) hits(host string) bool {
	return len(i.ToHosts) == 0 || slices.Contains(i.ToHosts, host)
}

// blocks says whether nothing passes in the direction.
func (i Impairment) blocks(way Direction) bool {
	return (i.Kind == Hold || i.Kind == Drop) && (i.Direction == Both || i.Direction == way)
}

// delay is the part of the one-way delay that the impairment adds at least.
func (i Impairment) delay(way Direction) time.Duration {
	if i.Kind == Latency && (i.Direction == Both || i.Direction == way) {
		return i.Delay
	}
	return 0
}

// stage is one toxic as toxiproxy reads it.
type stage struct {
	Name       string  `json:"name"`
	Type       string  `json:"type"`
	Stream     string  `json:"stream"`
	Toxicity   float32 `json:"toxicity"`
	Attributes any     `json:"attributes"`
}

func newStage(id string, way Direction, kind string, attributes any) stage {
	return stage{
		Name: id + "/" + string(way), Type: kind, Stream: string(way) + "stream", Toxicity: 1, Attributes: attributes,
	}
}

func (d Delay) stage(id string, way Direction, s seed.Seed) stage {
	return newStage(id, way, toxic.TypeLatency, map[string]any{
		"delay_ns": d.Base, "jitter_ns": d.Jitter, "seed": uint64(s.Child(id + "/" + string(way))),
	})
}

// stages are the toxics that make up the impairment on one connection.
func (i Impairment) stages(s seed.Seed) []stage {
	var all []stage
	for _, way := range i.Direction.ways() {
		switch i.Kind {
		case Latency:
			all = append(all, Delay{i.Delay, i.Jitter}.stage(i.ID, way, s))
		case Jitter:
			all = append(all, Delay{0, i.Jitter}.stage(i.ID, way, s))
		case Bandwidth:
			all = append(all, newStage(i.ID, way, toxic.TypeBandwidth, toxic.Bandwidth{BytesPerS: i.BytesPerS}))
		case Flaky:
			all = append(all, newStage(i.ID, way, toxic.TypeFlaky, toxic.Flaky{
				Loss: i.Loss, StallNS: int64(i.Stall), Seed: uint64(s.Child(i.ID + "/" + string(way))),
			}))
		case Hold:
			all = append(all, newStage(i.ID, way, toxic.TypeHold, struct{}{}))
		case Drop:
			all = append(all, newStage(i.ID, way, toxic.TypeDrop, struct{}{}))
		case Reset: // done by the link itself: a toxic cannot reach the other end
		}
	}
	return all
}

// Spec describes one link.
type Spec struct {
	Name     string `json:"name"`     // unique on the host
	ToHost   string `json:"to_host"`  // decides which impairments hit it
	ToNode   string `json:"to_node"`  // for the log
	Port     string `json:"port"`     // the node's port by name, for the log
	Upstream string `json:"upstream"` // host:port that the node listens on
	Up       Delay  `json:"up"`       // base delay, always on
	Down     Delay  `json:"down"`
}

func (s Spec) validate() error {
	if s.Name == "" || s.ToHost == "" || len(s.Name) > 200 || len(s.ToHost) > 200 {
		return fmt.Errorf("link %q to host %q: both names need 1 to 200 bytes: %w", s.Name, s.ToHost, ErrInvalid)
	}
	if !strings.Contains(s.Upstream, ":") {
		return fmt.Errorf("link %q: upstream %q: want host:port: %w", s.Name, s.Upstream, ErrInvalid)
	}
	if err := s.Up.validate("link " + s.Name + ": up"); err != nil {
		return err
	}
	return s.Down.validate("link " + s.Name + ": down")
}
