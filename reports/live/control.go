package live

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/httpapi"
	"locklab/reports/lang"
	"locklab/reports/series"
	"locklab/workloads/history"
)

// Control is what a person may do to the comparison that the page shows. Its errors are for
// that person: they say what would be right. It may be called from any goroutine, and waits
// for nothing but a file.
type Control interface {
	// Begin begins a fault, as scenarios write it, in JSON.
	Begin(fault []byte) error
	// Heal ends a fault, or all if the ID is empty.
	Heal(id string) error
	// SetRate changes the operations offered per second.
	SetRate(perSecond uint32) error
	// Switch ends the run and begins one of another lock, or of the same one again.
	Switch(lock string) error
	// State is how things are.
	State() ControlState
}

// ControlState is how things are for who controls them.
type ControlState struct {
	Lock     string // of the run that goes on, or begins
	Running  bool   // faults and switches are taken
	Locks    []string
	PerS     uint32 // operations offered per second
	MostPerS uint32
	Zones    []string // the short names
	Nodes    []Node
	Faults   []ControlFault // that somebody began and that are not over
}

// ControlFault is a fault that goes on.
type ControlFault struct {
	ID, Kind, Target string
	Proven           bool // it was seen to have begun
	Healing          bool // its end is asked for
}

// maxOrder bounds what the page asks for, in bytes.
const maxOrder = 4 << 10

// controls takes what the page asks for, from nobody who does not bear its token.
func (b *Board) controls(names []string) http.Handler {
	api := httpapi.New(httpapi.Config{Name: "live page", Token: b.token, Hosts: append([]string{"localhost"}, names...), SameOrigin: true, MaxBody: maxOrder, Say: inTheirWords})
	order(api, "fault", func(in jsontext.Value) error { return b.info.Control.Begin(in) })
	order(api, "heal", func(in struct {
		ID string `json:"id"`
	},
	) error {
		return b.info.Control.Heal(in.ID)
	})
	order(api, "rate", func(in struct {
		PerS uint32 `json:"per_s"`
	},
	) error {
		return b.info.Control.SetRate(in.PerS)
	})
	order(api, "lock", func(in struct {
		Lock string `json:"lock"`
	},
	) error {
		return b.info.Control.Switch(in.Lock)
	})
	order(api, "tour", func(in struct {
		Stop int `json:"stop"`
	},
	) error {
		b.post(func(m *model) { m.tour.enter(in.Stop) })
		return nil
	})
	return api
}

// order adds a route.
func order[In any](api *httpapi.API, name string, do func(In) error) {
	httpapi.Post(api, "POST /control/"+name, func(_ *http.Request, in In) (any, error) {
		if err := do(in); err != nil {
			return nil, &httpapi.Error{Status: http.StatusConflict, Kind: "refused", Message: err.Error()}
		}
		return nil, nil
	})
}

// inTheirWords is what is refused in the language of the page.
func inTheirWords(r *http.Request, message string) string {
	say, err := lang.Of(tagOf(r))
	if err != nil {
		return message
	}
	return say.Recorded(message)
}

// steer looks how things are, and goes on with the tour.
func (m *model) steer(nowNS int64) {
	if m.info.Control == nil {
		return
	}
	m.state = m.info.Control.State()
	m.tour.drive(m.info.Control, m.state, m)
	m.grow(nowNS)
}

// firstView is how much of a run without an end is drawn at first. It doubles when it is full.
const firstView = time.Minute

// grow makes room for what comes in a run without an end.
func (m *model) grow(nowNS int64) {
	if m.run == nil || !m.run.Played || m.measureNS == 0 || m.at(nowNS) < inMS(int64(m.run.Duration)) {
		return
	}
	m.run.Duration *= 2
	m.ops = series.NewCollector(inMS(int64(m.run.Duration)), 1)
	for _, o := range m.played {
		m.ops.Add(o)
	}
}

type choicesView struct {
	ControlState
	Now  string // the lock
	Over bool   // there is nothing to control any more
}

type targetsView struct {
	Ways   []wayView
	Delays []string // as faults have them
	Roles  []roleView
}

// wayView is traffic that can be hit, as faults name it.
type wayView struct{ Text, JSON string }

type roleView struct {
	Name  string
	Nodes []string
}

// targetsOf are what can be broken.
func targetsOf(say *lang.Lang, s ControlState) (v targetsView) {
	v.Delays = []string{"50ms", "20ms", "200ms", "1s"}
	v.Ways = append(v.Ways, wayView{say.Text("between the zones, both ways"), `{"between":["zones"]}`})
	for _, from := range s.Zones {
		for _, to := range s.Zones {
			if from != to {
				v.Ways = append(v.Ways, wayView{say.Sprintf("one way, from zone %s to zone %s", from, to), fmt.Sprintf(`{"from":"zone:%s","to":"zone:%s"}`, from, to)})
			}
		}
	}
	for _, zone := range s.Zones {
		v.Ways = append(v.Ways, wayView{say.Sprintf("all of zone %s, isolated", zone), fmt.Sprintf(`{"between":["zone:%s","others"]}`, zone)})
	}
	for _, n := range s.Nodes {
		i := slices.IndexFunc(v.Roles, func(r roleView) bool { return r.Name == n.Role })
		if i < 0 {
			i, v.Roles = len(v.Roles), append(v.Roles, roleView{Name: n.Role})
		}
		v.Roles[i].Nodes = append(v.Roles[i].Nodes, n.Name)
	}
	return v
}

type brokenView struct {
	ControlFault
	Name string
	Heal string // what its button says
}

// ofHolder says that a fault is to hit who holds the lock: whether it did is known when its history
// is complete, and until then it is not proven.
func ofHolder(target string) bool { return strings.HasPrefix(target, history.TargetHolder) }

// Holder says that it is one of them.
func (v brokenView) Holder() bool { return ofHolder(v.Target) }

// brokenOf are the faults that somebody may heal.
func brokenOf(say *lang.Lang, s ControlState) (all []brokenView) {
	for _, f := range s.Faults {
		heal := map[string]string{"kill": say.Text("start it again"), "pause": say.Text("let it go on")}[f.Kind]
		if heal == "" {
			heal = say.Text("heal it")
		}
		all = append(all, brokenView{f, say.Tell(history.FaultText(f.Kind, f.Target)), heal})
	}
	return all
}

// controlParts are the parts of the page for who controls what it shows.
func controlParts(say *lang.Lang, m *model, text func(name string, data any) string) []part {
	if m.info.Control == nil {
		return nil
	}
	tour := tourOf(say, m)
	return []part{
		{"tour-stop", text("tour-stop", tour)},
		{"tour-evidence", text("tour-evidence", tour)},
		{"tour-steps", text("tour-steps", tour)},
		{"choices", text("choices", choicesView{m.state, m.state.Lock, m.over})},
		{"targets", text("targets", targetsOf(say, m.state))},
		{"broken", text("broken", brokenOf(say, m.state))},
	}
}

// panel is where they stand; nothing if nothing is controlled.
func (b *Board) panel(t *template.Template) (template.HTML, error) {
	if b.info.Control == nil {
		return "", nil
	}
	var out bytes.Buffer
	err := t.ExecuteTemplate(&out, "panel", b.info.Control.State())
	return template.HTML(out.String()), err //nolint:gosec // a template made it
}
