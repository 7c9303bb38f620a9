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

// A machine that is too busy starts a node too late, does not stop it in time, or lets a follower of events fall
// behind. A machine that is too full has no file descriptor left. A host elsewhere can be gone. That ends one run,
// which decides nothing, and not the comparison: the next run begins with empty hosts, and the lab kills for it what
// it could not stop gently.

// ErrGivenUp says that a run could not begin, go on or end with what the machines had.
var ErrGivenUp = errors.New("given up")

// GiveUp makes the error of a run ErrGivenUp if a machine was gone, or lacked time or file descriptors. Everything
// else (a program that is missing, a node that ends with an error) would be the same in the next run.
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

// lackedFiles finds EMFILE and ENFILE by their common words: an agent's answer and the end of a node's
// log carry no more than those. lab.CheckFiles has seen to it that the limit suffices for the lab.
func lackedFiles(err error) bool { return strings.Contains(err.Error(), syscall.EMFILE.Error()) }
