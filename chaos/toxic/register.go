package toxic

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"

	"locklab/locks/clock"
)

// shared is what all toxics of a process need. toxiproxy makes toxics by
// reflection from a registry that is global, so that nothing can be handed to
// them; hence the one package variable.
var shared struct { //nolint:gochecknoglobals // see above: toxiproxy's registry is global too
	register sync.Once
	mu       sync.Mutex
	users    int
	precise  *clock.Precise
	early    atomic.Int64 // nanoseconds, see SleepTowards
}

// Register makes the toxics known to toxiproxy, for its API, and keeps its toxics from writing
// to stderr.
func Register() {
	shared.register.Do(func() {
		zerolog.SetGlobalLevel(zerolog.Disabled)
		for _, e := range effects() {
			toxics.Register(Prefix+e.Kind(), e)
		}
	})
}

// Use registers the toxics and keeps the thread that times them alive until release is called. Call release after the last
// connection that has one of the toxics is gone: what such a toxic still delays
// then is passed on at once. Release may be called more than once.
func Use() (release func(), err error) {
	Register()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.users == 0 {
		shared.precise, err = clock.NewPrecise()
		if err != nil {
			return nil, fmt.Errorf("start the toxics' timer: %w", err)
		}
	}
	shared.users++
	return sync.OnceFunc(func() {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		shared.users--
		if shared.users == 0 {
			shared.precise.Close()
			shared.precise = nil
		}
	}), nil
}

// SleepUntil sleeps exactly until deadline, a value of clock.Mono; false if stop
// had something to receive first, or was closed. Without a user (see [Use]) it does not sleep at all.
func SleepUntil(deadline int64, stop <-chan struct{}) bool {
	shared.mu.Lock()
	precise := shared.precise
	shared.mu.Unlock()
	return precise == nil || precise.SleepUntil(deadline, stop)
}

const (
	// maxEarly bounds how much too early something may be delivered.
	maxEarly = 60 * time.Microsecond
	// earlyStep is how much is learned from one wake-up.
	earlyStep = 500 * time.Nanosecond
)

// SleepTowards is [SleepUntil], but sleeps such that half of the wake-ups are before the deadline and
// half after it. A thread wakes some tens of microseconds late, which would add to
// every delay; that is learned, as a running median, and slept less.
func SleepTowards(deadline int64, stop <-chan struct{}) bool {
	early := shared.early.Load()
	if clock.Mono() >= deadline-early {
		return true
	}
	if !SleepUntil(deadline-early, stop) {
		return false
	}
	learned := early - int64(earlyStep)
	if clock.Mono() > deadline {
		learned = early + int64(earlyStep)
	}
	shared.early.Store(min(max(learned, 0), int64(maxEarly))) // a lost update is no loss
	return true
}
