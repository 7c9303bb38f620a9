package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/lab"
	"locklab/workloads/check"
)

func newCheck() *cobra.Command {
	var visual string
	cmd := &cobra.Command{
		Use:   "check HISTORY",
		Short: "Judge a saved history",
		Long: `check reads one history (JSON lines, gzipped or not) and judges it as the
comparison did: by what the scenario expects of the lock, which the history says.
Of a history that does not say it, safety is expected.

Exit codes: 0 as expected, or nothing is expected of the lock; 2 not as expected;
4 the history cannot decide, or a control did not fire; 1 it cannot be read.`,
		Example: `  locklab check reports/runs/A/histories/redlock/baseline.matchmaking.1.jsonl
  locklab check --visualize first.html reports/runs/A/histories/none/baseline.mutex.1.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return interruptible(cmd.Context(), func() error { return runCheck(cmd, args[0], visual) })
		},
	}
	cmd.Flags().StringVar(&visual, "visualize", "", "HTML file to draw the history around the first violation into")
	return cmd
}

func runCheck(cmd *cobra.Command, path, visual string) error {
	found, err := lab.Check(cmd.Context(), path)
	if err != nil {
		return err
	}
	verdict := check.Judge(found, check.ExpectationOf(found.Run))
	printFindings(cmd.OutOrStdout(), path, found, verdict)
	if visual != "" {
		if err := visualize(cmd.Context(), visual, path, found); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "drawn: %s\n", visual)
	}
	switch verdict.Status {
	case check.Violated:
		return &exitError{code: exitViolated}
	case check.Inconclusive, check.ControlSilent:
		return &exitError{code: exitInconclusive}
	case check.Expected, check.NotJudged:
	}
	return nil
}

func printFindings(w io.Writer, path string, f *check.Findings, v check.Verdict) {
	fmt.Fprintf(w, "%s: %s under %s, %s, %d events\n", path, f.Run.Lock, f.Run.Scenario, f.Run.Workload, f.Events)
	fmt.Fprintf(w, "  operations   %d ok, %d failed, %d unknown\n", f.OK, f.Failed, f.Unknown)
	for _, part := range []struct {
		when   string
		served check.Served
	}{{"that no fault touched", f.Outside}, {"while a fault was in force", f.During}} {
		if part.served.All > 0 {
			fmt.Fprintf(w, "  available    %.1f %% of %d operations %s\n", 100*part.served.Share(), part.served.All, part.when)
		}
	}
	if f.RoomsCreated > 0 {
		d := f.Duplicates
		fmt.Fprintf(w, "  duplicates   %d of %d rooms: %d raced, %d overlooked, %d unreachable\n", d.Total(), f.RoomsCreated, d.Raced, d.Overlooked, d.Unreachable)
	}
	fmt.Fprintf(w, "  holds        %d, %d overlaps, %d tokens that did not grow\n", f.Holds, f.Overlaps, f.TokensBroken)
	fmt.Fprintf(w, "  liveness     %s, longest stall %.0f ms\n", f.Liveness, float64(f.StallNS)/1e6)
	for _, h := range f.Hosts {
		fmt.Fprintf(w, "  machine      %s\n", h)
	}
	for _, e := range f.Examples {
		fmt.Fprintf(w, "  %-12s %9.1f ms  %s\n", e.What, float64(e.AtNS)/1e6, e.Text)
	}
	fmt.Fprintf(w, "%s: %s\n", v.Status, v.Why)
}

// drawMargin is how much of the history around a violation is drawn.
const drawMargin = 50 * time.Millisecond

// visualize draws the surroundings of the first violation that concerns holds.
func visualize(ctx context.Context, target, path string, f *check.Findings) (err error) {
	i := slices.IndexFunc(f.Examples, func(e check.Example) bool { return e.Resource != "" })
	if i < 0 {
		return errors.New("--visualize: nothing was violated, so there is nothing to draw")
	}
	out, err := os.Create(target)
	if err != nil {
		return fmt.Errorf("--visualize: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = check.VisualizeFile(ctx, out, path, check.Around(f.Examples[i], drawMargin))
	return err
}
