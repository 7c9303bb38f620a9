package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/chaos/fault"
	"locklab/locks"
	"locklab/locks/strictyaml"
)

// Parse checks the YAML text of a scenario; file is what errors call it. Errors
// wrap [ErrInvalid].
func Parse(file string, text []byte) (Scenario, error) {
	doc, err := strictyaml.Parse(file, text, ErrInvalid)
	if err != nil {
		return Scenario{}, err
	}
	r := &reader{doc}
	s := r.scenario(doc.Root)
	s.File = file
	if err := r.Err(); err != nil {
		return Scenario{}, err
	}
	return s, nil
}

// reader keeps the first thing that is wrong.
type reader struct{ *strictyaml.Document }

// selector is the text of a scalar. Some write zone: a for zone:a, which is a mapping
// within brackets; both mean the selector.
func (r *reader) selector(n *strictyaml.Node, what string) string {
	if strictyaml.IsMapping(n) {
		if fields := r.Fields(n, what); len(fields) == 1 {
			return fields[0].Key + ":" + r.Text(fields[0].Value, what)
		}
	}
	return r.Text(n, what)
}

func (r *reader) selectors(n *strictyaml.Node, what string) (all []string) {
	for _, v := range r.List(n, what) {
		all = append(all, r.selector(v, what))
	}
	return all
}

