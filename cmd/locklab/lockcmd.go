package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/locks/program"
)

func lockCmdFlag(fl *pflag.FlagSet, value *[]string) {
	fl.StringArrayVar(value, "lock-cmd", nil, "a lock of yours: see locks/program/README.md")
}

// bring asks the programs of the user's locks what they are.
func (f *runFlags) bring(ctx context.Context, c *lab.Config, stderr io.Writer) (own []catalog.Lock, err error) {
	if c.Programs, err = catalog.ParsePrograms("--lock-cmd", f.lockCmds); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Programs)) {
		command := c.Programs[name]
		hello, err := program.Describe(ctx, command, stderr)
		if err != nil {
			return nil, fmt.Errorf("--lock-cmd %s: %w: locklab conform '%s' says more", name, err, command)
		}
		l, err := catalog.OfProgram(name, command, hello)
		if err != nil {
			return nil, fmt.Errorf("--lock-cmd: %w", err)
		}
		own = append(own, l)
	}
	return own, nil
}
