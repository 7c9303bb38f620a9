package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// runFlagGroups are the flags of `locklab run` as its help shows them, one line each, with a
// word for the value.
func runFlagGroups() []flagGroup {
	return []flagGroup{
		{"What is compared", []string{"locks A,B", "scenarios A,B", "topology NAME", "workload NAME", "lock-cmd NAME=COMMAND", "suite NAME"}},
		{"How long, and how much", []string{"quick", "duration TIME", "warmup TIME", "patience TIME", "rate N", "repeat N", "seed N", "capacity WORD"}},
		{"What clients do", []string{"groups N", "seats N", "clients N", "hold TIME", "resources N", "fencing on|off"}},
		{"What comes out", []string{"out DIR", "full", "lang en|ko", "ui ADDR", "junit FILE", "fail-on FIGURE>N", "baseline DIR"}},
		{"Going on with a run", []string{"resume DIR", "redo VERDICT"}},
		{"Hosts with agents", []string{"agents URL", "token-file FILE", "wait TIME"}},
		{"Other tools", []string{"toxiproxy-api ADDR", "toxiproxy-api-anywhere", "external NAME=START,STOP", "otlp ADDR"}},
	}
}

// flagGroup is some flags under a title.
type flagGroup struct {
	title string
	flags []string
}

// usage is what help says below the description of run.
func usage(command *cobra.Command) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Usage:\n  %s\n\nExamples:\n%s\n", command.UseLine(), command.Example)
	for _, group := range runFlagGroups() {
		fmt.Fprintf(&text, "\n%s:\n", group.title)
		width := len(slices.MaxFunc(group.flags, func(a, b string) int { return cmp.Compare(len(a), len(b)) }))
		for _, name := range group.flags {
			flag := command.Flags().Lookup(strings.Fields(name)[0])
			fmt.Fprintf(&text, "  --%-*s   %s", width, name, flag.Usage)
			if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, flag.DefValue) {
				fmt.Fprintf(&text, " (default %s)", flag.DefValue)
			}
			text.WriteByte('\n')
		}
	}
	_, err := command.OutOrStderr().Write([]byte(text.String()))
	return err
}
