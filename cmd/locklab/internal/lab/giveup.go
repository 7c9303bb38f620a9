package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"locklab/nodes/agent"
)

// A machine that is too busy starts a node too late, or does not stop it in time, or
// lets a follower of events fall behind. That is the end of one run, which decides
// nothing, and not of the comparison: the next run begins with empty hosts, and what
// could not be stopped gently is killed for it.

// errGivenUp says that a run could not begin, go on or end in the time for that.
var errGivenUp = errors.New("given up")

// giveUp makes the error of a run errGivenUp if time was what it lacked. Everything
// else (a program that is missing, a node that ends with an error) would be the same in
// the next run.
func giveUp(err error) error {
	if err == nil || errors.Is(err, errHostLost) || !lackedTime(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errGivenUp, err)
}

func lackedTime(err error) bool {
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return (ok && timeout.Timeout()) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, agent.ErrLate) || errors.Is(err, agent.ErrEventsLost)
}

// firstLine is the error for a sentence: what comes after is said of the clean-up, or
// the end of a log.
func firstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), errGivenUp.Error()+": "), "\n")
	return line
}
