package history

import (
	"strings"

	"locklab/internal/sentence"
)

// What scenarios and the ledger call the target of a fault where it is no selector, or of
// which not every word is one.
const (
	TargetZones  = "between zones" // all traffic from one zone to another
	TargetOthers = "others"        // a side: whoever is not on the other one
	bothWays     = " <-> "
	oneWay       = " -> "
)

// FaultText names a fault by its kind and what it is aimed at, such as "partition between
// zone:a and others".
func FaultText(kind, target string) sentence.Text {
	switch from, to, ways := sides(target); {
	case target == "":
		return sentence.Name(kind)
	case target == TargetZones:
		return sentence.Of("%s between zones", kind)
	case ways == bothWays:
		return sentence.Of("%s between %s and %s", kind, from, to)
	case ways == oneWay:
		return sentence.Of("%s from %s to %s", kind, from, to)
	}
	return sentence.Of("%s of %s", kind, TargetText(target))
}

// TargetText is what a fault is aimed at, in the words of scenarios but for those that are
// words of a language.
func TargetText(target string) sentence.Text {
	if host, is := strings.CutPrefix(target, TargetAgent); is {
		return sentence.Of("the agent of host %s", host)
	}
	switch from, to, ways := sides(target); {
	case target == TargetController:
		return sentence.Of("the controller")
	case target == TargetZones:
		return sentence.Of("between zones")
	case ways == bothWays:
		return sentence.Of("%s <-> %s", from, to)
	case ways == oneWay:
		return sentence.Of("%s -> %s", from, to)
	}
	return sentence.Name(target)
}

// OneWay says that a fault of this target hits traffic in one direction only.
func OneWay(target string) bool {
	_, _, ways := sides(target)
	return ways == oneWay
}

// sides are the ends of the traffic that a fault hits, and which of its ways; ways is empty
// if it does not hit traffic.
func sides(target string) (from, to sentence.Text, ways string) {
	for _, arrow := range []string{bothWays, oneWay} {
		if a, b, is := strings.Cut(target, arrow); is {
			return side(a), side(b), arrow
		}
	}
	return from, to, ""
}

func side(name string) sentence.Text {
	if name == TargetOthers {
		return sentence.Of("others")
	}
	return sentence.Name(name)
}
