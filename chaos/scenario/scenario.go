package scenario

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
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
	// Title and TitleKO are its column's heading, in English and Korean; the default is Name.
	Title, TitleKO string
	// MinDuration is the shortest measured time for which the scenario is meant; 0 is any.
	MinDuration time.Duration
	// OutlastsLease says that each fault must last longer than the lock's lease to show anything.
	OutlastsLease bool
	// Wants is what clients must do for the faults to show an effect.
	Wants    Wants
	Timeline []Step
	// Does is the timeline and Wants as written, in one line: equal for equal runs.
	Does string
	// Rules say what is expected: the scenario's own, then the general ones.
	Rules []Rule

	nameLine int
}

// Wants is what a scenario asks of the workload where the user does not say. The workload decides about zero
// fields, and ignores settings that it does not have.
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

// Moment is a share of the measured time, plus a duration.
type Moment struct {
	Percent  float64
	Duration time.Duration
}

// Of is the moment in a run whose measured part takes total.
func (m Moment) Of(total time.Duration) time.Duration {
	return m.Duration + time.Duration(float64(total)*m.Percent/100)
}

// ErrInvalid is wrapped by every error about a scenario that cannot be used.
var ErrInvalid = errors.New("scenario: invalid")

//go:embed builtin/*.yaml
var builtin embed.FS

func files() strictyaml.Files {
	return strictyaml.Files{What: "scenario", Builtin: builtin, Invalid: ErrInvalid}
}

// Load reads and checks a scenario: a built-in one by its name, or a file by its path. firstZone is the zone that
// first-zone means, "" without a topology. Errors wrap [ErrInvalid] and name the file, the line and what would be
// right.
func Load(nameOrPath, firstZone string) (Scenario, error) {
	file, text, err := files().Read(nameOrPath)
	if err != nil {
		return Scenario{}, err
	}
	s, err := Parse(file, text, firstZone)
	if err == nil && s.Name != nameOrPath && slices.Contains(Names(), s.Name) {
		err = fmt.Errorf("%s:%d: name: %q is a built-in scenario: want another name, such as my-%s: %w",
			s.File, s.nameLine, s.Name, s.Name, ErrInvalid)
	}
	return s, err
}

// Names lists the built-in scenarios in reading order: nothing broken first, then slow, cut, failing and stopped.
func Names() []string { return files().Names() }

// Parse checks the YAML text of a scenario, as [Load] does; errors call it file.
func Parse(file string, text []byte, firstZone string) (Scenario, error) {
	doc, err := strictyaml.Parse(file, text, ErrInvalid)
	if err != nil {
		return Scenario{}, err
	}
	general, err := generalRules()
	if err != nil {
		return Scenario{}, err
	}
	f := doc.Root.Fields("name", "title", "summary", "min_duration", "outlasts", "hold", "clients", "resources",
		"timeline", "source", "expect")
	s := Scenario{
		File: file, Name: f.Get("name").Name(maxName), Summary: f.Get("summary").Text(), nameLine: f.Get("name").Line(),
		MinDuration:   f.Get("min_duration").Duration(1, time.Hour, "3m"),
		OutlastsLease: f.Get("outlasts").OneOf("lease") != "",
		Wants: Wants{
			Hold:    f.Get("hold").Duration(1, time.Minute, "50ms"),
			Clients: f.Get("clients").Int(1, maxCount), Resources: f.Get("resources").Int(1, maxCount),
		},
		Rules: append(readRules(f.Get("expect"), file, f.Get("source").Text()), general...),
	}
	for _, name := range []string{"hold", "clients", "resources", "timeline"} {
		s.Does += strings.Join(append([]string{name}, f.Get(name).Words()...), " ") + ";"
	}
	title := f.Get("title").Fields("en", "ko")
	s.Title = cmp.Or(title.Get("en").Text(), s.Name)
	s.TitleKO = cmp.Or(title.Get("ko").Text(), s.Title)
	if firstZone != "" {
		s.Title = strings.ReplaceAll(s.Title, "first-zone", "zone "+firstZone)
		s.TitleKO = strings.ReplaceAll(s.TitleKO, "first-zone", "영역 "+firstZone)
	}
	ids := map[string]bool{}
	for i, n := range f.Get("timeline").Need("a list of faults, or [] for none").List() {
		step := readStep(n, i+1, firstZone)
		if ids[step.ID] {
			n.Fields().Get("id").Fail("%q is there twice", step.ID)
		}
		ids[step.ID] = true
		s.Timeline = append(s.Timeline, step)
	}
	return s, doc.Err()
}

// maxCount is the most clients, or resources, that a scenario asks for.
const maxCount = 1000

// maxName is the longest name of a scenario, or of a fault.
const maxName = 100

// StepFields are the fields of every step, beside fault and those of its kind.
func StepFields() []fault.Field {
	return []fault.Field{
		{
			Name: "at", Example: "30%", Does: "when it begins: a share of the measured time, or a time such as 2s",
			Needed: true,
		},
		{Name: "for", Example: "35%", Does: "how long it lasts, likewise; to the end if not given"},
		{Name: "id", Example: "cut", Does: "its name in histories; its kind and number if not given"},
	}
}

