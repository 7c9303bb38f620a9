package peerlock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"locklab/locks"
	"locklab/locks/multiphase"
)

// TestNewThatFailsLeavesNothing waits until the recovery would be over that a peer
// begins when it starts, though it could not be started.
func TestNewThatFailsLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := multiphase.DefaultQuorum()
		if _, err := multiphase.New(multiphase.Config{Options: options}); !errors.Is(err, locks.ErrInvalid) {
			t.Fatalf("without an ID, want ErrInvalid, got %v", err)
		}
		time.Sleep(10 * options.Quorum.TTL)
	})
}
