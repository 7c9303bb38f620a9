package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	json "github.com/go-json-experiment/json/v1"
	"github.com/spf13/cobra"

	"locklab/chaos/fault"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/suite"
	"locklab/internal/nearest"
	"locklab/internal/sentence"
	"locklab/locks"
	"locklab/nodes/topology"
	"locklab/workloads/history"
)

// listed is one line of a list: a name, what it is, and more for --json.
type listed struct {
	name, summary string
	details       []detail
	value         any
	more          func() (string, error)  // for who asks for this one; nil if there is none
	check         func(spec string) error // of what follows the name behind a colon; nil if nothing may
}

// detail is a line below a summary.
type detail struct {
	label, text string
	inMore      bool // listed.more says it in full
}

// listing is something that can be listed.
type listing struct {
	name string
	list func() ([]listed, error)
	read func(file string) (listed, error) // one that a user wrote; nil if only built-in ones can be told of
	one  string                            // what is said of who is asked for by name
}

func listings() []listing {
	return []listing{
		{"locks", listLocks, nil, "locklab list locks NAME says what each option of a lock does."},
		{"scenarios", func() ([]listed, error) {
			all, err := scenario.List()
			return listScenarios("", all...), err
		}, func(file string) (listed, error) {
			s, err := scenario.Load(file, "")
			return listScenarios(file, s)[0], err
		}, "locklab list scenarios NAME says what breaks when, what is expected of each lock, and by which rule."},
		{"workloads", func() ([]listed, error) {
			return describe(catalog.Workloads(), func(w catalog.Workload) (string, string) { return w.Name, w.Summary }), nil
		}, nil, ""},
		{"topologies", func() ([]listed, error) {
			all, err := topology.List()
			return listTopologies(all...), err
		}, func(file string) (listed, error) {
			t, err := topology.Load(file, lab.RoleNames()...)
			if err != nil {
				return listed{}, err
			}
			return listTopologies(t)[0], nil
		}, "locklab list topologies NAME says which nodes are where, and how far zones are from each other."},
		{"suites", func() ([]listed, error) {
			all, err := suite.List()
			return listSuites(all...), err
		}, func(file string) (listed, error) {
			s, err := suite.Load(file)
			return listSuites(s)[0], err
		}, ""},
		{"faults", func() ([]listed, error) {
			all := fault.Kinds()
			out := describe(all, func(k fault.Kind) (string, string) { return k.Name, k.Summary })
			for i, k := range all {
				out[i].more = func() (string, error) { return stepOf(k), nil }
			}
			return out, nil
		}, nil, "locklab list faults NAME says what a step of a scenario with it looks like."},
	}
}

// listScenarios lists scenarios of a file, or built-in ones.
func listScenarios(file string, all ...scenario.Scenario) []listed {
	out := describe(all, func(s scenario.Scenario) (string, string) { return s.Name, s.Summary })
	for i, s := range all {
		out[i].value = struct {
			Name    string `json:"name"`
			Title   string `json:"title"`
			Summary string `json:"summary"`
		}{s.Name, s.Title, s.Summary}
		out[i].more = func() (string, error) {
			expected, err := expectations(cmp.Or(file, s.Name))
			return timeline(s) + expected, err
		}
	}
	return out
}

func listSuites(all ...suite.Suite) []listed {
	return describe(all, func(s suite.Suite) (string, string) { return s.Name, s.Summary })
}

// describe lists things of which there is no more to say than a name and a summary.
func describe[T any](all []T, of func(T) (name, summary string)) (out []listed) {
	for _, v := range all {
		name, summary := of(v)
		out = append(out, listed{name: name, summary: summary, value: struct {
			Name    string `json:"name"`
			Summary string `json:"summary"`
		}{name, summary}})
	}
	return out
}

func listNames() (names []string) {
	for _, l := range listings() {
		names = append(names, l.name)
	}
	return names
}

