package program

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/strictjson"
	"locklab/locks"
)

const (
	// Version is the version of the protocol.
	Version = 1
	// LineBytesMax bounds a program's line, its end included.
	LineBytesMax = 64 << 10
	// LeaseMax is the longest lease time.
	LeaseMax = time.Hour
	// needsMax bounds the kinds of servers that a lock may need.
	needsMax = 8
)

// Op is the kind of a line.
type Op string

// The values of Op. Programs send the last two at any time; the lab never does.
const (
	OpHello    Op = "hello"
	OpAcquire  Op = "acquire"
	OpRelease  Op = "release"
	OpLost     Op = "lost"
	OpExtended Op = "extended"
)

// Ask is a line from the lab.
type Ask struct {
	Op         Op     `json:"op"`
	ID         uint64 `json:"id,omitzero"` // of the acquisition
	Resource   string `json:"resource,omitzero"`
	DeadlineMS int64  `json:"deadline_ms,omitzero"` // for the answer, from now

	Version int    `json:"version,omitzero"`
	Client  string `json:"client,omitzero"` // a name that no other client of the run has
	// Servers are in every hello; the list is empty if the lab only asks for the lock's description.
	Servers []Server `json:"servers,omitzero"`
}

// Server is a server that the program may dial.
type Server struct {
	Name string `json:"name"`
	Role string `json:"role"`
	Addr string `json:"addr"` // host:port to dial: the link to the server, if there is one
}

// Said is a line from a program.
type Said struct {
	Op      Op            `json:"op"`
	ID      uint64        `json:"id"`
	Outcome locks.Outcome `json:"outcome"`
	Error   string        `json:"error"`
	Token   uint64        `json:"token"`
	UntilMS int64         `json:"until_ms"` // end of the lease, counted from when the program read the request

	Version int    `json:"version"`
	Tokens  bool   `json:"tokens"`
	LeaseMS int64  `json:"lease_ms"`
	Servers []Need `json:"servers"`
}

// Need is a kind of server that a lock needs.
type Need struct {
	Role  string `json:"role"`
	Nodes int    `json:"nodes,omitzero"` // 0 is all of the topology
}

// Hello describes a program's lock.
type Hello struct {
	Tokens  bool          `json:"tokens"` // each grant has a fencing token
	Lease   time.Duration `json:"lease"`  // the duration of a grant that is not extended; 0 is for ever
	Servers []Need        `json:"servers"`
}

// errProtocol is wrapped by errors about a program's lines.
var errProtocol = errors.New("against the protocol")

func broken(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, errProtocol)...)
}

// ParseSaid reads a line of a program, without its end, and checks that it has exactly the
// fields of its op.
func ParseSaid(line []byte) (Said, error) {
	var s Said
	if err := strictjson.Decode(line, &s); err != nil {
		return s, broken("the line %s: %w", shown(line), err)
	}
	return s, s.check(line)
}

