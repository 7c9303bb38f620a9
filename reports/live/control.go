package live

import (
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

// brokenText is a fault that can be healed.
func brokenText(say *lang.Lang, f ControlFault) string {
	name := say.Tell(history.FaultText(f.Kind, f.Target))
	switch {
	case f.Healing:
		return say.Sprintf("%s: is being healed", name)
	case f.Proven:
		return beganText(say, name, f.Target)
	}
	return say.Sprintf("%s: not proven yet", name)
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
	return []part{
		text("tour", tourOf(say, m)), text("choices", choices), text("targets", m.state),
		text("broken", m.state.Faults),
	}
}