func newList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		DisableFlagsInUseLine: true,
		Use:                   "list " + strings.Join(listNames(), "|") + " [NAME|FILE]",
		Short:                 "List what there is to choose from, or tell of one",
		Example:               "  locklab list locks\n  locklab list locks redlock\n  locklab list scenarios zone-partition\n  locklab list topologies my-zones.yaml\n  locklab list scenarios --json",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return words(func() []string { return listable(args) })(cmd, args, typed)
		},
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			all := listings()
			i := slices.Index(listNames(), args[0])
			if i < 0 {
				return fmt.Errorf("list %q: want one of %s%s", args[0], strings.Join(listNames(), ", "), nearest.Hint(args[0], listNames()))
			}
			entries, err := all[i].list()
			if err != nil {
				return err
			}
			more := ""
			if one := all[i].one; one != "" {
				more = "\n" + one + "\n"
			}
			if len(args) == 2 {
				more = ""
				if entries, err = oneOf(entries, args[1], all[i].read); err != nil {
					return fmt.Errorf("list %s: %w", args[0], err)
				}
				if entries[0].more != nil {
					if more, err = entries[0].more(); err != nil {
						return fmt.Errorf("list %s: %w", args[0], err)
					}
					entries[0].details = slices.DeleteFunc(entries[0].details, func(d detail) bool { return d.inMore })
				}
			}
			var out strings.Builder
			lines := textTable{left: true}
			values := make([]any, 0, len(entries))
			for _, e := range entries {
				lines.row(e.name, e.summary)
				for _, d := range e.details {
					lines.row("", "  "+d.label+": "+d.text)
				}
				values = append(values, e.value)
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), values)
			}
			lines.write(&out, 0) // its last column is folded
			_, err = fmt.Fprint(cmd.OutOrStdout(), fold(out.String()+more, widthOf(cmd.OutOrStdout())))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list of objects")
	return cmd
}

// listable are the names that may follow.
func listable(typed []string) (names []string) {
	if len(typed) == 0 {
		return listNames()
	}
	for _, l := range listings() {
		if entries, err := l.list(); err == nil && len(typed) == 1 && l.name == typed[0] {
			for _, e := range entries {
				names = append(names, e.name)
			}
		}
	}
	return names
}

// oneOf is the entry of a name, or of a file that a user wrote, where read takes some.
func oneOf(entries []listed, name string, read func(string) (listed, error)) (one []listed, err error) {
	var names []string
	for _, e := range entries {
		if e.name == name {
			return []listed{e}, nil
		}
		names = append(names, e.name)
	}
	lock, _, more := strings.Cut(name, ":") // a variant or options: the lock has them all
	if i := slices.Index(names, lock); more && i >= 0 && entries[i].check != nil {
		return entries[i : i+1], entries[i].check(name)
	}
	if read != nil {
		found, err := read(name)
		return []listed{found}, err
	}
	return nil, fmt.Errorf("unknown name %q: want one of %s%s", name, strings.Join(names, ", "), nearest.Hint(name, names))
}

// timeline is what a scenario breaks in a run of the default length, and what it expects.
func timeline(s scenario.Scenario) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\ntimeline, of %s that are measured:\n", sentence.Lasting(lab.DefaultDuration))
	faults := textTable{left: true}
	for _, one := range s.Schedule(lab.DefaultDuration) {
		when := fmt.Sprintf("%s to %s", sentence.Lasting(one.Window.From), sentence.Lasting(one.Window.Until))
		faults.row("  "+when, one.Step.Fault.Kind, history.TargetText(one.Step.Fault.Target).String())
	}
	if len(s.Timeline) == 0 {
		faults.row("  " + "nothing is broken")
	}
	faults.write(&out, 0)
	if wanted := catalog.Wanted(scenario.Wants{Hold: s.Wants.Hold}); len(wanted) > 0 {
		fmt.Fprintf(&out, "\nunless flags say otherwise: %s\n", sentence.And(wanted...))
	}
	if wanted := catalog.Wanted(scenario.Wants{Clients: s.Wants.Clients, Resources: s.Wants.Resources}); len(wanted) > 0 {
		fmt.Fprintf(&out, "\nunless flags say otherwise, in the raw workloads: %s\n", sentence.And(wanted...))
	}
	return out.String()
}

// usual is the topology of which expectations are told in full.
const usual = "seoul-2az"

// expectations are what the rules say of each lock under a scenario, and where topologies differ.
// Locks of which all is the same are told of together.
func expectations(nameOrPath string) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "\nexpected in %s, and elsewhere where it differs, by the first rule that fits; of the operations, the least share that is served in the fault's time, or of all where nothing is broken:\n", usual)
	type group struct {
		locks []string
		lines [][2]string
	}
	var groups []group
	for _, text := range catalog.WithVariants() {
		name := strings.TrimSuffix(text, ":")
		spec, err := locks.ParseSpec(name)
		if err != nil {
			return "", err
		}
		lock, err := catalog.Bind(spec)
		if err != nil {
			return "", err
		}
		lines, err := expectationLines(nameOrPath, lock)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(groups, func(g group) bool { return slices.Equal(g.lines, lines) })
		if i < 0 {
			i, groups = len(groups), append(groups, group{lines: lines})
		}
		groups[i].locks = append(groups[i].locks, name)
	}
	for _, g := range groups {
		fmt.Fprintf(&out, "\n  %s\n", strings.Join(g.locks, ", "))
		table := textTable{left: true}
		for _, line := range g.lines {
			table.row("    "+line[0], line[1])
		}
		table.write(&out, 0)
	}
	return out.String(), nil
}