func (s Said) check(line []byte) error {
	const untilMax = 1000 * 3600 * 1000 // 1000 hours, since a lease can be extended many times
	wrong := func(format string, args ...any) error {
		return broken("the line %s: "+format, append([]any{shown(line)}, args...)...)
	}
	fits := Said{Op: s.Op, ID: s.ID} // the fields that its op has
	switch s.Op {
	case OpHello:
		fits = Said{Op: s.Op, Version: s.Version, Tokens: s.Tokens, LeaseMS: s.LeaseMS, Servers: s.Servers}
	case OpAcquire, OpRelease:
		fits.Outcome = s.Outcome
		if s.Outcome != locks.OutcomeOK {
			fits.Error = s.Error
		} else if s.Op == OpAcquire {
			fits.Token, fits.UntilMS = s.Token, s.UntilMS
		}
	case OpLost:
		fits.Error = s.Error
	case OpExtended:
		fits.UntilMS = s.UntilMS
	default:
		return wrong("op is %q: want hello, acquire, release, lost or extended", s.Op)
	}
	answers := s.Op == OpAcquire || s.Op == OpRelease
	outcomes := []locks.Outcome{locks.OutcomeOK, locks.OutcomeFailed, locks.OutcomeUnknown}
	switch said, fits := reflect.ValueOf(s), reflect.ValueOf(fits); {
	case s.Op == OpHello && s.Version != Version:
		return wrong("version is %d: want %d", s.Version, Version)
	case s.LeaseMS < 0 || s.LeaseMS > LeaseMax.Milliseconds():
		return wrong("lease_ms is %d: want 0 to %d", s.LeaseMS, LeaseMax.Milliseconds())
	case answers && !slices.Contains(outcomes, s.Outcome):
		return wrong("outcome is %q: want ok, failed or unknown", s.Outcome)
	case answers && s.Outcome != locks.OutcomeOK && s.Error == "":
		return wrong("error is missing: want the reason for the outcome %s", s.Outcome)
	case s.Op == OpExtended && s.UntilMS == 0 || s.UntilMS < 0 || s.UntilMS > untilMax:
		return wrong("until_ms is %d: want 1 to %d", s.UntilMS, untilMax)
	case s.Op != OpHello && s.ID == 0:
		return wrong("id is missing: want that of the acquisition")
	default:
		for i := range said.NumField() {
			if fits.Field(i).IsZero() && !said.Field(i).IsZero() {
				return wrong("%s has no place in it", said.Type().Field(i).Tag.Get("json"))
			}
		}
	}
	return nil
}

// hello checks and returns the description of the lock.
func (s Said) hello() (Hello, error) {
	h := Hello{Tokens: s.Tokens, Lease: time.Duration(s.LeaseMS) * time.Millisecond, Servers: s.Servers}
	if len(h.Servers) > needsMax {
		return h, broken("hello: %d kinds of servers: want at most %d", len(h.Servers), needsMax)
	}
	seen := map[string]bool{}
	for _, n := range h.Servers {
		if seen[n.Role] || n.Role == "" || n.Nodes < 0 {
			return h, broken("hello: servers: role %q, nodes %d: want each role once, and 0 (all) or more nodes",
				n.Role, n.Nodes)
		}
		seen[n.Role] = true
	}
	return h, nil
}

// grants checks a grant against the lock's description.
func (h Hello) grants(s Said) error {
	switch {
	case h.Tokens != (s.Token != 0):
		return broken("acquire %d: token is %d, and hello said tokens: %t: want a token above 0 exactly if it has them",
			s.ID, s.Token, h.Tokens)
	case (h.Lease > 0) != (s.UntilMS > 0):
		return broken("acquire %d: until_ms is %d, and hello said lease_ms: %d: want an end exactly if leases have one",
			s.ID, s.UntilMS, h.Lease.Milliseconds())
	}
	return nil
}

// line encodes an Ask.
func (a Ask) line() ([]byte, error) {
	if a.Op == OpHello && a.Servers == nil {
		a.Servers = []Server{} // a list, even if nothing is in it
	}
	text, err := json.Marshal(a)
	return append(text, '\n'), err
}

// shown quotes a line for an error.
func shown(line []byte) string {
	const most = 120
	line = bytes.ToValidUTF8(line, []byte("?"))
	if len(line) > most {
		return fmt.Sprintf("%q... (%d bytes)", line[:most], len(line))
	}
	return fmt.Sprintf("%q", line)
}

// err turns the outcome of an answer into an error, which wraps failed if the outcome is failed.
func (s Said) err(what string, failed error) error {
	switch s.Outcome {
	case locks.OutcomeOK:
		return nil
	case locks.OutcomeFailed:
		return fmt.Errorf("%s: %w: %.200s", what, failed, s.Error)
	default:
		return fmt.Errorf("%s: %w: %.200s", what, locks.ErrUnknown, s.Error)
	}
}
