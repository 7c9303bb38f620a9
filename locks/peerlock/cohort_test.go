package peerlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"locklab/locks"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// eager is a machine that holds at once and counts how often.
type eager struct{ times *int }

func (e *eager) Step(ev peercore.Event[int], out []peercore.Effect[int]) []peercore.Effect[int] {
	if ev.Kind != peercore.Request {
		return out
	}
	*e.times++
	return append(out, peercore.Effect[int]{Kind: peercore.Hold})
}

func (e *eager) Reset(like *eager, _ uint64) { *e = *like }
func (e *eager) Round() uint64               { return 0 }
func (e *eager) Idle() bool                  { return true }
func (e *eager) Bootstrapped() bool          { return true }

// TestCohort checks how many acquisitions eleven waiters take: as many as cohorts.
func TestCohort(t *testing.T) {
	for name, tt := range map[string]struct {
		cohort peerlock.Cohort
		hold   time.Duration
		want   int
	}{
		"none":              {peerlock.Cohort{}, 0, 11},
		"of four":           {peerlock.Cohort{Size: 4, Time: time.Hour}, time.Second, 3},
		"ended by time":     {peerlock.Cohort{Size: 100, Time: 1500 * time.Millisecond}, time.Second, 6},
		"time stands still": {peerlock.Cohort{Size: 100, Time: time.Second}, 0, 1},
		"of one is none":    {peerlock.Cohort{Size: 1, Time: time.Hour}, 0, 11},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				times := 0
				l, err := peerlock.New(peerlock.Config[struct{}]{},
					peerlock.Protocol[eager, int]{
						Algorithm: peercore.Algorithm[eager, int]{
							New: func(int, peercore.Set) eager { return eager{&times} },
						},
						Cohort: tt.cohort,
					})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = l.Close() }()
				done := make(chan error)
				for range 11 {
					go func() {
						lease, err := l.Acquire(t.Context(), "r")
						if err == nil {
							synctest.Wait() // everybody has arrived
							time.Sleep(tt.hold)
							err = lease.Release(t.Context())
						}
						done <- err
					}()
				}
				for range 11 {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				if times != tt.want {
					t.Errorf("%d acquisitions, want %d", times, tt.want)
				}
			})
		})
	}
}

var _ locks.Locker = (*peerlock.Locker[eager, int, *eager])(nil)