// expectationLines are what is expected of one lock: in the usual topology, and in others where it differs.
func expectationLines(nameOrPath string, lock catalog.Lock) (lines [][2]string, err error) {
	elsewhere := slices.DeleteFunc(topology.Names(), func(name string) bool { return name == usual })
	first := ""
	for _, place := range append([]string{usual}, elsewhere...) {
		e, unfit, err := lab.Expected(nameOrPath, place, lock)
		if err != nil {
			return nil, err
		}
		told := expectation(e, unfit)
		if told == first || first != "" && unfit != nil {
			continue
		}
		where := "in " + place
		if first == "" {
			where, first = "expected", told
		}
		lines = append(lines, [2]string{where, told})
		if unfit == nil {
			lines = append(lines, [2]string{"  safety", because(e.SafetyBy)}, [2]string{"  liveness", because(e.LivenessBy)})
		}
	}
	return lines, nil
}

func expectation(e scenario.Expectation, unfit error) string {
	if unfit != nil {
		return fmt.Sprintf("does not apply: %s", lab.Said(unfit))
	}
	parts := []string{cmp.Or(e.Safety, "safety not judged"), "liveness not judged"}
	if len(e.Liveness) > 0 {
		parts[1] = strings.Join(e.Liveness, " or ")
	}
	if e.Served > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %% served", 100*e.Served))
	}
	return strings.Join(parts, ", ")
}

// because is what a rule rests on, and where it stands.
func because(r scenario.Rule) string {
	source := ""
	if r.Source != "" {
		source = " (" + r.Source + ")"
	}
	return fmt.Sprintf("%s%s [%s:%d]", r.Why, source, path.Base(r.File), r.Line)
}

// writeJSON prints for programs.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// lockFacts is what --json says of a lock.
type lockFacts struct {
	catalog.Entry
	Unavailable string `json:"unavailable,omitempty"` // which of its servers must be installed, and how
}

