package locks

// Traits are what a lock is, as far as it decides what a fault does to it.
type Traits struct {
	Agree   string `json:"agree"`             // one of the Agree constants
	Lease   string `json:"lease,omitempty"`   // one of the Lease constants; "" if holds are no leases
	Keeps   string `json:"keeps,omitempty"`   // one of the Keeps constants, of the servers; "" without any
	Replica string `json:"replica,omitempty"` // one of the Replica constants; "" if there is none
	Tokens  bool   `json:"tokens"`            // every grant has a higher token than the one before it
}

// Who has to agree before one client holds.
const (
	AgreeUnknown   = "unknown" // of locks that do not say it
	AgreeNobody    = "nobody"
	AgreeServer    = "one-server"
	AgreeServers   = "majority-of-servers"
	AgreePeers     = "majority-of-peers"
	AgreeConnected = "connected-peers" // all peers that are not taken for dead
	AgreeAll       = "all-peers"
)

// By whose clock a hold ends that is not released.
const (
	LeaseOwn    = "own-clock"    // a monotonic clock, which no step moves
	LeaseServer = "server-clock" // the wall clock of the servers
	LeaseClient = "client-clock" // the wall clock of the clients
)

// How much of what was acknowledged is there after a crash.
const (
	KeepsNothing    = "nothing"
	KeepsEachSecond = "each-second" // what was synced, once a second
	KeepsEverything = "everything"
)

// Whether another server may take the place of the one that has to agree.
const (
	ReplicaAsync = "asynchronous" // it may lack the last grants
	ReplicaAcked = "acknowledged" // it has every grant before the client does
)
