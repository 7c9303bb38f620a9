package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"locklab/chaos/fault"
	"locklab/internal/strictyaml"
	"locklab/locks"
)

// Scenario is a checked scenario.
type Scenario struct {
	File    string // what errors call it
	Name    string
	Summary string
	// Title and TitleKO head its column, in English and Korean; without them it is the name.
	Title, TitleKO string
	// MinDuration is the shortest measured time in which it makes sense; 0 is any.
	MinDuration time.Duration
	// OutlastsLease says that it shows something only where each fault lasts for longer than the
	// lock's lease.
	OutlastsLease bool
	// Wants is what clients must do for the scenario to show what it is about.
	Wants    Wants
	Timeline []Step
	// Locks maps lock specs, as text, to what is expected of them.
	Locks map[string]Expectations

	nameLine int
}

// Wants is what a scenario wants of the workload, where the user does not say. What is 0 it
// leaves to the workload, and so do workloads without such a thing.
type Wants struct {
	Hold      time.Duration // for a holder to be hit
	Clients   int           // in each master
	Resources int           // that all of them contend for
}

// Step is one fault of the timeline.
type Step struct {
	Line  int    // where the file has it
	ID    string // unique in the scenario
	At    Moment
	For   Moment // zero: to the end
	Fault fault.Fault
}

// External are the words of all external faults of the timeline, in its order.
func (s Scenario) External() [][]string {
	var all [][]string
	for _, step := range s.Timeline {
		if len(step.Fault.Run) > 0 {
			all = append(all, step.Fault.Run)
		}
	}
	return all
}

// Moment is a part of the measured time, or a duration.
type Moment struct {
	Percent  float64
	Duration time.Duration
}

// Of is the moment in a run whose measured part takes total.
func (m Moment) Of(total time.Duration) time.Duration {
	return m.Duration + time.Duration(float64(total)*m.Percent/100)
}

// Scheduled is one fault of a run. A step that comes and goes makes several.
type Scheduled struct {
	ID     string // in the ledger
	Step   Step
	Window fault.Window
}

// Schedule lists the faults of a run whose measured part takes total.
func (s Scenario) Schedule(total time.Duration) []Scheduled {
	var all []Scheduled
	for _, step := range s.Timeline {
		whole := step.Window(total)
		windows := step.Fault.Windows(whole.From, whole.Until)
		for n, w := range windows {
			id := step.ID
			if len(windows) > 1 {
				id = fmt.Sprintf("%s#%d", step.ID, n+1)
			}
			all = append(all, Scheduled{id, step, w})
		}
	}
	return all
}

// Window is when the step's fault is on, for a measured part of that length.
func (s Step) Window(total time.Duration) fault.Window {
	from := min(s.At.Of(total), total)
	if s.For == (Moment{}) {
		return fault.Window{From: from, Until: total}
	}
	return fault.Window{From: from, Until: min(from+s.For.Of(total), total)}
}

// Expectation is what is expected of a lock; what is empty is not judged.
type Expectation struct {
	Safety   string   // safe or unsafe
	Liveness []string // any of live, stalls, down
	// Outside and During are the least shares of operations, 0 to 1, that end ok: of those
	// that no fault touches, and while one is in force. Nil says nothing.
	Outside, During *float64
	// Why is the reason, and Source who says so: a document and its section, or a public
	// reference.
	Why, Source string
	// NotFor says that the scenario does not apply to the lock; Why says why.
	NotFor bool

	Line int // where the file names the lock or the topology
}

// DefaultOutside is expected of every lock of which anything is expected: a lock that
// serves less while nothing is broken is none that one would use.
const DefaultOutside = 0.99

// Expectations is an expectation and what differs from it in some topologies.
type Expectations struct {
	Expectation
	Topologies map[string]Expectation
}

// CheckLocks says which lock of expect is none: a name that nobody answers to would
// leave the lock that was meant unjudged. The check is the caller's, who knows all
// locks.
func (s Scenario) CheckLocks(check func(locks.Spec) error) error {
	for _, name := range slices.SortedFunc(maps.Keys(s.Locks), func(a, b string) int {
		return cmp.Compare(s.Locks[a].Line, s.Locks[b].Line)
	}) {
		spec, err := locks.ParseSpec(name)
		if err == nil {
			err = check(spec)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: expect: %w: %w", s.File, s.Locks[name].Line, err, ErrInvalid)
		}
	}
	return nil
}

// CheckTopologies says which topology of expect is none that there is: what is expected
// there would be expected nowhere.
func (s Scenario) CheckTopologies(known []string) error {
	wrong, line := "", 0
	for _, lock := range s.Locks {
		for name, e := range lock.Topologies {
			if !slices.Contains(known, name) && (wrong == "" || e.Line < line) {
				wrong, line = name, e.Line
			}
		}
	}
	if wrong == "" {
		return nil
	}
	return fmt.Errorf("%s:%d: expect: unknown topology %q: want one of %s: %w",
		s.File, line, strictyaml.Cut(wrong), strings.Join(known, ", "), ErrInvalid)
}

// CheckData says which role cannot come back without its data; the check is the caller's,
// who knows the roles.
func (s Scenario) CheckData(check func(role string) error) error {
	for _, step := range s.Timeline {
		for _, role := range step.Fault.LoseData {
			if err := check(role); err != nil {
				return fmt.Errorf("%s:%d: fault %s: lose_data: %w: %w", s.File, step.Line, step.ID, err, ErrInvalid)
			}
		}
	}
	return nil
}

// Expect returns what is expected of the lock in the topology; false if the
// scenario says nothing about that lock. Of several that it names, the one counts that has
// most of the lock's options, and no other: persistence=always stays so with a ttl.
func (s Scenario) Expect(lock locks.Spec, topology string) (Expectation, bool) {
	best, rank := "", -1
	for name := range s.Locks {
		spec, err := locks.ParseSpec(name)
		if err != nil || spec.Name != lock.Name || spec.Variant != "" && spec.Variant != lock.Variant {
			continue
		}
		n := 2 * len(spec.Options)
		for key, value := range spec.Options {
			if lock.Options[key] != value {
				n = -1
				break
			}
		}
		if n >= 0 && spec.Variant != "" {
			n++
		}
		if n > rank || n == rank && n >= 0 && name < best {
			best, rank = name, n
		}
	}
	if rank < 0 {
		return Expectation{}, false
	}
	e := s.Locks[best]
	found := e.Expectation
	if other, differs := e.Topologies[topology]; differs {
		if other.Safety != "" {
			found.Safety = other.Safety
		}
		if len(other.Liveness) > 0 {
			found.Liveness = other.Liveness
		}
		found.Outside = cmp.Or(other.Outside, found.Outside)
		found.During = cmp.Or(other.During, found.During)
	}
	if found.Outside == nil && (found.Safety != "" || len(found.Liveness) > 0 || found.During != nil) {
		found.Outside = new(DefaultOutside)
	}
	return found, true
}
