package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// runFlagGroups are the flags of `locklab run` as its help shows them, one line each: under a title their
// names, some with a word for the value.
func runFlagGroups() [][2]string {
	return [][2]string{
		{"What is compared", "locks=A,B scenarios=A,B topology=NAME workload=NAME " +
			"lock-cmd=NAME=COMMAND suite=NAME only=ID,ID"},
		{"How long, and how much", "quick " +
			"duration=TIME warmup=TIME patience=TIME rate=N repeat=N episodes=N seed=N capacity=on|off"},
		{"What clients do", "groups=N seats=N clients=N hold=TIME resources=N fencing=on|off"},
		{"What comes out", "out=DIR full lang=en|ko ui=ADDR fail-on=FIGURE>N"},
		{"Going on with a run", "resume=DIR redo=VERDICT"},
		{"Hosts with agents", "agents=URL token-file=FILE wait=TIME"},
		{"Other tools", "toxiproxy-api=ADDR external=NAME=START,STOP"},
	}
}

// usage is what help says below the description of run.
func usage(command *cobra.Command) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Usage:\n  %s\n\nExamples:\n%s\n", command.UseLine(), command.Example)
	for _, group := range runFlagGroups() {
		width, flags := 0, strings.Fields(group[1])
		for _, flag := range flags {
			width = max(width, len(flag))
		}
		fmt.Fprintf(&text, "\n%s:\n", group[0])
		for _, flag := range flags {
			name, value, _ := strings.Cut(flag, "=")
			f := command.Flags().Lookup(name)
			fmt.Fprintf(&text, "  --%-*s   %s", width, strings.TrimSpace(name+" "+value), f.Usage)
			if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
				fmt.Fprintf(&text, " (default %s)", f.DefValue)
			}
			text.WriteByte('\n')
		}
	}
	_, err := fmt.Fprint(command.OutOrStderr(), text.String())
	return err
}
