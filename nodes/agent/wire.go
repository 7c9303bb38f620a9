package agent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/httpapi"
	"locklab/nodes/diskfault"
)

// This file has what an agent and its clients tell each other.

// NodeSpec is a node to start.
type NodeSpec struct {
	Name     string         `json:"-"` // in the path of a request
	Role     string         `json:"role"`
	Settings jsontext.Value `json:"settings,omitzero"` // for the role; nil for none
	// FakeClock runs it with a wall clock that [Client.SetClock] can set, if its role has one.
	FakeClock bool `json:"fake_clock,omitzero"`
	// Disk are the calls that [Client.SetDisk] can hold or refuse, or [Client.CutPower] must know, "" none.
	Disk diskfault.Calls `json:"disk,omitzero"`
}

// Health is what an agent says of itself.
type Health struct {
	Host string `json:"host"`
	// Instance changes when the agent is started or reset: event numbers of another
	// instance mean nothing.
	Instance  string `json:"instance"`
	NextEvent uint64 `json:"next_event"` // number that the next event will get
}

// What can go wrong beside what can with every API (see [httpapi.ErrInvalid] and those
// around it). Errors of an Agent wrap one of these, and so do those of a Client, on the
// other side of the wire.
var (
	// ErrStart says that a node did not start or did not become ready.
	ErrStart = errors.New("node did not start")
	// ErrLate is an ErrStart of a node that may have needed more time than it had.
	ErrLate = fmt.Errorf("%w in time", ErrStart)
	// ErrEventsLost says that the agent no longer has the events that were asked for.
	ErrEventsLost = errors.New("events lost")
)

func kinds() []httpapi.Kind {
	return []httpapi.Kind{
		{Is: ErrEventsLost, Name: "events-lost", Status: http.StatusGone},
		{Is: ErrLate, Name: "late", Status: http.StatusGatewayTimeout},
		{Is: ErrStart, Name: "start", Status: http.StatusInternalServerError},
	}
}

// maxLine bounds one event of a node, or one answer.
const maxLine = 1 << 20

// newLines reads whole lines: what is cut off at the end is none.
func newLines(from io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 32<<10), maxLine)
	lines.Split(func(data []byte, _ bool) (int, []byte, error) {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return 0, nil, nil
		}
		return end + 1, data[:end], nil
	})
	return lines
}
