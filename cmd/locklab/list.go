package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"locklab/chaos/fault"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/nodes/topology"
)

// listed is one line of a list: a name, what it is, and more for --json.
type listed struct {
	name, summary string
	value         any
}

// lists maps what can be listed to how.
func lists() map[string]func() ([]listed, error) {
	return map[string]func() ([]listed, error){
		"locks":      listLocks,
		"scenarios":  listScenarios,
		"workloads":  listWorkloads,
		"topologies": listTopologies,
		"faults":     listFaults,
	}
}

// listNames are the things that can be listed, in the order of the help text.
func listNames() []string { return []string{"locks", "scenarios", "workloads", "topologies", "faults"} }

func newList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:       "list " + strings.Join(listNames(), "|"),
		Short:     "List what there is to choose from",
		Example:   "  locklab list locks\n  locklab list scenarios --json",
		ValidArgs: listNames(),
		Args:      cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, known := lists()[args[0]]
			if !known {
				return fmt.Errorf("list %q: want one of %s", args[0], strings.Join(listNames(), ", "))
			}
			entries, err := list()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), entries)
			}
			return printList(cmd.OutOrStdout(), entries)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list of objects")
	return cmd
}

func printList(w io.Writer, entries []listed) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		fmt.Fprintf(table, "%s\t%s\n", e.name, e.summary)
	}
	return table.Flush()
}

func printJSON(w io.Writer, entries []listed) error {
	values := make([]any, 0, len(entries))
	for _, e := range entries {
		values = append(values, e.value)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(values)
}

func listLocks() ([]listed, error) {
	var out []listed
	for _, e := range catalog.Entries() {
		summary := e.Summary
		if e.Options != "" {
			summary += "\n\t  options: " + e.Options
		}
		out = append(out, listed{e.Name, summary, e})
	}
	return out, nil
}

func listWorkloads() ([]listed, error) {
	var out []listed
	for _, w := range lab.Workloads() {
		out = append(out, listed{w.Name, w.Summary, w})
	}
	return out, nil
}

// described is what --json says of things that have a name and a summary only.
type described struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

func listScenarios() ([]listed, error) {
	all, err := scenario.List()
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, s := range all {
		out = append(out, listed{s.Name, s.Summary, described{s.Name, s.Summary}})
	}
	return out, nil
}

func listFaults() ([]listed, error) {
	var out []listed
	for _, k := range fault.Kinds() {
		out = append(out, listed{k.Name, k.Summary, described{k.Name, k.Summary}})
	}
	return out, nil
}

// topologyFacts is what --json says of a topology.
type topologyFacts struct {
	Name    string         `json:"name"`
	Summary string         `json:"summary"`
	Zones   []string       `json:"zones"`
	Nodes   map[string]int `json:"nodes"` // role -> count
}

func listTopologies() ([]listed, error) {
	all, err := topology.List()
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, t := range all {
		facts := topologyFacts{Name: t.Name, Summary: t.Summary, Nodes: map[string]int{}}
		for _, z := range t.Zones {
			facts.Zones = append(facts.Zones, z.Name)
		}
		slices.Sort(facts.Zones)
		for _, n := range t.Nodes() {
			facts.Nodes[n.Role]++
		}
		out = append(out, listed{t.Name, t.Summary, facts})
	}
	return out, nil
}
