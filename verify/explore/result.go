package explore

// What an exploration can find.
const (
	TwoHold = "two peers hold the lock" // both clients were told so
	// Untold is that a core holds, or holds no more, or waits no more, and its client was not told.
	Untold  = "a peer did not tell its client whether it holds"
	Stuck   = "a peer waits and can never get the lock any more"
	Starves = "a waiting peer is passed too often"
	// TokenBack is for algorithms with fencing tokens that can be compared.
	TokenBack = "a fencing token is not above an earlier one"
)

// Ending is why an exploration ended.
type Ending uint8

// The endings.
const (
	Complete    Ending = iota + 1 // every state within the scope was seen
	Violated                      // a violation was found
	StatesBound                   // Scope.StatesMax was reached
	Interrupted                   // the context was cancelled
)

// Result is what an exploration found, and what it saw.
type Result struct {
	Spec  string `json:"lock"`
	Scope Scope  `json:"-"`
	Ended Ending `json:"-"`

	States      int64 `json:"states"`
	Transitions int64 `json:"moves"`
	Depth       int   `json:"depth"` // the most moves that any state is away from the beginning

	Violation string `json:"violation,omitempty"` // "" if there is none
	Trace     *Trace `json:"trace,omitempty"`     // the shortest way to it

	StuckChecked bool  `json:"-"` // the check for stuck states ran to its end
	StuckStates  int64 `json:"-"` // how many states it was about
	// Shortened says that gaps between timestamps were wider than what is told apart: states may then
	// have been taken for each other.
	Shortened bool `json:"timestamps_shortened,omitempty"`
	Timed     bool `json:"-"` // the core has leases
	Controls  bool `json:"-"` // peers recovered as in production: by control states
	Durable   bool `json:"-"` // a crash left what the core stores
}

// Explored says within which bounds.
func (r *Result) Explored() string {
	if r.Timed {
		return r.Scope.String() + ", " + r.Scope.leases()
	}
	return r.Scope.String()
}

// Modelled says what of the real thing a state of the exploration stands for.
func (r *Result) Modelled() []string {
	out := []string{"one resource; a client believes what it did and what it was told, and by that all is judged"}
	if !r.Scope.Reorder {
		out = append(out, "connections keep the order of messages; what is on its way when one is lost may be lost")
	}
	if r.Timed {
		out = append(out, "no clock: a timer goes off at any moment that the order of leases and votes allows")
	}
	switch {
	case r.Scope.Crashes == 0:
	case r.Durable:
		out = append(out, "a peer that crashes starts again with what it had stored; every store comes before what follows from it")
	case r.Controls:
		out = append(out, "recovery as in production: a peer's control state recovers for its resources")
	default:
		out = append(out, "a peer that crashes starts again and knows nothing")
	}
	return out
}
