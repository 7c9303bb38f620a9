package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/chaos/link"
)

// Spec is one fault as a scenario describes it. Which fields a kind takes is in
// its [Kind].
type Spec struct {
	Kind string

	// Between is two selectors, for traffic both ways, or the one word "zones".
	// From and To are for traffic one way. Each side is a selector or "others".
	Between  []string
	From, To string

	Mode      string        // of a cut: hold, drop or reset
	Delay     time.Duration // one way
	Jitter    time.Duration // one way, up to
	BytesPerS int64
	Loss      float64 // 0 to 1
	Stall     time.Duration
	Down, Up  time.Duration // of a flap

	Run    []string // of an external fault: name of the programs, arguments
	Effect string   // of an external fault: partition or stop

	Target   string   // of a fault of processes: which nodes
	LoseData []string // roles whose nodes come back without their data
}

// Kind is one kind of fault.
type Kind struct {
	Name    string
	Summary string
	Fields  []string // of a scenario's step, beside at, for and id

	needs []string                                                   // fields that must be there
	check func(Spec) *FieldError                                     // of the values; nil: nothing to check
	plan  func(context.Context, string, Spec, scene) (Plan, error)   // what to do
	times func(s Spec, from, until time.Duration) (windows []Window) // nil: once
}

// article is the kind as it stands in a sentence.
func (k Kind) article() string {
	if strings.HasPrefix(k.Name, "e") {
		return "an " + k.Name
	}
	return "a " + k.Name
}

// FieldError says which field of a step is wrong and what would be right.
type FieldError struct{ Field, Problem string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// Kinds are all kinds of faults, by name.
func Kinds() []Kind {
	all := []Kind{
		latency(), jitter(), bandwidth(), flaky(), partition(), flap(),
		zoneFailure(), kill(), pause(), restart(), external(),
	}
	slices.SortFunc(all, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Find returns the kind of that name.
func Find(name string) (Kind, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kind{}, &FieldError{"fault", fmt.Sprintf("unknown kind %q: want one of %s", name, strings.Join(names, ", "))}
}

// Check says what is wrong with a spec; given are the fields that were written.
// The error is a *FieldError.
func Check(s Spec, given []string) error {
	k, err := Find(s.Kind)
	if err != nil {
		return err
	}
	for _, field := range given {
		if !slices.Contains(k.Fields, field) {
			return &FieldError{field, fmt.Sprintf("%s has no such field: it has %s", k.article(), strings.Join(k.Fields, ", "))}
		}
	}
	for _, field := range k.needs {
		if !slices.Contains(given, field) {
			return &FieldError{field, k.article() + " needs it"}
		}
	}
	if e := checkSides(k, s, given); e != nil {
		return e
	}
	if slices.Contains(k.Fields, "target") {
		if err := CheckSelector(s.Target, true); err != nil {
			return &FieldError{"target", fmt.Sprintf("%q: %v", s.Target, err)}
		}
	}
	if k.check != nil {
		if e := k.check(s); e != nil {
			return e
		}
	}
	return nil
}

// sides are the fields that say which traffic a fault of links hits.
func sides() []string { return []string{"between", "from", "to"} }

func checkSides(k Kind, s Spec, given []string) *FieldError {
	if !slices.Contains(k.Fields, "between") {
		return nil
	}
	both, oneWay := slices.Contains(given, "between"), slices.Contains(given, "from") || slices.Contains(given, "to")
	var one, other string
	switch {
	case both && oneWay, !both && !oneWay:
		return &FieldError{"between", "want either between: [A, B], for both ways, or from: A and to: B, for one"}
	case both && len(s.Between) == 1 && s.Between[0] == Zones:
		return nil
	case both && len(s.Between) != 2:
		return &FieldError{"between", "want two selectors, such as [zone:a, others], or [zones]"}
	case both:
		one, other = s.Between[0], s.Between[1]
	default:
		one, other = s.From, s.To
	}
	field := [2]string{"between", "between"}
	if oneWay {
		field = [2]string{"from", "to"}
	}
	for n, side := range []string{one, other} {
		if side == Others && one != other {
			continue
		}
		if err := CheckSelector(side, false); err != nil {
			return &FieldError{field[n], fmt.Sprintf("%q: %v; one side may be others", side, err)}
		}
	}
	return nil
}

// Describe is what the fault hits, in one line.
func (s Spec) Describe() string {
	switch {
	case len(s.Between) == 1:
		return "between " + s.Between[0]
	case len(s.Between) == 2:
		return s.Between[0] + " <-> " + s.Between[1]
	case s.From != "":
		return s.From + " -> " + s.To
	case len(s.Run) > 0:
		return s.Target + " (" + strings.Join(s.Run, " ") + ")"
	default:
		return s.Target
	}
}

// Window is one time in which a fault is on, from the beginning of the measured part.
type Window struct{ From, Until time.Duration }

// Windows are the times in which the fault is on when it is given this much.
func Windows(s Spec, from, until time.Duration) []Window {
	if k, err := Find(s.Kind); err == nil && k.times != nil {
		return k.times(s, from, until)
	}
	return []Window{{from, until}}
}

// linkMode turns a mode into the impairment that makes it.
func linkMode(mode string) (link.Kind, *FieldError) {
	switch k := link.Kind(mode); k {
	case link.Hold, link.Drop, link.Reset:
		return k, nil
	default:
		return "", &FieldError{"mode", fmt.Sprintf("%q: want hold, drop or reset", mode)}
	}
}