func (r *reader) scenario(n *strictyaml.Node) (s Scenario) {
	var steps *strictyaml.Node
	for _, e := range r.Fields(n, "scenario", "name", "summary", "min_duration", "hold", "timeline", "expect") {
		switch e.Key {
		case "name":
			s.Name = r.Text(e.Value, "name")
			if !validName(s.Name) {
				r.Fail(e.Value, "name: %q: want lower-case letters, digits and dashes", s.Name)
			}
		case "summary":
			s.Summary = r.Text(e.Value, "summary")
		case "min_duration":
			s.MinDuration = r.minDuration(e.Value)
		case "hold":
			s.Hold = r.duration(e)
		case "timeline":
			steps = e.Value
		case "expect":
			s.Locks = r.expectations(e.Value)
		}
	}
	if s.Name == "" {
		r.Fail(n, "name: want one, such as my-scenario")
	}
	if steps == nil {
		r.Fail(n, "timeline: want a list of faults, or [] for none")
		return s
	}
	ids := map[string]bool{}
	for i, v := range r.List(steps, "timeline") {
		step := r.step(v, i+1)
		if ids[step.ID] {
			r.Fail(v, "id: %q is there twice", step.ID)
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

func (r *reader) step(n *strictyaml.Node, number int) (s Step) {
	s.Line = n.Line
	what := fmt.Sprintf("timeline step %d", number)
	entries := r.Fields(n, what)
	where := map[string]*strictyaml.Node{}
	var given []string
	for _, e := range entries {
		where[e.Key] = e.At
		switch e.Key {
		case "at":
			s.At = r.moment(e.Value, "at")
		case "for":
			if s.For = r.moment(e.Value, "for"); s.For == (Moment{}) {
				r.Fail(e.Value, "for: want more than 0")
			}
			if r.instant(entries) {
				r.Fail(e.At, "%s: for: a restart has no such field: it is over at once; want a kill", what)
			}
		case "id":
			if s.ID = r.Text(e.Value, "id"); !validName(s.ID) {
				r.Fail(e.Value, "id: %q: want lower-case letters, digits and dashes", s.ID)
			}
		case "fault":
			s.Fault.Kind = r.Text(e.Value, "fault")
		default:
			given = append(given, e.Key)
			r.faultField(&s.Fault, e)
		}
	}
	for _, need := range []string{"at", "fault"} {
		if where[need] == nil {
			r.Fail(n, "%s: want %s: and %s:", what, "at", "fault")
		}
	}
	if s.At.Percent+s.For.Percent > 100 || s.At.Percent == 100 {
		r.Fail(where["at"], "%s: no run is long enough for it: want at and for of less than 100%%, together at most 100%%", what)
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
		r.Fail(at, "%s: %v", what, wrong)
	}
	return s
}

// instant says whether the step's fault is over as soon as it began.
func (r *reader) instant(entries []strictyaml.Field) bool {
	return slices.ContainsFunc(entries, func(e strictyaml.Field) bool {
		return e.Key == "fault" && r.Text(e.Value, e.Key) == "restart"
	})
}

func (r *reader) faultField(s *fault.Spec, e strictyaml.Field) {
	switch e.Key {
	case "between":
		s.Between = r.selectors(e.Value, e.Key)
	case "from":
		s.From = r.selector(e.Value, e.Key)
	case "to":
		s.To = r.selector(e.Value, e.Key)
	case "mode":
		s.Mode = r.Text(e.Value, e.Key)
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
		n, err := strconv.ParseInt(r.Text(e.Value, e.Key), 10, 64)
		if err != nil || n < 1 {
			r.Fail(e.Value, "bytes_per_s: want a whole number above 0")
		}
		s.BytesPerS = n
	case "loss":
		f, err := strconv.ParseFloat(r.Text(e.Value, e.Key), 64)
		if err != nil {
			r.Fail(e.Value, "loss: want a share above 0, up to 1, such as 0.05")
		}
		s.Loss = f
	case "target":
		s.Target = r.selector(e.Value, e.Key)
	case "run":
		s.Run = r.Texts(e.Value, e.Key)
	case "effect":
		s.Effect = r.Text(e.Value, e.Key)
	case "lose_data":
		s.LoseData = r.Texts(e.Value, e.Key)
	default:
		r.unknownField(s, e)
	}
}

// unknownField names the fields that the step may have. The kind of fault may
// stand further below, so the general answer is given.
func (r *reader) unknownField(_ *fault.Spec, e strictyaml.Field) {
	known := stepFields()
	for _, k := range fault.Kinds() {
		for _, f := range k.Fields {
			if !slices.Contains(known, f) {
				known = append(known, f)
			}
		}
	}
	r.Fail(e.At, "timeline: unknown field %q: want %s", e.Key, strings.Join(known, ", "))
}

// maxFaultTime bounds delays and the parts of a flap.
const maxFaultTime = time.Minute

func (r *reader) duration(e strictyaml.Field) time.Duration {
	d, err := time.ParseDuration(r.Text(e.Value, e.Key))
	if err != nil || d <= 0 || d > maxFaultTime {
		r.Fail(e.Value, "%s: want a duration above 0, up to %v, such as 5ms", e.Key, maxFaultTime)
		return 0
	}
	return d
}

// minDuration is the shortest run in which the scenario means something.
func (r *reader) minDuration(n *strictyaml.Node) time.Duration {
	d, err := time.ParseDuration(r.Text(n, "min_duration"))
	if err != nil || d <= 0 || d > time.Hour {
		r.Fail(n, "min_duration: want a duration above 0, up to 1h, such as 3m")
		return 0
	}
	return d
}

// maxMoment is longer than any run, and short enough to count on from any moment.
const maxMoment = 30 * 24 * time.Hour

// moment reads 30% or 2s.
func (r *reader) moment(n *strictyaml.Node, what string) Moment {
	text := r.Text(n, what)
	if share, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(share, 64)
		if err == nil && p >= 0 && p <= 100 {
			return Moment{Percent: p}
		}
	} else if d, err := time.ParseDuration(text); err == nil && d >= 0 && d <= maxMoment {
		return Moment{Duration: d}
	}
	r.Fail(n, "%s: %q: want a share of the measured time, 0%% to 100%%, or a duration such as 2s", what, text)
	return Moment{}
}

func (r *reader) expectations(n *strictyaml.Node) map[string]Expectations {
	all := map[string]Expectations{}
	for _, e := range r.Fields(n, "expect") {
		spec, err := locks.ParseSpec(e.Key)
		if err != nil {
			r.Fail(e.At, "expect: %v", err)
		}
		found := Expectations{Line: e.At.Line}
		for _, f := range r.Fields(e.Value, "expect "+e.Key, "safety", "liveness", "availability", "topologies") {
			if f.Key == "topologies" {
				found.Topologies = r.topologies(f.Value, e.Key)
				continue
			}
			r.expectation(&found.Expectation, f, e.Key)
		}
		all[spec.String()] = found
	}
	return all
}

func (r *reader) topologies(n *strictyaml.Node, lock string) map[string]Expectation {
	all := map[string]Expectation{}
	for _, t := range r.Fields(n, "expect "+lock+" topologies") {
		var found Expectation
		for _, f := range r.Fields(t.Value, "expect "+lock+" in "+t.Key, "safety", "liveness", "availability") {
			r.expectation(&found, f, lock)
		}
		all[t.Key] = found
	}
	return all
}

func (r *reader) expectation(into *Expectation, f strictyaml.Field, lock string) {
	switch f.Key {
	case "safety":
		into.Safety = r.choice(f.Value, "expect "+lock+" safety", "safe", "unsafe")
	case "availability":
		for _, part := range r.Fields(f.Value, "expect "+lock+" availability", "outside", "during") {
			share := r.share(part.Value, "expect "+lock+" availability "+part.Key)
			if part.Key == "outside" {
				into.Outside = &share
			} else {
				into.During = &share
			}
		}
	case "liveness":
		if !strictyaml.IsList(f.Value) {
			into.Liveness = []string{r.liveness(f.Value, lock)}
			return
		}
		into.Liveness = nil
		for _, v := range r.List(f.Value, "liveness") {
			into.Liveness = append(into.Liveness, r.liveness(v, lock))
		}
	}
}

// share reads 99%.
func (r *reader) share(n *strictyaml.Node, what string) float64 {
	text := r.Text(n, what)
	digits, isShare := strings.CutSuffix(text, "%")
	p, err := strconv.ParseFloat(digits, 64)
	if !isShare || err != nil || !(p >= 0 && p <= 100) {
		r.Fail(n, "%s: %q: want a share of the operations, 0%% to 100%%", what, text)
	}
	return p / 100
}

func (r *reader) liveness(n *strictyaml.Node, lock string) string {
	return r.choice(n, "expect "+lock+" liveness", "live", "stalls", "down")
}

func (r *reader) choice(n *strictyaml.Node, what string, choices ...string) string {
	text := r.Text(n, what)
	if !slices.Contains(choices, text) {
		r.Fail(n, "%s: %q: want one of %s", what, text, strings.Join(choices, ", "))
	}
	return text
}