func listLocks() ([]listed, error) {
	var out []listed
	for _, e := range catalog.Entries() {
		facts := lockFacts{Entry: e}
		if err := e.Missing(); err != nil {
			facts.Unavailable = err.Error()
		}
		one := listed{name: e.Name, summary: e.Summary, value: facts}
		options, variants := e.Describe("")
		var names, keys []string
		for _, v := range variants {
			names = append(names, v.Name)
			own, _ := e.Describe(v.Name)
			options = append(options, own...)
		}
		for _, o := range options {
			if !slices.Contains(keys, o.Key) {
				keys = append(keys, o.Key)
			}
		}
		one.more = func() (string, error) { return optionsOf(e), nil }
		one.check = func(text string) error {
			spec, err := locks.ParseSpec(text)
			if err == nil {
				_, err = catalog.Bind(spec)
			}
			return err
		}
		for _, d := range []detail{
			{"source", e.Source, false},
			{"traits", traitsText(e), false},
			{"variants", strings.Join(names, ", "), true},
			{"options", strings.Join(keys, ", "), true},
			{"unavailable", facts.Unavailable, false},
		} {
			if d.text != "" {
				one.details = append(one.details, d)
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// traitsText is what the lock is, in the words of the rules.
func traitsText(e catalog.Entry) string {
	parts := []string{"agree: " + e.Traits.Agree, "lease: " + cmp.Or(e.Traits.Lease, "none")}
	if e.Traits.Keeps != "" {
		parts = append(parts, "keeps: "+e.Traits.Keeps)
	}
	if e.Traits.Tokens {
		parts = append(parts, "tokens")
	}
	if e.Control {
		parts = append(parts, "control")
	}
	return strings.Join(parts, ", ")
}

// topologyFacts is what --json says of a topology.
type topologyFacts struct {
	Name    string         `json:"name"`
	Summary string         `json:"summary"`
	Zones   []string       `json:"zones"`
	Nodes   map[string]int `json:"nodes"` // role -> count
}

func listTopologies(all ...*topology.Topology) (out []listed) {
	for _, t := range all {
		facts := topologyFacts{Name: t.Name, Summary: t.Summary, Nodes: map[string]int{}}
		for _, z := range t.Zones {
			facts.Zones = append(facts.Zones, z.Name)
		}
		slices.Sort(facts.Zones)
		for _, n := range t.Nodes() {
			facts.Nodes[n.Role]++
		}
		out = append(out, listed{name: t.Name, summary: t.Summary, value: facts, more: func() (string, error) { return zonesOf(t), nil }})
	}
	return out
}

// optionsOf tells what can be set of a lock and of each of its variants, option by option.
func optionsOf(e catalog.Entry) string {
	var out strings.Builder
	options, variants := e.Describe("")
	switch {
	case len(options) > 0:
		fmt.Fprintf(&out, "\noptions of %s, behind a colon and with commas between them, such as %s:\n", e.Name, example(e.Name, options))
		writeOptions(&out, options)
	case len(variants) == 0:
		fmt.Fprintf(&out, "\n%s has no options.\n", e.Name)
	}
	for _, v := range variants {
		name := e.Name + ":" + v.Name
		fmt.Fprintf(&out, "\n%s  %s\n", name, v.Does)
		own, _ := e.Describe(v.Name)
		same := func(o locks.Option) bool {
			return slices.ContainsFunc(options, func(p locks.Option) bool { return p.Key == o.Key && p.Does == o.Does && p.Default == o.Default })
		}
		var without []string // of the lock's
		for _, o := range options {
			if !slices.ContainsFunc(own, func(p locks.Option) bool { return p.Key == o.Key }) {
				without = append(without, o.Key)
			}
		}
		other := slices.DeleteFunc(slices.Clone(own), same)
		switch {
		case len(other) == len(own):
			fmt.Fprintln(&out, "  options:")
		case len(without) > 0:
			fmt.Fprintf(&out, "  options: those of %s without %s\n", e.Name, strings.Join(without, ", "))
		default:
			fmt.Fprintf(&out, "  options: those of %s\n", e.Name)
		}
		if len(other) > 0 && len(other) < len(own) {
			fmt.Fprintln(&out, "  and these, which are new or have another default:")
		}
		writeOptions(&out, other)
	}
	return out.String()
}

// example is a spec with the first option, and with the second if there is one.
func example(name string, options []locks.Option) string {
	var pairs []string
	for _, o := range options[:min(2, len(options))] {
		value := o.Default
		for _, v := range o.Values {
			if !o.Open && v != o.Default {
				value = v // the last one
			}
		}
		pairs = append(pairs, o.Key+"="+value)
	}
	return name + ":" + strings.Join(pairs, ",")
}

func writeOptions(out *strings.Builder, options []locks.Option) {
	lines := textTable{left: true}
	for _, o := range options {
		text := o.Does
		switch {
		case o.Most > 0:
			text += " (" + fmt.Sprintf("%d to %d; default %s", o.Least, o.Most, o.Default) + ")"
		case o.Default != "":
			text += " (" + fmt.Sprintf("default %s", o.Default) + ")"
		}
		lines.row("    "+o.String(), text)
	}
	lines.write(out, 0) // its last column is folded
}

// zonesOf tells the zones of a topology with their nodes, and the round trips between them.
func zonesOf(t *topology.Topology) string {
	var out strings.Builder
	zones, trips := textTable{left: true}, textTable{left: true}
	for i, z := range t.Zones {
		count := map[string]int{}
		for _, n := range t.Nodes() {
			if n.Zone == z.Short {
				count[n.Role]++
			}
		}
		var nodes []string
		for _, role := range slices.Sorted(maps.Keys(count)) {
			nodes = append(nodes, fmt.Sprintf("%d %s", count[role], role))
		}
		zones.row("  "+z.Short, z.Name, strings.Join(nodes, ", "))
		for _, other := range t.Zones[i:] {
			rtt := t.BetweenZones(z.Short, other.Short)
			trips.row("  "+z.Short+" <-> "+other.Short, fmt.Sprintf("%v ± %v", rtt.RTT, rtt.Jitter))
		}
	}
	fmt.Fprintln(&out)
	zones.write(&out, 0)
	fmt.Fprintln(&out)
	trips.write(&out, 0)
	return out.String()
}

// stepOf tells the fields of a scenario's step with the fault.
func stepOf(k fault.Kind) string {
	var out strings.Builder
	var pairs []string
	lines := textTable{left: true}
	for i, f := range slices.Concat(scenario.StepFields(), k.Fields) {
		if i == len(scenario.StepFields()) {
			pairs = append(pairs, "fault: "+k.Name)
		}
		if f.Name == "for" && k.Instant {
			continue
		}
		text := f.Does
		if f.Needed || f.Name == "for" {
			pairs = append(pairs, f.Name+": "+f.Example)
		}
		if !f.Needed && i >= len(scenario.StepFields()) {
			text = fmt.Sprintf("%s (optional)", text)
		}
		lines.row("  "+f.Name+": "+f.Example, text)
	}
	fmt.Fprintf(&out, "\nas a step of a scenario's timeline:\n  - {%s}\n", strings.Join(pairs, ", "))
	fmt.Fprint(&out, "\nits fields:\n")
	lines.write(&out, 0) // its last column is folded
	return out.String()
}
