package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completions registers what the shell offers for each flag of the command, by name.
func completions(cmd *cobra.Command, offers map[string]cobra.CompletionFunc) {
	for flag, offer := range offers {
		_ = cmd.RegisterFlagCompletionFunc(flag, offer) // fails for an unknown flag only, and a test asks all
	}
}

// nothing are no words, for flags that take files only.
func nothing() []string { return nil }

// words offers one of some words to the shell.
func words(names func() []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}

// list offers words behind each comma, each of them once.
func list(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) (offers []cobra.Completion, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		have := strings.Split(before, ",")
		for _, name := range names() {
			if !slices.Contains(have, name) {
				offers = append(offers, before+name)
			}
		}
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// files is list, and files where the name is none of the words.
func files(names func() []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		offers, directive := list(names)(cmd, args, typed)
		at := strings.LastIndexAny(typed, ",=") + 1
		found, _ := filepath.Glob(typed[at:] + "*") // fails for a bad pattern only
		for _, path := range found {
			offers = append(offers, typed[:at]+path)
		}
		return offers, directive
	}
}

// trimmed are names without the blanks that may follow a comma.
func trimmed(names []string) []string {
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	return names
}
