package reports

import (
	"time"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// clocksNote says what the table of clocks is for.
const clocksNote = "How far the monotonic clock of each host lay from the controller's, as the events were put into one order. " +
	"The error holds with what the clock drifted in the run, and is the worst of all runs; overlaps that are shorter than the error are inconclusive, never violations."

// clockLine is one host of the table.
type clockLine struct{ Host, Offset, Error, Kernel string }

// clocksOf is empty for a run on one machine.
func clocksOf(say *lang.Lang, run result.Run) []clockLine {
	var lines []clockLine
	for _, c := range run.Clocks {
		line := clockLine{
			Host: plain(c.Host), Offset: time.Duration(c.OffsetNS).Round(time.Microsecond).String(),
			Error: figure(float64(c.ErrorNS) / 1000), Kernel: say.Text("not synchronised"),
		}
		if c.Synced {
			line.Kernel = count(c.KernelMaxErrorUS)
		}
		lines = append(lines, line)
	}
	return lines
}
