package history

import (
	"strings"

	"locklab/internal/sentence"
)

// The parts of a Target that are no selectors.
const (
	TargetZones  = "between zones" // all traffic from one zone to another
	TargetOthers = "others"        // a side: all hosts not on the other one
	bothWays     = " <-> "
	oneWay       = " -> "
)

// FaultText names a fault by its kind and what it is aimed at, such as "partition between
// zone:a and others".
func FaultText(kind, target string) sentence.Text {
	if from, to, is := strings.Cut(target, bothWays); is {
		return sentence.Of("%s between %s and %s", kind, side(from), side(to))
	}
	if from, to, is := strings.Cut(target, oneWay); is {
		return sentence.Of("%s from %s to %s", kind, side(from), side(to))
	}
	host, ofAgent := strings.CutPrefix(target, TargetAgent)
	switch {
	case target == "":
		return sentence.Name(kind)
	case target == TargetZones:
		return sentence.Of("%s between zones", kind)
	case target == TargetController:
		return sentence.Of("%s of the controller", kind)
	case ofAgent:
		return sentence.Of("%s of the agent of host %s", kind, host)
	}
	return sentence.Of("%s of %s", kind, target)
}

func side(name string) sentence.Text {
	if name == TargetOthers {
		return sentence.Of("others")
	}
	return sentence.Name(name)
}
