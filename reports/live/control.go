package live

// Control is what a person may do to the comparison that the page shows. Its errors are for
// that person: they say what would be right.
type Control interface {
	// Begin begins a fault, as scenarios write it, in JSON.
	Begin(fault []byte) error
	// Heal ends a fault, or all if the ID is empty.
	Heal(id string) error
	// SetRate changes the operations offered per second.
	SetRate(perSecond uint32) error
	// Switch ends the run and begins one of another lock, or of the same one.
	Switch(lock string) error
	// State is how things are.
	State() ControlState
}

// ControlState is how things are for who controls them.
type ControlState struct {
	Run      int    // the number of the run, from 1
	Lock     string // of the run that goes on, or begins
	Running  bool   // faults and rates are taken
	Locks    []string
	PerS     uint32 // that are offered, in operations per second
	MostPerS uint32
	Zones    []string
	Nodes    []Node
	Faults   []ControlFault // that somebody began and that are not over
}

// ControlFault is a fault that goes on.
type ControlFault struct {
	ID, Kind, Target string
	Proven           bool // it was seen to have begun
	Healing          bool // its end is asked for
}
