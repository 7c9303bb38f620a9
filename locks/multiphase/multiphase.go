package multiphase

import (
	"errors"
	"fmt"

	"locklab/locks"
	"locklab/locks/multiphase/core"
	"locklab/locks/peerlock"
)

// Config is what a [Locker] is made of. Its Rank is the peer's priority. Zero
// Options are DefaultOptions.
type Config = peerlock.Config[Options]

// Locker is one peer of a cluster.
type Locker struct {
	*peerlock.Locker[core.State, core.Message, *core.State]
}

var (
	_ locks.Locker         = Locker{}
	_ locks.MessageCounter = Locker{}
)

// New starts a peer, see [peerlock.New].
func New(cfg Config) (*Locker, error) {
	if cfg.Options == (Options{}) {
		cfg.Options = DefaultOptions()
	}
	o := cfg.Options
	if o.Cohort < 0 || o.Cohort > cohortMost {
		err := fmt.Errorf("multiphase: Options.Cohort is %d, want 0 to %d: %w", o.Cohort, cohortMost, locks.ErrInvalid)
		if cfg.Listener != nil {
			err = errors.Join(err, cfg.Listener.Close())
		}
		return nil, err
	}
	l, err := peerlock.New(cfg, peerlock.Protocol[core.State, core.Message]{
		Algorithm: o.Algorithm(),
		Opens:     func(m core.Message) bool { return m.Kind == core.MyLock },
		Cohort:    peerlock.Cohort{Size: o.Cohort, Time: cohortTime},
	})
	if err != nil {
		return nil, err
	}
	return &Locker{l}, nil
}
