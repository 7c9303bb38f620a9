package scenario

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/chaos/fault"
	"locklab/internal/strictyaml"
)

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
