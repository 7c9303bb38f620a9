package agent

// What travels between Client and Agent, beside [NodeSpec] and [NodeStatus].

// Health is what an agent says of itself.
type Health struct {
	Host    string `json:"host"`
	Zone    string `json:"zone"`
	Version string `json:"version"`
	PID     int    `json:"pid"`
	// Instance changes when the agent is started or reset: event numbers of another
	// instance mean nothing.
	Instance  string `json:"instance"`
	NextEvent uint64 `json:"next_event"` // number that the next event will get
}

type versionAnswer struct {
	Version string `json:"version"`
}

type reserveRequest struct {
	Role string `json:"role"`
}

type reserveAnswer struct {
	Addrs map[string]string `json:"addrs"`
}

// clockOffset is by how much a node's wall clock is wrong, or is to be.
type clockOffset struct {
	OffsetMS int64 `json:"offset_ms"`
	// Rate is how fast it is to run, 1 and 0 are right; absent where it was read.
	Rate float64 `json:"rate,omitzero"`
}

// pauseRequest says where to stop the node: at once, or when it next comes to a point of its
// work, which it must within a time.
type pauseRequest struct {
	Point    string `json:"point,omitzero"`
	WithinMS int64  `json:"within_ms,omitzero"`
}

type restartRequest struct {
	Wipe    bool  `json:"wipe,omitzero"`
	DelayMS int64 `json:"delay_ms,omitzero"`
}

// forgetRequest says that every event below a number has been taken.
type forgetRequest struct {
	Instance string `json:"instance"`
	Below    uint64 `json:"below"`
}

// instanceHeader names the agent's instance in the answer to an events request.
const instanceHeader = "Locklab-Instance"
