package agent

import (
	"errors"
	"fmt"
	"net/http"
)

// What can go wrong. Errors of an Agent wrap one of these, and so do those of a
// Client, on the other side of the wire.
var (
	// ErrInvalid says that a name, a role, settings or a configuration is wrong.
	ErrInvalid = errors.New("agent: invalid")
	// ErrUnauthorized says that the agent refused the token.
	ErrUnauthorized = errors.New("agent: token refused")
	// ErrNotFound says that the agent has no such node, role or address.
	ErrNotFound = errors.New("agent: not found")
	// ErrConflict says that the node is not in a state for it.
	ErrConflict = errors.New("agent: conflict")
	// ErrStart says that a node did not start or did not become ready.
	ErrStart = errors.New("agent: node did not start")
	// ErrLate is an ErrStart of a node that may have needed more time than it had.
	ErrLate = fmt.Errorf("%w in time", ErrStart)
	// ErrEventsLost says that the agent no longer has the events that were asked for.
	ErrEventsLost = errors.New("agent: events lost")
	// ErrClosed says that the agent was closed.
	ErrClosed = errors.New("agent: closed")
	// ErrForbidden says that the request came by a way that no controller takes.
	ErrForbidden = errors.New("agent: forbidden")
	// ErrUnreachable says that no agent answers at the address.
	ErrUnreachable = errors.New("agent: unreachable")
)

// errorKind is how an error travels.
type errorKind struct {
	is     error
	kind   string
	status int
}

func errorKinds() []errorKind {
	return []errorKind{
		{ErrInvalid, "invalid", http.StatusBadRequest},
		{ErrUnauthorized, "unauthorized", http.StatusUnauthorized},
		{ErrForbidden, "forbidden", http.StatusForbidden},
		{ErrNotFound, "not-found", http.StatusNotFound},
		{ErrConflict, "conflict", http.StatusConflict},
		{ErrEventsLost, "events-lost", http.StatusGone},
		{ErrClosed, "closed", http.StatusServiceUnavailable},
		{ErrLate, "late", http.StatusGatewayTimeout},
		{ErrStart, "start", http.StatusInternalServerError},
	}
}

// Error is an agent's answer that says no. It wraps the sentinel of its kind.
type Error struct {
	Agent   string // its URL
	Status  int    // of HTTP
	Kind    string // one word
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("agent %s: %s (status %d)", e.Agent, e.Message, e.Status)
}

// Unwrap is the sentinel of the error's kind, nil if the kind is not known.
func (e *Error) Unwrap() error {
	for _, k := range errorKinds() {
		if k.kind == e.Kind || (e.Kind == "" && k.status == e.Status) {
			return k.is
		}
	}
	return nil
}
