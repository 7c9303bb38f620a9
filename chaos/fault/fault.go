package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/internal/strictyaml"
	"locklab/workloads/history"
)

// Fault is one fault of a scenario, read and checked.
type Fault struct {
	Kind     string
	Target   string      // what it hits, in one line
	Aim      history.Aim // without the node, which is found when it begins
	Instant  bool        // it is over as soon as it began
	Run      []string    // of an external fault: the name of the programs, then arguments
	LoseData []string    // roles whose nodes come back without their data
	Cut      string      // how it cuts links, one of [Cuts]; "" if all arrives in time
	Prepared bool        // its targets must be started for it: with a clock that can be set, a disk that can fail

	plan    planner
	windows func(from, until time.Duration) []Window // nil: once
}

// Kind is one kind of fault.
type Kind struct {
	Name    string
	Summary string
	Instant bool    // it is over as soon as it began
	Exits   string  // how the nodes that it hits may exit: see [history.Aim]
	Fields  []Field // of a scenario's step, beside those of every step

	read func(fields) Fault
}

// Cuts are the ways to cut links, the worst first.
func Cuts() []string { return []string{"reset", "held", "dropped", "flapping", "one-way"} }

// Field is a field of a scenario's step.
type Field struct {
	Name    string
	Example string // a value, as one writes it
	Does    string // for lists of fields
	Needed  bool   // the field, or its substitute, is required
}

// Names returns the names of fields.
func Names(fields []Field) (names []string) {
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}

// Read reads the fault of a scenario's step, whose fields may be those of the kind and those named in beside,
// and returns the step too. firstZone is the first zone of the topology, "" if not known.
func Read(n strictyaml.Node, firstZone string, beside ...string) (Fault, strictyaml.Node) {
	var names []string
	beside = append(beside, "fault")
	if !n.IsMapping() {
		return Fault{}, n.Fields(beside...)
	}
	is := n.Fields().Get("fault")
	for _, k := range Kinds() {
		names = append(names, k.Name)
		if name := is.Text(); k.Name != name {
			continue
		}
		f := fields{n.Fields(slices.Concat(beside, Names(k.Fields))...), k, firstZone}
		fault := k.read(f)
		fault.Kind, fault.Instant, fault.Aim.Exits = k.Name, k.Instant, k.Exits
		return fault, f.Node
	}
	is.Need("one of " + strings.Join(names, ", ")).OneOf(names...)
	return Fault{}, n.Fields()
}

// Window is a period in which a fault is on, counted from the beginning of the measured part.
type Window struct{ From, Until time.Duration }

// Windows returns the periods between from and until in which the fault is on.
func (f Fault) Windows(from, until time.Duration) []Window {
	switch {
	case f.Instant:
		return []Window{{from, from}}
	case f.windows != nil:
		return f.windows(from, until)
	default:
		return []Window{{from, until}}
	}
}

// Moves says that the fault's target is found only when the fault begins.
func (f Fault) Moves() bool { return f.Aim.At != "" }

// Plan plans the fault for the inventory as it is now. id must be unique in the run.
func (f Fault) Plan(ctx context.Context, id string, inv Inventory, resolver Resolver) (Plan, error) {
	aim := f.Aim
	p, err := f.plan(ctx, id, scene{inv, resolver, &aim})
	p.Aim = aim
	return p, err
}

// fields are the fields of a step that a kind reads.
type fields struct {
	strictyaml.Node
	kind      Kind
	firstZone string
}

// need returns a field that must be given.
func (f fields) need(name string) strictyaml.Node {
	n := f.Get(name)
	if !n.Given() {
		n.Fail("missing: the fault %s needs it", f.kind.Name)
	}
	return n
}

// duration reads a duration of at least least; if that is 0, the field is optional.
func (f fields) duration(name string, least time.Duration) time.Duration {
	n := f.Get(name)
	if least > 0 {
		n = f.need(name)
	}
	d := n.Duration(1, mostTime, "50ms")
	if n.Given() && d < least {
		n.Fail("%v: want at least %v: probes see no less", d, least)
	}
	return d
}

