package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"locklab/chaos/fault"
	"locklab/locks"
)

// Parse checks the YAML text of a scenario; file is what errors call it. Errors
// wrap [ErrInvalid].
func Parse(file string, text []byte) (Scenario, error) {
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return Scenario{}, syntaxError(file, err)
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return Scenario{}, fmt.Errorf("%s:1: want one YAML document with name, summary, timeline and expect: %w", file, ErrInvalid)
	}
	r := &reader{file: file}
	s := r.scenario(tree.Docs[0].Body)
	s.File = file
	if r.err != nil {
		return Scenario{}, r.err
	}
	return s, nil
}

func syntaxError(file string, err error) error {
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil && e.GetToken().Position != nil {
		return fmt.Errorf("%s:%d: %s: %w", file, e.GetToken().Position.Line, e.GetMessage(), ErrInvalid)
	}
	return fmt.Errorf("%s: %w: %w", file, err, ErrInvalid)
}

// reader walks the tree and keeps the first thing that is wrong.
type reader struct {
	file string
	err  error
}

func (r *reader) fail(n ast.Node, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s:%d: %s: %w", r.file, line(n), fmt.Sprintf(format, args...), ErrInvalid)
	}
}

func line(n ast.Node) int {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return line(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return line(n.Key)
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 1
	}
	return n.GetToken().Position.Line
}

// entry is one "key: value" of a mapping.
type entry struct {
	key   string
	at    ast.Node // the key
	value ast.Node
}

// mapping are the entries of a node that must be a mapping with known keys;
// known nil allows every key.
func (r *reader) mapping(n ast.Node, what string, known []string) []entry {
	m, ok := n.(ast.MapNode)
	if !ok {
		r.fail(n, "%s: want fields (%s)", what, orAny(known))
		return nil
	}
	var (
		all  []entry
		seen = map[string]bool{}
	)
	for it := m.MapRange(); it.Next(); {
		key := it.Key()
		name := strings.Trim(key.String(), `"'`)
		switch {
		case key.IsMergeKey():
			r.fail(key, "%s: merge keys are not supported: write the fields out", what)
		case seen[name]:
			r.fail(key, "%s: field %q is there twice", what, name)
		case known != nil && !slices.Contains(known, name):
			r.fail(key, "%s: unknown field %q: want %s", what, name, orAny(known))
		}
		seen[name] = true
		all = append(all, entry{name, key, it.Value()})
	}
	return all
}

func orAny(known []string) string {
	if known == nil {
		return "any"
	}
	return strings.Join(known, ", ")
}

func (r *reader) list(n ast.Node, what string) []ast.Node {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(n, "%s: want a list", what)
		return nil
	}
	return s.Values
}

// text is the value of a scalar as it was written.
func (r *reader) text(n ast.Node, what string) string {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value
	case *ast.LiteralNode:
		return strings.TrimSpace(s.Value.Value)
	case *ast.MappingNode:
		// The parser takes zone:a in a list within braces for a mapping; people
		// write zone: a. Both mean the selector.
		if len(s.Values) == 1 {
			return r.text(s.Values[0].Key, what) + ":" + r.text(s.Values[0].Value, what)
		}
	case *ast.NullNode:
	case ast.ScalarNode:
		return s.GetToken().Value
	}
	r.fail(n, "%s: want a word or a number", what)
	return ""
}

func (r *reader) texts(n ast.Node, what string) (all []string) {
	for _, v := range r.list(n, what) {
		all = append(all, r.text(v, what))
	}
	return all
}

