package main

import (
	"strings"

	"github.com/spf13/pflag"
)

// listFlag adds a flag that takes A,B or A, B, or is repeated.
func listFlag(fl *pflag.FlagSet, value *[]string, name, usage string) {
	fl.Var((*nameList)(value), name, usage)
}

// nameList is a list of names with commas between them.
type nameList []string

func (l *nameList) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil // the command says what would be right
	}
	for name := range strings.SplitSeq(text, ",") {
		*l = append(*l, strings.TrimSpace(name))
	}
	return nil
}

func (l *nameList) String() string { return strings.Join(*l, ",") }

// Type implements [pflag.Value].
func (*nameList) Type() string { return "strings" }
