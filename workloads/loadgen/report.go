package loadgen

import "time"

// What a run may lack before its figures stop meaning what they say.
const (
	// MinSent is the share of the scheduled operations that must have been sent.
	// With less, the load was not the one that the report names: 1 % is the
	// precision to which rates are read off a plot.
	MinSent = 0.99
	// MaxLateness is the lateness that 99 % of the operations must stay below: half of
	// the 100 ms slots in which availability is shown, so that what was due in one slot
	// was sent in it, or in the first half of the next, and a fault and what it did to
	// the load stay side by side. It is also a fifth of the 250 ms without grants that
	// are a stall in a run of two seconds: operations that come late do not look like
	// one. Latency counts from the intended time, so a late operation does not look
	// faster than it was; how much of the latency may be lateness, the checker knows.
	MaxLateness = 50 * time.Millisecond
)

// ErrorNotSent is the Error of a history event whose operations (Event.Count of
// them) were due but never sent, because the generator fell behind.
const ErrorNotSent = "not-sent"

// ErrorCalledOff is the Error of an operation that was under way when the time was over, and
// that nobody waited for: it is neither served nor failed.
const ErrorCalledOff = "called-off"
