package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"locklab/internal/httpapi"
	"locklab/nodes/agent"
)

// A machine that is too busy starts or stops a node too late, or falls behind with its events. A full one has no file
// descriptor left; one elsewhere can be gone. That ends one run and not the comparison: the next run begins with empty
// hosts, where the lab has killed all nodes.

// ErrGivenUp says that a run could not begin, go on or end with what the machines had.
var ErrGivenUp = errors.New("given up")

// GiveUp makes the error of a run ErrGivenUp if a machine was gone, or lacked time or file descriptors. Any other
// error, such as a missing program, would be the same in the next run.
func GiveUp(err error) error {
	if err == nil || !lackedTime(err) && !lackedFiles(err) && !errors.Is(err, httpapi.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrGivenUp, err)
}

func lackedTime(err error) bool {
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return (ok && timeout.Timeout()) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, agent.ErrLate) || errors.Is(err, agent.ErrEventsLost)
}

// lackedFiles finds EMFILE and ENFILE by their common words, which answers of agents and logs have.
func lackedFiles(err error) bool { return strings.Contains(err.Error(), syscall.EMFILE.Error()) }
