package main

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"locklab/chaos/fault"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/suite"
	"locklab/internal/nearest"
	"locklab/internal/sentence"
	"locklab/locks"
	"locklab/locks/adapters"
	"locklab/nodes/topology"
)

type listed struct {
	name, summary string
	facts         [][2]string // a label and a text, below the summary
	more          func() (string, error)
}

type listing struct {
	name string
	list func() ([]listed, error)
	load func(file string) (listed, error) // one that a user wrote; nil if there are built-in ones only
}

func listings() []listing {
	return []listing{
		{"locks", listLocks, nil},
		files("scenarios", scenario.Names(), func(file string) (listed, error) {
			s, err := scenario.Load(file, "")
			return listScenario(file, s), err
		}),
		{"workloads", func() ([]listed, error) {
			return each(catalog.Workloads(), func(w catalog.Workload) listed {
				return listed{name: w.Name, summary: w.Summary}
			}), nil
		}, nil},
		files("topologies", topology.Names(), func(file string) (listed, error) {
			t, err := topology.Load(file, catalog.RoleNames()...)
			if err != nil {
				return listed{}, err
			}
			return listTopology(t), nil
		}),
		files("suites", suite.Names(), func(file string) (listed, error) {
			s, err := suite.Load(file)
			return listed{name: s.Name, summary: s.Summary}, err
		}),
		{"faults", func() ([]listed, error) {
			return each(fault.Kinds(), func(k fault.Kind) listed {
				return listed{name: k.Name, summary: k.Summary, more: func() (string, error) { return stepOf(k), nil }}
			}), nil
		}, nil},
	}
}

