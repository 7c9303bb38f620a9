package result

import (
	"cmp"
	"strings"
)

// The codes, by the statement that they belong to.
const (
	// Sound: the run decides nothing.
	NodeLost       Code = "node-lost"  // a node or a host ended or stood still unasked
	Standstill     Code = "standstill" // the controller or an agent did
	ByHand         Code = "broken-by-hand"
	Unproven       Code = "fault-unproven" // the probes did not see it, or the ledger lacks it
	Saturated      Code = "saturated"      // the lab's processes got too little of a machine
	LateLoad       Code = "generator-late"
	GivenUp        Code = "given-up" // the run could not begin, go on or end
	Missing        Code = "records-missing"
	Contradiction  Code = "contradiction"
	NothingToJudge Code = "nothing-measured"
	LinksUnused    Code = "links-unused" // a user's lock sent nothing through what was broken
	NothingLost    Code = "nothing-lost" // a control had nothing to forget: all was synced when the power was cut

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

	// Deviations from what was expected.
	ServedTooLittle Code = "served-too-little" // N is the share, 0 to 1
	NotSafe         Code = "not-safe"
	NotLive         Code = "not-live"
	ControlSilent   Code = "control-silent"
)

// Titles are all codes, each in a few words.
func Titles() map[Code]string {
	return map[Code]string{
		NodeLost:        "a node ended or stood still unasked",
		Standstill:      "the lab itself stood still",
		ByHand:          "broken by hand",
		Unproven:        "a fault was not proven",
		Saturated:       "the machine was saturated",
		LateLoad:        "the load came late, or ended early",
		GivenUp:         "the run was given up",
		Missing:         "records are missing",
		Contradiction:   "records contradict each other",
		NothingToJudge:  "nothing was measured",
		LinksUnused:     "the lock did not use what was broken",
		NothingLost:     "the power cut took nothing",
		Duplicates:      "duplicates",
		Overlaps:        "overlapping holds",
		TokensBack:      "tokens that went back",
		StaleWrites:     "stale writes",
		LostUpdates:     "lost updates",
		InDoubt:         "only doubtful violations",
		IsStalls:        "stalls",
		IsDown:          "down",
		IsDead:          "dead",
		ServedTooLittle: "too few requests served",
		NotSafe:         "not safe",
		NotLive:         "not live enough",
		ControlSilent:   "the control showed nothing",
	}
}

// Figure is the name of the figure that counts the violations of a safety code.
func (c Code) Figure() string { return strings.ReplaceAll(string(c), "-", "_") }

// Title is the code in a few words.
func (c Code) Title() string { return cmp.Or(Titles()[c], string(c)) }
