package reports

import (
	"testing"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// TestMeasured: what the figures of a table are of stands below it, as one number where all
// rows agree, and not at all where no row says it.
func TestMeasured(t *testing.T) {
	fault := func(asked, ended float64) result.Fault {
		return result.Fault{AskedMS: asked, EndedMS: ended}
	}
	never := func(asked, began float64) result.Fault { // that ended
		return result.Fault{AskedMS: asked, BeganMS: began, EndedMS: result.Never}
	}
	row := func(repeats int, ms int64, perS float64, faults ...result.Fault) result.Row {
		return result.Row{Repeats: repeats, MeasuredMS: ms, OfferedPerS: perS, Faults: faults}
	}
	for want, rows := range map[string][]result.Row{
		"": {{}},
		"1 run of each, 8 s measured, 300 requests/s.": {row(1, 8000, 300), row(1, 8000, 299.7)},
		"1 run of each, 8 s measured, 300 requests/s; where something was broken, it was for 2.7 s–2.8 s of that, from the order on.":        {row(1, 8000, 300), row(1, 8000, 300, fault(2000, 4700)), row(1, 8000, 300, fault(2000, 4800))},
		"3 runs of each, 2 s measured in each; where something was broken, it was for 1.5 s of that, from the order on.":                     {row(3, 6000, 0, fault(500, 1500), fault(1000, 2000), fault(500, 1500), fault(1000, 2000), fault(500, 1500), fault(1000, 2000))},
		"1–3 runs of each, 2 s–8 s measured in each, 300 requests/s; where something was broken, it was for 1 s of that, from the order on.": {row(1, 8000, 300, fault(1000, 2000)), row(3, 6000, 300, never(500, -1))},
		"1 run of each, 8 s measured; where something was broken, it was for 1.5 s–7.5 s of that, from the order on.":                        {row(1, 8000, 0, never(500, 510)), row(1, 8000, 0, fault(500, 2000))},
		"1 run of each, 5 s measured; where something was broken, it was for 45 ms of that, from the order on.": { // three restarts, two of them at once
			row(1, 5000, 0, fault(2500, 2515), fault(1250, 1265), fault(1255, 1270), fault(3750, 3760)),
		},
		"1 run of each, 2 s measured, 20 requests/s, locks held for 1.21 ms–50 ms (p50).": {
			{Repeats: 1, MeasuredMS: 2000, OfferedPerS: 20, Workload: "mutex", HoldMS: &result.Quantiles{P50: 1.21}},
			{Repeats: 1, MeasuredMS: 2000, OfferedPerS: 20, Workload: "mutex", HoldMS: &result.Quantiles{P50: 50}},
		},
		"1 run of each, 2 s measured. Its clients run inside the masters: one that was killed asked for nothing until it was back, and what they waited for in it is in no count.": {
			{Repeats: 1, MeasuredMS: 2000, Workload: "mutex", Nodes: []result.NodeLoad{{Node: "m", Role: "master"}}, Faults: []result.Fault{{Kind: "kill", Nodes: []string{"m"}, AskedMS: 500, EndedMS: 400}}},
			{Repeats: 1, MeasuredMS: 2000, Workload: "mutex"},
		},
		"1 run of each, 3 s measured.": {
			{Repeats: 1, MeasuredMS: 3000, Workload: "mutex", Nodes: []result.NodeLoad{{Node: "r", Role: "redis"}}, Faults: []result.Fault{{Kind: "kill", Nodes: []string{"r"}, AskedMS: 500, EndedMS: 400}}},
		},
		"2 runs of each, 1 s measured in each.": {{Repeats: 2, MeasuredMS: 2000, Workload: "matchmaking", HoldMS: &result.Quantiles{P50: 50}}},
		"1 run of each, 8 s measured.":          {row(1, 8000, 0, never(500, -1))},
		"1 run of each, 2 s measured; where something was broken, it was for 1.2 s of that, from the order on.": {row(1, 2000, 0, fault(800, 2600))}, // ended later
	} {
		if got := measured(lang.English(), rows); got != want {
			t.Errorf("%+v:\n got %s\nwant %s", rows, got, want)
		}
	}
}