func readStep(n strictyaml.Node, number int, firstZone string) Step {
	what, f := fault.Read(n, firstZone, fault.Names(StepFields())...)
	s := Step{Line: n.Line(), ID: fmt.Sprintf("%s-%d", what.Kind, number), Fault: what}
	if f.Get("id").Given() {
		s.ID = f.Get("id").Name(maxName)
	}
	s.At = readMoment(f.Get("at").Need("a share of the measured time, or a duration such as 2s"))
	if length := f.Get("for"); length.Given() {
		s.For = readMoment(length)
		switch {
		case what.Instant:
			length.Fail("a %s has no such field: it is over at once; want a kill", what.Kind)
		case s.For.Percent == 0 && s.For.Duration < fault.LeastTime:
			length.Fail("%v: want at least %v, which a proof takes", s.For.Duration, fault.LeastTime)
		}
	}
	share := s.At.Percent + s.For.Percent
	if share > 100 || s.At.Percent == 100 || share == 100 && s.At.Duration+s.For.Duration > 0 {
		n.Fail("no run is long enough for it: want at and for of less than 100%%, together at most 100%%")
	}
	return s
}

// maxMoment is longer than any run, and short enough to add to any time.
const maxMoment = 30 * 24 * time.Hour

// readMoment reads 30% or 2s.
func readMoment(n strictyaml.Node) Moment {
	text := n.Text()
	if p, ok := strictyaml.Percent(text); ok {
		return Moment{Percent: p}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxMoment {
		n.Fail("%q: want a share of the measured time, 0%% to 100%%, or a duration such as 2s", text)
	}
	return Moment{Duration: d}
}

// Again repeats the timeline n times, in a run that is n times as long.
func (s Scenario) Again(n int) Scenario {
	once := s.Timeline
	s.Timeline, s.MinDuration = nil, time.Duration(n)*s.MinDuration
	for k := range n {
		for _, step := range once {
			if step.For == (Moment{}) && !step.Fault.Instant {
				step.For = Moment{100 - step.At.Percent, -step.At.Duration} // to the end of its repetition
			}
			step.At.Percent = (step.At.Percent + 100*float64(k)) / float64(n)
			step.For.Percent /= float64(n)
			if k > 0 {
				step.ID = fmt.Sprintf("%s.%d", step.ID, k+1)
			}
			s.Timeline = append(s.Timeline, step)
		}
	}
	return s
}

// Scheduled is one fault of a run; a flap makes several.
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

// CheckLocks passes the locks that rules name to check, and returns its first error. A misspelt name would leave
// the lock to the general rules.
func (s Scenario) CheckLocks(check func(locks.Spec) error) error {
	for _, r := range s.Rules {
		for _, spec := range r.locks {
			if err := check(spec); err != nil {
				return fmt.Errorf("%s:%d: expect: %w: %w", s.File, r.Line, err, ErrInvalid)
			}
		}
	}
	return nil
}

// CheckTimes returns an error for a fault that does not fit into a measured part of that length, or is too short
// to prove.
func (s Scenario) CheckTimes(measured time.Duration) error {
	for _, step := range s.Timeline {
		from := step.At.Of(measured)
		until := measured
		if step.For != (Moment{}) {
			until = from + step.For.Of(measured)
		}
		if until > measured || until-from+rounding < fault.LeastTime {
			return fmt.Errorf("%s:%d: fault %s is on from %v to %v of a run of %v: want at least %v of it, before the end "+
				"of the run: %w", s.File, step.Line, step.ID, from, until, measured, fault.LeastTime, ErrInvalid)
		}
	}
	return nil
}

// CheckLease returns an error for a fault that must outlast the lease and does not. A lock without leases has one
// of 0.
func (s Scenario) CheckLease(measured, lease time.Duration, lock string) error {
	for _, step := range s.Timeline {
		w := step.Window(measured)
		if lasts := w.Until - w.From; s.OutlastsLease && lasts <= lease {
			return fmt.Errorf("%s:%d: fault %s lasts for %v of a run of %v, and a lease of %s for %v: "+
				"want it to last for longer, a longer run or a shorter lease: %w",
				s.File, step.Line, step.ID, lasts, measured, lock, lease, ErrInvalid)
		}
	}
	return nil
}

// rounding is the error allowed for shares of a duration.
const rounding = time.Microsecond

// Planned is a step with its plan for the inventory.
type Planned struct {
	Step Step
	fault.Plan
}

// Plan plans each fault for the inventory. The error names a fault without a target.
func (s Scenario) Plan(ctx context.Context, inv fault.Inventory, resolver fault.Resolver) (all []Planned, err error) {
	for _, step := range s.Timeline {
		plan, err := step.Fault.Plan(ctx, step.ID, inv, resolver)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: fault %s on %s: %w: %w", s.File, step.Line, step.ID, step.Fault.Target, err,
				ErrInvalid)
		}
		all = append(all, Planned{step, plan})
	}
	return all, nil
}

// Rule has expectations of the locks that it fits. Fields that it leaves empty come from a later rule.
type Rule struct {
	Safety   string   // safe, unsafe or [NotJudged]
	Liveness []string // any of live, stalls, down, or only [NotJudged]
	// Served is the least share of operations that end ok: during the fault or, if nothing is broken, in the whole
	// run. A rule with liveness and without Served expects none.
	Served *float64
	// NotFor is why the scenario does not apply.
	NotFor string
	// Why is the reason, and Source its evidence: a document and its section, or a public reference.
	Why, Source string

	File string
	Line int

	locks []locks.Spec
	when  map[string][]string // by fact, the words that it may have
}
