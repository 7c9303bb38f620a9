package page

import (
	"locklab/reports/lang"
	"locklab/workloads/result"
)

// glossary explains the words and figures of a report.
type glossary struct{ Words, Figures []term }

type term struct{ Word, Means string }

func glossaryOf(say *lang.Lang) *glossary {
	g := &glossary{Words: []term{
		{say.Text("canary"), say.Text("A client in each master that takes and returns a resource of its own every 100 ms.")},
		{say.Text("outage"), say.Text("A time without a grant to canaries; of a resource, while it is wanted and not held.")},
		{
			say.Text("held"),
			say.Text("From the grant until its client stops to release it, notices the loss, or is killed or paused."),
		},
		{
			say.Text("wanted"),
			say.Text("While a request is pending, and from a refusal until the next request within a second."),
		},
		{say.Text("second"), say.Text("A second, or ten round trips if that is more.")},
		{
			say.Text("fault’s time"),
			say.Text("From its beginning until the order to heal; of restarts, until the processes are ready."),
		},
		{say.Text("settling"), say.Text("1.5 s after a fault, or the lease and half a second if that is more.")},
		{say.Text("sound"), say.Text("The run may decide something: faults proven, records whole, no machine saturated.")},
		{say.Term(result.Live), say.Text("No outage of a second; of a resource, of its lease and a second.")},
		{
			say.Term(result.Stalls),
			say.Text("Such an outage ended before the order to heal, or within half of the fault’s time."),
		},
		{say.Term(result.Down), say.Text("It lasted until the order to heal, and half of the fault’s time.")},
		{say.Term(result.Dead), say.Text("A second of an outage lies where no fault is in force or settling.")},
		{say.Text("interval"), say.Text("Where the median of the repeats lies, at 95 %.")},
	}}
	for _, f := range result.Figures() {
		g.Figures = append(g.Figures, term{f.Name, say.Term(f.Means)}) // the unit is in the name
	}
	return g
}
