package series

import (
	"locklab/internal/sentence"
	"locklab/workloads/history"
)

// Moment is when and what something was violated, as the checkers say, or when an outage or
// a request that failed began.
type Moment struct {
	What, Resource string
	Text           sentence.Text
	AtMS           float64 // since the measured part began
	LastsMS        float64 // of an outage or a request
	Granted        string  // the resource whose grant ended an outage; "" if none did
	Faults         []sentence.Text
}

// Scene is a moment with what happened to its resource around it.
type Scene struct {
	Moment
	Steps []Step // by their beginning
	More  int    // steps that are further away than these
}

// Step is something that somebody did, or that lasted. Times are since the moment; what has
// no end on record ends at +Inf.
type Step struct {
	Who, What    string // What is match, wait, hold, order, room, node or fault
	Text         sentence.Text
	FromMS, ToMS float64
	About        bool // the moment is this: the request that failed, the grant that ended an outage
}

// The margins of a scene: what ended or began further away is not in it, nor is more than
// maxSteps.
const (
	before, after = 100.0, 50.0 // ms
	maxSteps      = 60
)

// NodeText is what became of a process.
func NodeText(state string) sentence.Text {
	switch state {
	case history.NodeStarted:
		return sentence.Of("was started")
	case history.NodeReady, history.NodeShared:
		return sentence.Of("is ready")
	case history.NodeKilled:
		return sentence.Of("was killed")
	case history.NodePaused, history.NodeSuspended:
		return sentence.Of("was stopped")
	case history.NodeResumed, history.NodeContinued, history.NodeLeft:
		return sentence.Of("goes on")
	case history.NodeStopped:
		return sentence.Of("was stopped in order")
	case history.NodeExited:
		return sentence.Of("ended unasked")
	default:
		return sentence.Of("went with its host")
	}
}
