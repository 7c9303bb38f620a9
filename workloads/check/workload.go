package check

import (
	"strings"

	"locklab/workloads/history"
)

// Workload is what the checker must know of one. The holds of its lock, its nodes, faults
// and machines are judged in each alike. One that does more has a part of its own.
type Workload struct {
	Name string
	// offered says that the controller offers the operations, at a rate above 0. Without it
	// they are what the masters' clients compete for.
	offered bool
	begin   func(*Checker) part
}

// part judges what only one workload does.
type part interface {
	// add takes an event of a kind that is not in every history.
	add(e *history.Event)
	// eachOp passes on the operations that the run is measured by, to be kept by nobody.
	eachOp(do func(*op))
	// settleWants says of acquisitions until when somebody wanted them, where that was before they ended.
	settleWants(acquires []*acquire)
	// records passes on the error bounds, and the nodes, of the part's own records.
	records(do func(err *int64, node int32))
	// fit compares its records with each other and with the holds.
	fit()
	// whole wants what every run of the workload has that came to its end or, in a history
	// of another one, nothing of that.
	whole(own bool)
	// judge says what was done wrong.
	judge(f *Findings, t timeline)
	// notes are for the picture of a resource.
	notes(resource string, note func(at int64, tag, state, details, color string))
}

// workload is that of the history; the zero value if it says none that is known.
func (c *Checker) workload() Workload {
	for _, w := range c.opts.Workloads {
		if w.Name == c.run.Workload {
			return w
		}
	}
	return Workload{}
}

// part is that of the history's workload.
func (c *Checker) part() part {
	for i, w := range c.opts.Workloads {
		if w.Name == c.run.Workload {
			return c.parts[i]
		}
	}
	return acquisitions{c}
}

// namesOf lists those of the workloads for which something is so, such as "a, b or c".
func namesOf(workloads []Workload, is func(Workload) bool) string {
	var names []string
	for _, w := range workloads {
		if is(w) {
			names = append(names, w.Name)
		}
	}
	last := max(len(names)-1, 0)
	return strings.TrimPrefix(strings.Join(names[:last], ", ")+" or "+strings.Join(names[last:], ""), " or ")
}

// Mutex is the workload of clients in every master that contend for resources: there is
// nothing beside their holds.
func Mutex() Workload {
	return Workload{Name: history.Mutex, begin: func(c *Checker) part { return acquisitions{c} }}
}

// acquisitions is the part of workloads whose operations are acquisitions, and nothing
// else. Others may embed it.
type acquisitions struct{ *Checker }

func (c acquisitions) eachOp(do func(*op)) {
	for i := range c.unsent {
		do(&c.unsent[i])
	}
	var o op
	for _, a := range c.acquires {
		o = op{from: a.from, sent: a.sent, at: a.at, count: 1, outcome: a.outcome, errorKind: a.errorKind, node: a.node, resource: a.resource}
		do(&o)
	}
}

func (acquisitions) add(*history.Event)                                              {}
func (acquisitions) settleWants([]*acquire)                                          {}
func (acquisitions) records(func(*int64, int32))                                     {}
func (acquisitions) fit()                                                            {}
func (acquisitions) whole(bool)                                                      {}
func (acquisitions) judge(*Findings, timeline)                                       {}
func (acquisitions) notes(string, func(at int64, tag, state, details, color string)) {}
