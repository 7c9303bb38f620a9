package live

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/httpapi"
	"locklab/reports/lang"
	"locklab/workloads/history"
)

// Control does what viewers ask for. Its errors are shown to them, and name the right value. It may be
// called from any goroutine, and waits for nothing but a file.
type Control interface {
	// Begin begins a fault, as scenarios write it, in JSON.
	Begin(fault []byte) error
	// Heal ends a fault, or all if the ID is empty.
	Heal(id string) error
	// SetRate changes the operations offered per second.
	SetRate(perSecond uint32) error
	// Switch ends the run and begins one of another lock, or of the same one again.
	Switch(lock string) error
	// State is the present state.
	State() ControlState
}

// ControlState has the choices of the page, and the present state.
type ControlState struct {
	Lock     string // of the run that goes on, or begins
	Running  bool   // faults and switches are taken
	Locks    []string
	PerS     uint32 // operations offered per second
	MostPerS uint32
	Zones    []string // the short names
	Nodes    []Node
	Faults   []ControlFault // that were begun by hand and are not over
}

// ControlFault is a fault that goes on.
type ControlFault struct {
	ID, Kind, Target string
	Proven           bool // it was seen to have begun
	Healing          bool // its end is asked for
}

// maxOrder bounds an order of the page, in bytes.
const maxOrder = 4 << 10

// order is one of the page; each route reads its own field.
type order struct {
	ID   string `json:"id"`
	PerS uint32 `json:"per_s"`
	Lock string `json:"lock"`
	Stop int    `json:"stop"`
}

// controls takes the orders of the page, which bear its token.
func (b *Board) controls() http.Handler {
	api := httpapi.New(httpapi.Config{Name: "live page", Token: b.token, SameOrigin: true, MaxBody: maxOrder})
	c := b.info.Control
	route(api, "fault", func(in jsontext.Value) error { return c.Begin(in) })
	route(api, "heal", func(in order) error { return c.Heal(in.ID) })
	route(api, "rate", func(in order) error { return c.SetRate(in.PerS) })
	route(api, "lock", func(in order) error { return c.Switch(in.Lock) })
	route(api, "tour", func(in order) error {
		b.post(func(m *model) { m.tour.enter(in.Stop) })
		return nil
	})
	return api
}

func route[In any](api *httpapi.API, name string, do func(In) error) {
	httpapi.Post(api, "POST /control/"+name, func(_ *http.Request, in In) (any, error) {
		if err := do(in); err != nil {
			return nil, &httpapi.Error{Status: http.StatusConflict, Kind: "refused", Message: err.Error()}
		}
		return nil, nil
	})
}

// brokenView is a fault that can be healed.
type brokenView struct {
	ControlFault
	Text string
}

func brokenOf(say *lang.Lang, s ControlState) (all []brokenView) {
	for _, f := range s.Faults {
		name := say.Tell(history.FaultText(f.Kind, f.Target))
		v := brokenView{f, say.Sprintf("%s: not proven yet", name)}
		switch {
		case f.Healing:
			v.Text = say.Sprintf("%s: is being healed", name)
		case f.Proven:
			v.Text = beganText(say, name, f.Target)
		}
		all = append(all, v)
	}
	return all
}

// controlParts are the parts of the page with buttons; none if nothing can be controlled.
func controlParts(say *lang.Lang, m *model, text func(name string, data any) part) []part {
	if m.info.Control == nil {
		return nil
	}
	choices := struct {
		ControlState
		Over bool // there is nothing to control any more
	}{m.state, m.over}
	return []part{text("tour", tourOf(say, m)), text("choices", choices), text("targets", m.state), text("broken", brokenOf(say, m.state))}
}
