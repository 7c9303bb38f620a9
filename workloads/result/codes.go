package result

import "cmp"

// Code names why a statement is as it is. There are at most 25.
type Code string

// The codes, by the statement that they belong to.
const (
	// Sound: the run decides nothing.
	NodeLost       Code = "node-lost"       // a node or a host ended or stood still unasked
	Standstill     Code = "standstill"      // the controller or an agent stood still
	ByHand         Code = "broken-by-hand"  // somebody broke something that no scenario asked for
	Unproven       Code = "fault-unproven"  // a fault was not seen by the probes, or is not in the ledger
	Saturated      Code = "saturated"       // the lab's processes got too little of a machine
	LateLoad       Code = "generator-late"  // the load was not offered in time, or ended early
	GivenUp        Code = "given-up"        // the run could not begin, go on or end
	Missing        Code = "records-missing" // records are missing
	Contradiction  Code = "contradiction"   // records contradict each other
	NothingToJudge Code = "nothing-measured"
	LinksUnused    Code = "links-unused" // a user's lock sent nothing through what was broken

	// Safety.
	Duplicates  Code = "duplicates"
	Overlaps    Code = "overlaps"
	TokensBack  Code = "tokens-back"
	StaleWrites Code = "stale-writes"
	LostUpdates Code = "lost-updates"
	InDoubt     Code = "in-doubt" // unknown: only doubts were seen

	// Liveness; N is milliseconds, Of the zone or the resource.
	IsStalls Code = Stalls
	IsDown   Code = Down
	IsDead   Code = Dead

	// What was expected: served too little; an outage shorter or longer than the words say; a
	// control that did not fire.
	ServedTooLittle Code = "served-too-little" // N is the share, 0 to 1
	NotSafe         Code = "not-safe"
	NotLive         Code = "not-live"
	ControlSilent   Code = "control-silent"
)

// CodeInfo is how a code is told: a title of a few words.
type CodeInfo struct {
	Code  Code
	Title string
}

// Codes are all of them, in order.
func Codes() []CodeInfo {
	return []CodeInfo{
		{NodeLost, "a node ended or stood still unasked"},
		{Standstill, "the lab itself stood still"},
		{ByHand, "broken by hand"},
		{Unproven, "a fault was not proven"},
		{Saturated, "the machine was saturated"},
		{LateLoad, "the load came late, or ended early"},
		{GivenUp, "the run was given up"},
		{Missing, "records are missing"},
		{Contradiction, "records contradict each other"},
		{NothingToJudge, "nothing was measured"},
		{LinksUnused, "the lock did not use what was broken"},
		{Duplicates, "duplicates"},
		{Overlaps, "overlapping holds"},
		{TokensBack, "tokens that went back"},
		{StaleWrites, "stale writes"},
		{LostUpdates, "lost updates"},
		{InDoubt, "only doubtful violations"},
		{IsStalls, "stalls"},
		{IsDown, "down"},
		{IsDead, "dead"},
		{ServedTooLittle, "too few requests served"},
		{NotSafe, "not safe"},
		{NotLive, "not live enough"},
		{ControlSilent, "the control showed nothing"},
	}
}

// violations are the figures that count against the lock.
func (r *Row) violations() float64 {
	n := 0.0
	for _, name := range []string{"duplicates", "overlaps", "tokens_back"} {
		n += r.Figures[name]
	}
	return n
}

// compareRows orders rows by how bad they are.
func compareRows(a, b *Row) int {
	bad := func(r *Row) int {
		if r.Verdict.As == NotAsExpected {
			return 1
		}
		return 0
	}
	longest := func(r *Row) float64 {
		return max(r.Figures["outage_ms"], r.Figures["zone_outage_ms"], r.Figures["resource_outage_ms"])
	}
	return cmp.Or(cmp.Compare(bad(a), bad(b)), cmp.Compare(a.violations(), b.violations()), cmp.Compare(longest(a), longest(b)))
}
