package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// What every API may say, and what its clients find out by themselves.
var (
	// ErrInvalid says that the request is wrong; a repetition would be, too.
	ErrInvalid = errors.New("invalid")
	// ErrUnauthorized says that the token was refused.
	ErrUnauthorized = errors.New("token refused")
	// ErrForbidden says that the request came by a way that no controller takes.
	ErrForbidden = errors.New("forbidden")
	// ErrNotFound says that there is no such thing.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that the thing is not in a state for it.
	ErrConflict = errors.New("conflict")
	// ErrClosed says that the server is closed, or closing.
	ErrClosed = errors.New("closed")

	// ErrUnreachable says that there was no answer.
	ErrUnreachable = errors.New("unreachable")
	// ErrNotSent says that nothing was sent: the request surely had no effect.
	ErrNotSent = errors.New("not sent")
)

// Kind is how an error travels: by a word and a status.
type Kind struct {
	Is     error
	Name   string
	Status int
}

// withCommon are an API's own kinds, and then those of every API.
func withCommon(own []Kind) []Kind {
	return append(slices.Clip(own),
		Kind{ErrInvalid, "invalid", http.StatusBadRequest},
		Kind{ErrUnauthorized, "unauthorized", http.StatusUnauthorized},
		Kind{ErrForbidden, "forbidden", http.StatusForbidden},
		Kind{ErrNotFound, "not-found", http.StatusNotFound},
		Kind{ErrConflict, "conflict", http.StatusConflict},
		Kind{ErrClosed, "closed", http.StatusServiceUnavailable},
	)
}

// Error is an answer that says no. A handler that returns one has it sent as it is; a
// client's wraps the sentinel of its kind.
type Error struct {
	Kind    string `json:"kind"` // one word
	Message string `json:"message"`
	// Outcome is "failed" or "unknown" where the request may have had an effect in spite of the error.
	Outcome string `json:"outcome,omitzero"`
	Status  int    `json:"-"` // of HTTP

	from string // the API, for a client
	is   error
}

func (e *Error) Error() string {
	if e.from == "" {
		return e.Message
	}
	return fmt.Sprintf("%s: %s (%s)", e.from, e.Message, cmp.Or(e.Kind, fmt.Sprintf("status %d", e.Status)))
}

// Unwrap is the sentinel of the error's kind, nil if the kind is not known.
func (e *Error) Unwrap() error { return e.is }

// KindOf is the word of a refusal, "" if the error is none.
func KindOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// toError is an error as it travels.
func toError(err error, kinds []Kind) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	for _, k := range withCommon(kinds) {
		if errors.Is(err, k.Is) {
			return &Error{Kind: k.Name, Message: err.Error(), Status: k.Status}
		}
	}
	return &Error{Kind: "other", Message: err.Error(), Status: http.StatusInternalServerError}
}

// identify finds the sentinel of a kind. Of an answer of something else that is no such
// API, only the status speaks.
func (e *Error) identify(kinds []Kind) {
	for _, k := range withCommon(kinds) {
		if k.Name == e.Kind || e.Kind == "" && k.Status == e.Status {
			e.is = k.Is
			return
		}
	}
}
