package agent

import (
	"errors"
	"fmt"
	"net/http"

	"locklab/internal/httpapi"
)

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