// only says whether an optional field is given; it has but one right value.
func (f fields) only(name, value string) bool {
	return f.Get(name).Given() && f.Get(name).OneOf(value) != ""
}

// target reads a selector of nodes of one of the kinds, by default of any.
func (f fields) target(kinds ...string) selector {
	if len(kinds) == 0 {
		kinds = slices.Concat([]string{FirstZone}, namedKinds(), dynamicKinds())
	}
	return readSelector(f.need("target"), kinds, f.firstZone)
}

// sides are the two ends of the traffic that a fault of links hits.
type sides struct {
	from, to selector
	both     bool // ways, not only from to to
}

// selected lists the selectors, for descriptions of fields.
const selected = "first-zone of the topology, zone:NAME, host:NAME, node:NAME or role:NAME; one:ROLE, majority:ROLE " +
	"or minority:ROLE, where server is the role of the lock's servers; " +
	"holder, holder-of:RESOURCE, leader or primary, as they are when it begins"

// traffic returns the fields of a fault of links: its sides, and more.
func traffic(more ...Field) []Field {
	return append([]Field{
		{
			"between", "[zone:a, others]",
			"the traffic between two sides, both ways; [zones] is all between zones. A side is others, all but the other " +
				"side, or " + selected, true,
		},
		{"from", "leader", "in place of between: a side whose traffic to the other is hit, one way", false},
		{"to", "others", "the other side of from", false},
	}, more...)
}

// hits describes the field that target reads.
func hits(example string) Field {
	return Field{"target", example, "what it hits: " + selected, true}
}

func lost() Field {
	return Field{
		"lose_data", "[redis]",
		"roles of its targets that come back without their data, and not before what they may have granted has run out " +
			"(the lock's lease, or its restart_delay), so perhaps not in this run", false,
	}
}

// aim is that of the side that moves; of two, a holder goes before a leader, and a leader before a primary.
func (s sides) aim() history.Aim {
	aim, other := s.from.aim(), s.to.aim()
	if aim.At == "" || other.At != "" && other.At < aim.At { // alphabetically
		aim = other
	}
	aim.OneWay = !s.both
	return aim
}

func (s sides) String() string {
	switch {
	case s.from.kind == Zones:
		return history.TargetZones
	case s.both:
		return fmt.Sprintf("%v <-> %v", s.from, s.to)
	default:
		return fmt.Sprintf("%v -> %v", s.from, s.to)
	}
}

func (f fields) sides() (s sides) {
	between, from, to := f.Get("between"), f.Get("from"), f.Get("to")
	two := []strictyaml.Node{from, to}
	switch {
	case between.Given() == (from.Given() || to.Given()):
		between.Fail("want either between: [A, B], for both ways, or from: A and to: B, for one")
		return s
	case between.Given():
		s.both = true
		two = between.List()
		if len(two) == 1 && two[0].Text() == Zones {
			return sides{selector{kind: Zones}, selector{kind: Zones}, true}
		}
		if len(two) != 2 {
			between.Fail("want two selectors, such as [zone:a, others], or [zones]")
			return s
		}
	}
	any := slices.Concat([]string{FirstZone}, namedKinds(), dynamicKinds(), []string{Others})
	s.from, s.to = readSelector(two[0].Need(selectors(any)), any, f.firstZone),
		readSelector(two[1].Need(selectors(any)), any, f.firstZone)
	if s.from == s.to {
		two[1].Fail("%q is on both sides: want two different ones", s.to)
	}
	return s
}

// Parse reads one fault as scenarios write it, such as {fault: kill, target: holder}, or the same in JSON.
// Errors wrap [ErrInvalid].
func Parse(text []byte) (Fault, error) {
	doc, err := strictyaml.Parse("fault", text, ErrInvalid)
	if err != nil {
		return Fault{}, err
	}
	f, _ := Read(doc.Root, "")
	return f, doc.Err()
}
