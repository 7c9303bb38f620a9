package lab

import (
	"time"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/reports/lang"
	"locklab/reports/live"
	"locklab/reports/table"
	"locklab/reports/view"
	"locklab/workloads/check"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// LiveInfo is what the live page must know of comparisons before they begin.
func LiveInfo(title string, parts []Config, earlier *result.File) live.Info {
	info := live.Info{Title: title, Duplicates: duplicates, Grids: Grids(parts)}
	info.Runs, _ = Remaining(parts, nil)
	if earlier != nil {
		info.Kept = *earlier
	}
	for _, z := range parts[0].Topology.Zones {
		info.Zones = append(info.Zones, live.Zone{Name: z.Name, Short: z.Short})
	}
	for i := range parts {
		info.Rooms = info.Rooms || parts[i].Load.Seats() > 0
	}
	return info
}

// Grids are those of the rows so far, with a line for each lock of the comparisons.
func Grids(parts []Config) func(*lang.Lang, result.File) []table.Table {
	locks := catalog.Texts(whole(parts).Locks)
	return func(say *lang.Lang, f result.File) []table.Table {
		return view.Of(say, f, view.Options{Locks: locks}).Grids
	}
}

// duplicates has the run's own checker judge rooms while the run goes on.
func duplicates(events []history.Event) (found []live.Duplicate) {
	run, err := record.Of(events)
	if err != nil {
		return nil // the end of the run says so
	}
	for _, v := range check.Violations(run) {
		if v.Code != result.Duplicates {
			continue
		}
		found = append(found, live.Duplicate{
			AtNS: run.Measure + int64(v.AtMS*float64(time.Millisecond)),
			Room: v.Second.Room, Unreachable: v.Excused,
		})
	}
	return found
}
