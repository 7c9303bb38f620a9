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
		{say.Text("canary"), say.Text("A client in each master that asks for a resource of its own every 100 ms and gives it back at once.")},
		{say.Text("outage"), say.Text("A time without a grant: of the lock or a zone, to its canaries; of a resource, while it is wanted and not held.")},
		{say.Text("held"), say.Text("From the grant until its client stops to release it, notices the loss, or is killed or paused.")},
		{say.Text("wanted"), say.Text("While a request is pending, and from a refusal until the next request within a second.")},
		{say.Text("second"), say.Text("A second, or ten round trips if that is more.")},
		{say.Text("fault’s time"), say.Text("From its beginning until the order to heal, or until restarted processes are ready.")},
		{say.Text("settling"), say.Text("1.5 s after a fault, or the lease and half a second.")},
		{say.Text("sound"), say.Text("The run may decide something: faults proven, records whole, no machine saturated.")},
		{say.Term(result.Live), say.Text("No outage of a second; of a resource, of its lease and a second.")},
		{say.Term(result.Stalls), say.Text("Such an outage ended before the order to heal, or was shorter than half of the fault’s time.")},
		{say.Term(result.Down), say.Text("An outage lasted until the order to heal, and half of the fault’s time.")},
		{say.Term(result.Dead), say.Text("A second of an outage lies where no fault is in force or settling.")},
		{say.Text("interval"), say.Text("With repeats a figure is a median with its 95 % interval. A difference is claimed by Mann-Whitney with Holm.")},
	}}
	for _, f := range result.Figures() {
		g.Figures = append(g.Figures, term{f.Name, say.Term(f.Means)}) // the unit is in the name
	}
	return g
}
