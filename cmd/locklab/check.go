package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/internal/sentence"
	"locklab/reports"
	"locklab/reports/lang"
	"locklab/reports/result"
	"locklab/reports/series"
	"locklab/workloads/check"
)

func newCheck() *cobra.Command {
	var visual, tag string
	var explain int
	cmd := &cobra.Command{
		Use:   "check HISTORY",
		Short: "Judge a saved history",
		Long: `check reads one history (JSON lines, gzipped or not) and judges it as the
comparison did: by what the scenario expects of the lock, which the history
says. Of a history that does not say it, safety is expected.

Exit codes: 0 as expected, or nothing is expected of the lock; 2 not as
expected; 4 the history cannot decide, or a control did not fire; 1 it cannot
be read.`,
		Example: `  locklab check reports/runs/A/histories/redlock/baseline.matchmaking.1.jsonl
  locklab check --explain 1 reports/runs/A/histories/none/baseline.mutex.1.jsonl
  locklab check --visualize a.html histories/none/baseline.mutex.1.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return interruptible(cmd.Context(), func() error { return runCheck(cmd, tag, args[0], visual, explain) })
		},
	}
	cmd.Flags().IntVar(&explain, "explain", 0, "number of a violation, outage or request in the list, to tell what happened around it")
	cmd.Flags().StringVar(&visual, "visualize", "", "HTML file to draw the history around the first violation into")
	langFlag(cmd.Flags(), &tag, "what is printed")
	return cmd
}

func runCheck(cmd *cobra.Command, tag, path, visual string, number int) error {
	say, err := language(tag)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("explain") && number < 1 {
		return fmt.Errorf("--explain %d: want a number of the list, from 1", number)
	}
	options := catalog.CheckOptions()
	options.Examples = 5 // whatever is explained, so that the numbers stay
	checker, err := check.Read(cmd.Context(), path, options)
	if err != nil {
		return err
	}
	found := checker.Findings()
	verdict := check.Judge(found, check.ExpectationOf(found.Run))
	var out strings.Builder
	printFindings(&out, say, path, found, verdict)
	if number > 0 {
		err = explain(cmd.Context(), &out, say, path, found, number)
	}
	fmt.Fprint(cmd.OutOrStdout(), folded(cmd.OutOrStdout(), out.String()))
	if err != nil {
		return err
	}
	if visual != "" {
		if err := visualize(visual, checker, found); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), say.Sprintf("drawn: %s", visual))
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

func printFindings(w io.Writer, say *lang.Lang, path string, f *check.Findings, v check.Verdict) {
	fmt.Fprintln(w, say.Sprintf("%s: %s under %s, %s, %d events", path, f.Run.Lock, f.Run.Scenario, f.Run.Workload, f.Events))
	line := func(what, text string) { fmt.Fprintf(w, "  %s %s\n", padded(what, 12), text) }
	line(say.Text("operations"), say.Sprintf("%d ok, %d failed, %d unknown", f.OK, f.Failed, f.Unknown))
	if len(f.Errors) > 0 {
		line(say.Text("errors"), strings.Join(reports.ErrorKinds(say, f.Errors), ", "))
	}
	if s := f.Outside; s.All > 0 {
		line(say.Text("available"), say.Sprintf("%.1f %% of %d operations that no fault touched", 100*s.Share(), s.All))
	}
	if s := f.InForce; s.All > 0 {
		line(say.Text("available"), say.Sprintf("%.1f %% of %d operations while a fault was in force", 100*s.Share(), s.All))
	}
	if s := f.During; s.All > 0 {
		line(say.Text("available"), say.Sprintf("%.1f %% of %d operations while a fault was in force or had just ended", 100*s.Share(), s.All))
	}
	if f.RoomsCreated > 0 {
		d := f.Duplicates
		line(say.Text("duplicates"), say.Sprintf("%d of %d rooms: %d raced, %d overlooked, %d unreachable", d.Total(), f.RoomsCreated, d.Raced, d.Overlooked, d.Unreachable))
		if n := f.Doubts.Rooms; n > 0 {
			line(say.Text("unclear"), say.Count(n, "1 more may be raced or overlooked; nobody can tell", "%s more may be raced or overlooked; nobody can tell"))
		}
	}
	overlaps := say.Count(f.Overlaps, "1 overlap", "%s overlaps")
	line(say.Text("holds"), say.Sprintf("%s, %s, %s", lang.Group(f.Holds), overlaps,
		say.Count(f.TokensBroken, "1 token that did not grow", "%s tokens that did not grow")))
	if parts := untouched(say, f); len(parts) > 0 {
		line(say.Text("untouched"), say.Sprintf("by any fault: %s", say.List(parts)))
	}
	stall := say.Lasting(time.Duration(f.Longest.NS))
	if f.Longest.Open {
		stall = say.Sprintf("at least %s, to the end of the measured part", say.Lasting(sentence.Floor(time.Duration(f.Longest.NS))))
	}
	if f.MeasuredNS > 0 {
		line(say.Text("liveness"), say.Sprintf("%s, longest stall %s", say.Term(v.Liveness), stall))
	}
	if f.ZombieNS > 0 {
		lasted := say.Lasting(time.Duration(f.ZombieNS))
		told := say.Sprintf("a holder believed for up to %s after the next client was told of its grant", lasted)
		if f.ServerGrants {
			told = say.Sprintf("a holder believed for up to %s after the lock's server granted it to the next", lasted)
		}
		line(say.Text("zombie"), told)
	}
	for _, h := range f.Hosts {
		line(say.Text("machine"), machineText(say, h))
	}
	for i := range f.Nodes {
		line(say.Text("node"), nodeText(say, &f.Nodes[i]))
	}
	shown := map[string]int64{}
	for i, e := range f.Examples {
		shown[e.What]++
		fmt.Fprintf(w, "  %2d %s %9.1f ms  %s%s\n", i+1, padded(say.Term(e.What), 14), float64(e.AtNS)/1e6, say.Tell(e.Text), during(say, f, e))
	}
	for _, more := range unlisted(say, f, shown) {
		fmt.Fprintf(w, "     %s\n", more)
	}
	for i, e := range f.Outages {
		fmt.Fprintf(w, "  %2d %s %9.1f ms  %s%s\n", len(f.Examples)+i+1, padded(say.Term(e.What), 14), float64(e.AtNS)/1e6, say.Tell(e.Text), during(say, f, e))
	}
	fmt.Fprintf(w, "%s: %s\n", say.Term(string(v.Status)), say.Whole(saidOnce(v.Reason)))
}

// untouched says what no fault of a run with faults is to blame for.
func untouched(say *lang.Lang, f *check.Findings) (parts []string) {
	for _, kind := range result.Figures() {
		switch n := f.Counts[kind.Untouched]; {
		case n == 1:
			parts = append(parts, say.Sprintf("1 %s", say.Term(kind.Violation)))
		case n > 1:
			parts = append(parts, say.Sprintf("%[1]s %[2]s", lang.Group(n), say.Term(kind.Violation+"s")))
		}
	}
	return parts
}

// unlisted says how many there are of each kind besides those that are shown.
func unlisted(say *lang.Lang, f *check.Findings, shown map[string]int64) (all []string) {
	for _, kind := range []struct {
		what, more string
		n          int64
	}{
		{"raced", say.Text("raced duplicates"), f.Duplicates.Raced + f.WarmupDuplicates.Raced},
		{"overlooked", say.Text("overlooked duplicates"), f.Duplicates.Overlooked + f.WarmupDuplicates.Overlooked},
		{"unreachable", say.Text("unreachable duplicates"), f.Duplicates.Unreachable + f.WarmupDuplicates.Unreachable},
		{"overlap", say.Text("overlaps"), f.Overlaps},
		{"token", say.Text("acquisitions without a new token"), f.TokensBroken},
		{"stale write", say.Term("stale writes"), f.Counts["stale_writes"]},
		{"lost update", say.Term("lost updates"), f.Counts["lost_updates"]},
	} {
		if more := kind.n - shown[kind.what]; more > 0 {
			all = append(all, say.Sprintf("and %[1]d more of the %[3]s, %[2]d in all", more, kind.n, kind.more))
		}
	}
	return all
}

// saidOnce is a reason without the words that stand before it on a console.
func saidOnce(reason sentence.Text) sentence.Text {
	if reason.Form == asExpected && len(reason.Args) == 1 {
		return reason.Args[0]
	}
	reason.Args = slices.Clone(reason.Args)
	for i, arg := range reason.Args {
		reason.Args[i] = saidOnce(arg)
	}
	return reason
}

// asExpected is what check says of a violation that had to show.
const asExpected = "%s, as expected"

// padded fills a word up to so many columns, of which a Korean letter takes two.
func padded(word string, columns int) string {
	return word + strings.Repeat(" ", max(columns-reports.Columns(word), 0))
}

// machineText tells what is known of a machine.
func machineText(say *lang.Lang, h check.HostLoad) string {
	var parts []string
	if busy, known := h.Busy(); known {
		parts = append(parts, say.Sprintf("CPUs busy for %.0f %% of the time, %.0f %% in the busiest second", 100*busy, 100*h.BusyMax))
	}
	if slowdown, known := h.Slowdown(); known {
		parts = append(parts, say.Sprintf("work took %.1f times as long as on an idle machine", slowdown))
	}
	parts = append(parts, say.Sprintf("a timer went off up to %s late", say.Lasting(time.Duration(h.Sum.LateNS))))
	if h.Sum.FsyncNS != nil {
		parts = append(parts, say.Sprintf("a page took up to %s to be safe on its disk", say.Lasting(time.Duration(*h.Sum.FsyncNS))))
	}
	name := h.Host
	if name == "" {
		name = say.Text("the controller's")
	}
	return name + ": " + strings.Join(parts, "; ")
}

// nodeText tells what is known of what a node used.
func nodeText(say *lang.Lang, n *check.NodeUsage) string {
	var parts []string
	if cpus, known := n.CPUs(); known {
		parts = append(parts, say.Sprintf("%.3f CPUs, %.3f in its busiest sample, %.1f MiB", cpus, n.CPUMax, float64(n.MemoryMaxBytes)/(1<<20)))
	}
	if seconds := time.Duration(n.LinkedNS).Seconds(); seconds > 0 {
		parts = append(parts, say.Sprintf("%.1f KiB/s in, %.1f KiB/s out", float64(n.InBytes)/seconds/1024, float64(n.OutBytes)/seconds/1024))
	}
	return n.Node + ": " + strings.Join(parts, "; ")
}

// during names the fault that was in force at a violation or an outage, or had just ended.
func during(say *lang.Lang, f *check.Findings, e check.Example) string {
	if names := lab.Faults(f, e); len(names) > 0 {
		return say.Sprintf("; fault: %s", strings.Join(say.TellAll(names), ", "))
	}
	return ""
}

// explain tells what happened around one violation, outage or request.
func explain(ctx context.Context, w io.Writer, say *lang.Lang, path string, f *check.Findings, number int) error {
	moments := lab.Moments(f, len(f.Examples))
	if number > len(moments) {
		return fmt.Errorf("--explain %d: the list ends at %d", number, len(moments))
	}
	scenes, err := series.Scenes(ctx, path, moments[number-1:number])
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", say.Sprintf("around %d, %s at %.1f ms: %s", number, say.Term(scenes[0].What), scenes[0].AtMS, say.Tell(scenes[0].Text)))
	steps := textTable{left: true}
	steps.row("  "+say.Text("from, ms"), say.Text("to, ms"), say.Text("who"), say.Text("what"), say.Text("how"))
	for _, step := range scenes[0].Steps {
		to := say.Text("no end")
		if !math.IsInf(step.ToMS, 0) {
			to = reports.Signed(step.ToMS)
		}
		steps.row("  "+reports.Signed(step.FromMS), to, say.Term(step.Who), say.Term(step.What), say.Tell(step.Text))
	}
	steps.write(w, 0) // its last column is folded
	if more := reports.MoreSteps(say, scenes[0]); more != "" {
		fmt.Fprintln(w, "  "+more)
	}
	return nil
}

// drawMargin is how much of the history around a violation is drawn.
const drawMargin = 50 * time.Millisecond

// visualize draws the surroundings of the first violation that concerns holds.
func visualize(target string, c *check.Checker, f *check.Findings) (err error) {
	i := slices.IndexFunc(f.Examples, func(e check.Example) bool { return e.Resource != "" })
	if i < 0 {
		return errors.New("--visualize: nothing was violated, so there is nothing to draw")
	}
	out, err := os.Create(target)
	if err != nil {
		return fmt.Errorf("--visualize: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = c.Visualize(out, check.Around(f.Examples[i], drawMargin))
	return err
}
