package locks

import (
	"context"
	"errors"
)

// The error taxonomy. Every error of a Locker or a Lease wraps one of the first
// three or [ErrClosed]; [ErrUnavailable] may come with any of them and says why.
var (
	// ErrNotAcquired says that the failed call surely does not hold the lock.
	ErrNotAcquired = errors.New("locks: not acquired")
	// ErrUnknown says that the outcome is unknown: the operation may have taken
	// effect, or may still do so until the lease at the server ends.
	ErrUnknown = errors.New("locks: outcome unknown")
	// ErrNotHeld says that the lease had ended before it was released or renewed.
	ErrNotHeld = errors.New("locks: not held")
	// ErrClosed says that the Locker was closed.
	ErrClosed = errors.New("locks: closed")
	// ErrUnavailable says that the lock service cannot be reached, or has lost the
	// quorum that it needs.
	ErrUnavailable = errors.New("locks: unavailable")
	// ErrInvalid says that an argument, a lock spec or a configuration is wrong.
	ErrInvalid = errors.New("locks: invalid")
)

// Outcome is how an operation ended.
type Outcome string

// The three outcomes.
const (
	OutcomeOK      Outcome = "ok"
	OutcomeFailed  Outcome = "failed"
	OutcomeUnknown Outcome = "unknown"
)

// OutcomeOf classifies the error of Acquire or Release. An error that says
// nothing about the outcome counts as unknown, never as failed.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OutcomeOK
	case errors.Is(err, ErrUnknown):
		return OutcomeUnknown
	case errors.Is(err, ErrNotAcquired), errors.Is(err, ErrNotHeld),
		errors.Is(err, ErrClosed), errors.Is(err, ErrInvalid):
		return OutcomeFailed
	default:
		return OutcomeUnknown
	}
}

// ErrorKind names err in one word for histories and reports: "" for nil, and
// otherwise the first that applies of "unknown", "not-held", "closed", "invalid",
// "unavailable", "timeout", "canceled", "not-acquired" and "other".
func ErrorKind(err error) string {
	kinds := []struct {
		is   error
		kind string
	}{
		{ErrUnknown, "unknown"},
		{ErrNotHeld, "not-held"},
		{ErrClosed, "closed"},
		{ErrInvalid, "invalid"},
		{ErrUnavailable, "unavailable"},
		{context.DeadlineExceeded, "timeout"},
		{context.Canceled, "canceled"},
		{ErrNotAcquired, "not-acquired"},
	}
	if err == nil {
		return ""
	}
	for _, k := range kinds {
		if errors.Is(err, k.is) {
			return k.kind
		}
	}
	return "other"
}