func (r *reader) scenario(n ast.Node) (s Scenario) {
	var steps ast.Node
	for _, e := range r.mapping(n, "scenario", []string{"name", "summary", "min_duration", "timeline", "expect"}) {
		switch e.key {
		case "name":
			s.Name = r.text(e.value, "name")
			if !validName(s.Name) {
				r.fail(e.value, "name: %q: want lower-case letters, digits and dashes", s.Name)
			}
		case "summary":
			s.Summary = r.text(e.value, "summary")
		case "min_duration":
			s.MinDuration = r.minDuration(e.value)
		case "timeline":
			steps = e.value
		case "expect":
			s.Locks = r.expectations(e.value)
		}
	}
	if s.Name == "" {
		r.fail(n, "name: want one, such as my-scenario")
	}
	if steps == nil {
		r.fail(n, "timeline: want a list of faults, or [] for none")
		return s
	}
	ids := map[string]bool{}
	for i, v := range r.list(steps, "timeline") {
		step := r.step(v, i+1)
		if ids[step.ID] {
			r.fail(v, "id: %q is there twice", step.ID)
		}
		ids[step.ID] = true
		s.Timeline = append(s.Timeline, step)
	}
	return s
}

func validName(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return name != "" && len(name) <= 100
}

// stepFields are those of every step; the others are the fault's.
func stepFields() []string { return []string{"at", "for", "id", "fault"} }

func (r *reader) step(n ast.Node, number int) (s Step) {
	what := fmt.Sprintf("timeline step %d", number)
	entries := r.mapping(n, what, nil)
	where := map[string]ast.Node{}
	var given []string
	for _, e := range entries {
		where[e.key] = e.at
		switch e.key {
		case "at":
			s.At = r.moment(e.value, "at")
		case "for":
			if s.For = r.moment(e.value, "for"); s.For == (Moment{}) {
				r.fail(e.value, "for: want more than 0")
			}
			if r.instant(entries) {
				r.fail(e.at, "%s: for: a restart has no such field: it is over at once; want a kill", what)
			}
		case "id":
			if s.ID = r.text(e.value, "id"); !validName(s.ID) {
				r.fail(e.value, "id: %q: want lower-case letters, digits and dashes", s.ID)
			}
		case "fault":
			s.Fault.Kind = r.text(e.value, "fault")
		default:
			given = append(given, e.key)
			r.faultField(&s.Fault, e)
		}
	}
	for _, need := range []string{"at", "fault"} {
		if where[need] == nil {
			r.fail(n, "%s: want %s: and %s:", what, "at", "fault")
		}
	}
	if s.ID == "" {
		s.ID = fmt.Sprintf("%s-%d", s.Fault.Kind, number)
	}
	var wrong *fault.FieldError
	if err := fault.Check(s.Fault, given); errors.As(err, &wrong) {
		at := where[wrong.Field]
		if at == nil {
			at = n
		}
		r.fail(at, "%s: %v", what, wrong)
	}
	return s
}

// instant says whether the step's fault is over as soon as it began.
func (r *reader) instant(entries []entry) bool {
	return slices.ContainsFunc(entries, func(e entry) bool {
		return e.key == "fault" && r.text(e.value, e.key) == "restart"
	})
}

func (r *reader) faultField(s *fault.Spec, e entry) {
	switch e.key {
	case "between":
		s.Between = r.texts(e.value, e.key)
	case "from":
		s.From = r.text(e.value, e.key)
	case "to":
		s.To = r.text(e.value, e.key)
	case "mode":
		s.Mode = r.text(e.value, e.key)
	case "delay":
		s.Delay = r.duration(e)
	case "jitter":
		s.Jitter = r.duration(e)
	case "stall":
		s.Stall = r.duration(e)
	case "down":
		s.Down = r.duration(e)
	case "up":
		s.Up = r.duration(e)
	case "bytes_per_s":
		n, err := strconv.ParseInt(r.text(e.value, e.key), 10, 64)
		if err != nil || n < 1 {
			r.fail(e.value, "bytes_per_s: want a whole number above 0")
		}
		s.BytesPerS = n
	case "loss":
		f, err := strconv.ParseFloat(r.text(e.value, e.key), 64)
		if err != nil {
			r.fail(e.value, "loss: want a share above 0, up to 1, such as 0.05")
		}
		s.Loss = f
	case "target":
		s.Target = r.text(e.value, e.key)
	case "run":
		s.Run = r.texts(e.value, e.key)
	case "effect":
		s.Effect = r.text(e.value, e.key)
	case "lose_data":
		s.LoseData = r.texts(e.value, e.key)
	default:
		r.unknownField(s, e)
	}
}