// files are built in or the user's.
func files(name string, builtin []string, load func(file string) (listed, error)) listing {
	return listing{name, func() (all []listed, err error) {
		for _, file := range builtin {
			one, err := load(file)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	}, load}
}

func each[T any](all []T, of func(T) listed) (out []listed) {
	for _, one := range all {
		out = append(out, of(one))
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
		Example: `  locklab list locks
  locklab list locks redlock
  locklab list scenarios zone-partition
  locklab list topologies my-zones.yaml
  locklab list scenarios --json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			i := slices.Index(listNames(), args[0])
			if i < 0 {
				hint := nearest.Hint(args[0], listNames())
				return fmt.Errorf("list %q: want one of %s%s", args[0], strings.Join(listNames(), ", "), hint)
			}
			kind := listings()[i]
			entries, err := kind.list()
			if err != nil {
				return err
			}
			more := ""
			if entries[0].more != nil {
				more = fmt.Sprintf("\nlocklab list %s NAME says more of one.\n", kind.name)
			}
			if len(args) == 2 {
				if entries, more, err = kind.one(entries, args[1]); err != nil {
					return fmt.Errorf("list %s: %w", kind.name, err)
				}
			}
			var lines [][]string
			var values []map[string]string
			for _, e := range entries {
				lines = append(lines, []string{e.name, e.summary})
				value := map[string]string{"name": e.name, "summary": e.summary}
				for _, fact := range e.facts {
					lines = append(lines, []string{"", "  " + fact[0] + ": " + fact[1]})
					value[fact[0]] = fact[1]
				}
				values = append(values, value)
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), values)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), fold(aligned(lines)+more, widthOf(cmd.OutOrStdout())))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list of objects")
	return cmd
}

// one is the entry of a name or a file, with all that can be told of it.
func (l listing) one(entries []listed, name string) (one []listed, more string, err error) {
	var names []string
	for _, e := range entries {
		names = append(names, e.name)
	}
	lock, _, _ := strings.Cut(name, ":") // a variant or options: the lock has them all
	i := slices.Index(names, lock)
	switch {
	case i >= 0:
		one = entries[i : i+1]
		if _, is := adapters.Find(name); l.name == "locks" && !is {
			_, err = catalog.ParseList([]string{name})
		}
	case l.load != nil:
		one = make([]listed, 1)
		one[0], err = l.load(name)
	default:
		err = fmt.Errorf("unknown name %q: want one of %s%s", name, strings.Join(names, ", "), nearest.Hint(name, names))
	}
	if err == nil && one[0].more != nil {
		more, err = one[0].more()
	}
	return one, more, err
}

func listScenario(nameOrPath string, s scenario.Scenario) listed {
	return listed{name: s.Name, summary: s.Summary, more: func() (string, error) {
		expected, err := expectations(nameOrPath)
		return timeline(s) + expected, err
	}}
}

// timeline is what a scenario breaks in a run of the default length, and what it wants of the load.
func timeline(s scenario.Scenario) string {
	var out strings.Builder
	measured := max(lab.DefaultDuration, s.MinDuration)
	fmt.Fprintf(&out, "\ntimeline, of %s that are measured:\n", sentence.Lasting(measured))
	var faults [][]string
	for _, one := range s.Schedule(measured) {
		when := fmt.Sprintf("  %s to %s", sentence.Lasting(one.Window.From), sentence.Lasting(one.Window.Until))
		faults = append(faults, []string{when, one.Step.Fault.Kind, one.Step.Fault.Target})
	}
	if len(s.Timeline) == 0 {
		faults = [][]string{{"  nothing is broken"}}
	}
	out.WriteString(aligned(faults))
	if wanted := catalog.Wanted(s.Wants); len(wanted) > 0 {
		fmt.Fprintf(&out, "\nunless flags say otherwise: %s\n", strings.Join(wanted, " and "))
	}
	return out.String()
}

// usual is the topology of which expectations are told.
const usual = "seoul-2az"

// expectations are what the rules say of each lock under a scenario. Locks with equal ones share a paragraph.
func expectations(nameOrPath string) (string, error) {
	var texts []string
	locksOf := map[string][]string{} // by what is expected of them
	for _, name := range catalog.WithVariants() {
		name = strings.TrimSuffix(name, ":")
		lock, err := catalog.ParseList([]string{name})
		if err != nil {
			return "", err
		}
		e, unfit, err := lab.Expected(nameOrPath, usual, lock[0])
		if err != nil {
			return "", err
		}
		lines := [][]string{{"    expected", expectation(e, unfit)}}
		if unfit == nil {
			safety, liveness := because(e.SafetyBy), because(e.LivenessBy)
			lines = append(lines, []string{"      safety", safety}, []string{"      liveness", liveness})
		}
		text := aligned(lines)
		if locksOf[text] == nil {
			texts = append(texts, text)
		}
		locksOf[text] = append(locksOf[text], name)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\nexpected in %s, by the first rule that fits; of the operations, "+
		"the least share that is served in the fault's time, or of all where nothing is broken:\n", usual)
	for _, text := range texts {
		fmt.Fprintf(&out, "\n  %s\n%s", strings.Join(locksOf[text], ", "), text)
	}
	return out.String(), nil
}

func expectation(e scenario.Expectation, unfit error) string {
	if unfit != nil {
		return fmt.Sprintf("does not apply: %s", lab.Said(unfit))
	}
	text := cmp.Or(e.Safety, "safety not judged") + ", " + cmp.Or(strings.Join(e.Liveness, " or "), "liveness not judged")
	if served := e.Availability.Outside + e.Availability.During; served > 0 { // one of them is 0
		text += fmt.Sprintf(", %.0f %% served", 100*served)
	}
	return text
}

// because is a rule's reason and source, and its line.
func because(r scenario.Rule) string {
	source := ""
	if r.Source != "" {
		source = " (" + r.Source + ")"
	}
	return fmt.Sprintf("%s%s [%s:%d]", r.Why, source, path.Base(r.File), r.Line)
}

func listLocks() (out []listed, _ error) {
	for _, e := range catalog.Entries() {
		one := listLock(e.Name, e.Summary, [2]string{"traits", traitsText(e)}, e.Source, e.Missing())
		one.more = func() (string, error) { return optionsOf(e), nil }
		out = append(out, one)
	}
	for _, a := range adapters.All() {
		library := [2]string{"library", "unmodified, run by a lock program of locks/adapters"}
		out = append(out, listLock(a.Name, a.Summary, library, a.Source, a.Installed()))
	}
	return out, nil
}

// listLock lists a lock or a library; missing says what must be installed, and how.
func listLock(name, summary string, first [2]string, source string, missing error) listed {
	one := listed{name: name, summary: summary, facts: [][2]string{first}}
	if source != "" {
		one.facts = append(one.facts, [2]string{"source", source})
	}
	if missing != nil {
		one.facts = append(one.facts, [2]string{"unavailable", missing.Error()})
	}
	return one
}

// traitsText is what the lock is, in the words of the rules.
func traitsText(e catalog.Entry) string {
	text := "agree: " + e.Traits.Agree + ", lease: " + cmp.Or(e.Traits.Lease, "none")
	if e.Traits.Keeps != "" {
		text += ", keeps: " + e.Traits.Keeps
	}
	if e.Traits.Tokens {
		text += ", tokens"
	}
	if e.Control {
		text += ", control"
	}
	return text
}

// optionsOf lists the options of a lock, and of each of its variants.
func optionsOf(e catalog.Entry) string {
	options, variants := e.Describe("")
	if len(options)+len(variants) == 0 {
		return fmt.Sprintf("\n%s has no options.\n", e.Name)
	}
	var out strings.Builder
	if len(options) > 0 {
		fmt.Fprintf(&out, "\noptions of %s, behind a colon and with commas between them:\n%s", e.Name, optionLines(options))
	}
	for _, v := range variants {
		own, _ := e.Describe(v.Name)
		fmt.Fprintf(&out, "\n%s:%s  %s\n%s", e.Name, v.Name, v.Does, optionLines(own))
	}
	return out.String()
}

func optionLines(options []locks.Option) string {
	var lines [][]string
	for _, o := range options {
		text := o.Does
		switch {
		case o.Most > 0:
			text += fmt.Sprintf(" (%d to %d; default %s)", o.Least, o.Most, o.Default)
		case o.Default != "":
			text += fmt.Sprintf(" (default %s)", o.Default)
		}
		lines = append(lines, []string{"    " + o.String(), text})
	}
	return aligned(lines)
}

// listTopology tells the zones of a topology with their nodes, and the round trips between them.
func listTopology(t *topology.Topology) listed {
	var zones, trips [][]string
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
		zones = append(zones, []string{"  " + z.Short, z.Name, strings.Join(nodes, ", ")})
		for _, other := range t.Zones[i:] {
			rtt := t.BetweenZones(z.Short, other.Short)
			trips = append(trips, []string{"  " + z.Short + " <-> " + other.Short, fmt.Sprintf("%v ± %v", rtt.RTT, rtt.Jitter)})
		}
	}
	text := "\n" + aligned(zones) + "\n" + aligned(trips)
	return listed{name: t.Name, summary: t.Summary, more: func() (string, error) { return text, nil }}
}

// stepOf tells the fields of a scenario's step with the fault.
func stepOf(k fault.Kind) string {
	var pairs []string
	var lines [][]string
	for i, f := range slices.Concat(scenario.StepFields(), k.Fields) {
		if i == len(scenario.StepFields()) {
			pairs = append(pairs, "fault: "+k.Name)
		}
		if f.Name == "for" && k.Instant {
			continue
		}
		field, text := f.Name+": "+f.Example, f.Does
		if f.Needed || f.Name == "for" {
			pairs = append(pairs, field)
		}
		if !f.Needed && i >= len(scenario.StepFields()) {
			text += " (optional)"
		}
		lines = append(lines, []string{"  " + field, text})
	}
	return fmt.Sprintf("\nas a step of a scenario's timeline:\n  - {%s}\n\nits fields:\n%s",
		strings.Join(pairs, ", "), aligned(lines))
}
