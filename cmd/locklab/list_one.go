package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/chaos/fault"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/locks"
	"locklab/nodes/topology"
	"locklab/reports/lang"
)

// optionsOf tells what can be set of a lock and of each of its variants, option by option.
func optionsOf(e catalog.Entry) string {
	var out strings.Builder
	options, variants := e.Describe("")
	switch {
	case len(options) > 0:
		fmt.Fprintf(&out, "\n%s\n", fmt.Sprintf("options of %s, behind a colon and with commas between them, such as %s:", e.Name, example(e.Name, options)))
		writeOptions(&out, options)
	case len(variants) == 0:
		fmt.Fprintf(&out, "\n%s\n", fmt.Sprintf("%s has no options.", e.Name))
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
			fmt.Fprintf(&out, "  %s\n", "options:")
		case len(without) > 0:
			fmt.Fprintf(&out, "  %s\n", fmt.Sprintf("options: those of %s without %s", e.Name, lang.English().List(without)))
		default:
			fmt.Fprintf(&out, "  %s\n", fmt.Sprintf("options: those of %s", e.Name))
		}
		if len(other) > 0 && len(other) < len(own) {
			fmt.Fprintf(&out, "  %s\n", "and these, which are new or have another default:")
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
	fmt.Fprintf(&out, "\n%s\n  - {%s}\n", "as a step of a scenario's timeline:", strings.Join(pairs, ", "))
	fmt.Fprintf(&out, "\n%s\n", "its fields:")
	lines.write(&out, 0) // its last column is folded
	return out.String()
}