// unknownField names the fields that the step may have. The kind of fault may
// stand further below, so the general answer is given.
func (r *reader) unknownField(_ *fault.Spec, e entry) {
	known := stepFields()
	for _, k := range fault.Kinds() {
		for _, f := range k.Fields {
			if !slices.Contains(known, f) {
				known = append(known, f)
			}
		}
	}
	r.fail(e.at, "timeline: unknown field %q: want %s", e.key, strings.Join(known, ", "))
}

// maxFaultTime bounds delays and the parts of a flap.
const maxFaultTime = time.Minute

func (r *reader) duration(e entry) time.Duration {
	d, err := time.ParseDuration(r.text(e.value, e.key))
	if err != nil || d <= 0 || d > maxFaultTime {
		r.fail(e.value, "%s: want a duration above 0, up to %v, such as 5ms", e.key, maxFaultTime)
		return 0
	}
	return d
}

// minDuration is the shortest run in which the scenario means something.
func (r *reader) minDuration(n ast.Node) time.Duration {
	d, err := time.ParseDuration(r.text(n, "min_duration"))
	if err != nil || d <= 0 || d > time.Hour {
		r.fail(n, "min_duration: want a duration above 0, up to 1h, such as 3m")
		return 0
	}
	return d
}

// moment reads 30% or 2s.
func (r *reader) moment(n ast.Node, what string) Moment {
	text := r.text(n, what)
	if share, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(share, 64)
		if err == nil && p >= 0 && p <= 100 {
			return Moment{Percent: p}
		}
	} else if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return Moment{Duration: d}
	}
	r.fail(n, "%s: %q: want a share of the measured time, 0%% to 100%%, or a duration such as 2s", what, text)
	return Moment{}
}

func (r *reader) expectations(n ast.Node) map[string]Expectations {
	all := map[string]Expectations{}
	for _, e := range r.mapping(n, "expect", nil) {
		spec, err := locks.ParseSpec(e.key)
		if err != nil {
			r.fail(e.at, "expect: %v", err)
		}
		found := Expectations{Line: line(e.at)}
		for _, f := range r.mapping(e.value, "expect "+e.key, []string{"safety", "liveness", "topologies"}) {
			if f.key == "topologies" {
				found.Topologies = r.topologies(f.value, e.key)
				continue
			}
			r.expectation(&found.Expectation, f, e.key)
		}
		all[spec.String()] = found
	}
	return all
}

func (r *reader) topologies(n ast.Node, lock string) map[string]Expectation {
	all := map[string]Expectation{}
	for _, t := range r.mapping(n, "expect "+lock+" topologies", nil) {
		var found Expectation
		for _, f := range r.mapping(t.value, "expect "+lock+" in "+t.key, []string{"safety", "liveness"}) {
			r.expectation(&found, f, lock)
		}
		all[t.key] = found
	}
	return all
}

func (r *reader) expectation(into *Expectation, f entry, lock string) {
	switch f.key {
	case "safety":
		into.Safety = r.choice(f.value, "expect "+lock+" safety", "safe", "unsafe")
	case "liveness":
		if _, many := f.value.(*ast.SequenceNode); !many {
			into.Liveness = []string{r.liveness(f.value, lock)}
			return
		}
		into.Liveness = nil
		for _, v := range r.list(f.value, "liveness") {
			into.Liveness = append(into.Liveness, r.liveness(v, lock))
		}
	}
}

func (r *reader) liveness(n ast.Node, lock string) string {
	return r.choice(n, "expect "+lock+" liveness", "live", "stalls", "down")
}

func (r *reader) choice(n ast.Node, what string, choices ...string) string {
	text := r.text(n, what)
	if !slices.Contains(choices, text) {
		r.fail(n, "%s: %q: want one of %s", what, text, strings.Join(choices, ", "))
	}
	return text
}
