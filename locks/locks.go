package locks

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Locker is one client of one lock service. It is safe for concurrent use: two
// goroutines that acquire the same resource through the same Locker exclude each
// other exactly as two processes do.
type Locker interface {
	// Acquire blocks until the resource is held, ctx is done or the lock service
	// has given a final answer. Its error wraps [ErrNotAcquired] if this call surely
	// does not hold the lock, and [ErrUnknown] if it may. If ctx ended the wait, the
	// error wraps ctx.Err() too.
	Acquire(ctx context.Context, resource string) (Lease, error)
	// Close gives up every wait and every lease and frees all goroutines and
	// sockets of the client. Later calls of Acquire return [ErrClosed].
	Close() error
}

// Lease is one grant of one resource to one caller.
type Lease interface {
	// Token returns the fencing token, which grows with every grant of the resource while
	// the service keeps its data. The second value is false if the lock has none.
	Token() (Token, bool)
	// Expires is the moment, on this process's clock, until which the holder may
	// believe that it holds. The second value is false if the lock has no lease
	// time. It moves forward while the lease is renewed in the background.
	Expires() (time.Time, bool)
	// Lost is closed as soon as the holder must assume that it no longer holds.
	// It is not closed by Release.
	Lost() <-chan struct{}
	// Release gives the resource back. It is idempotent: a second call returns the result of
	// the first. ErrNotHeld means that the lease had surely ended before; if it may have ended,
	// the error is ErrUnknown.
	Release(ctx context.Context) error
}

// Token is a fencing token. Zero is never granted.
type Token uint64

// MessageCounter is implemented by lockers that know how many protocol messages
// (requests and answers alike, heartbeats not counted) they have sent so far.
type MessageCounter interface {
	// MessagesSent is a running total; it never goes down.
	MessagesSent() uint64
}

// Failer is implemented by lockers that may end by themselves, because they can no longer keep
// their promises. The process that uses one should end too, and start again later.
type Failer interface {
	// Failed gives the reason once.
	Failed() <-chan error
}

// WakeupCounter is implemented by lockers that count how often a message or a watch woke one of
// their waiters to check whether it is its turn. A pause between two tries wakes nobody.
type WakeupCounter interface {
	// Wakeups is a running total; it never goes down.
	Wakeups() uint64
}

// Store keeps one value for each resource of a lock. Versions count the writes from 1.
type Store interface {
	// Read returns the version of the resource's value, 0 if it was never written.
	Read(ctx context.Context) (version uint64, err error)
	// Write gives the resource a new value and returns its version. With checked it writes only
	// if the lease is the newest grant. An error that wraps [ErrNotHeld] means refused, and
	// one that wraps [ErrUnavailable] not written; after any other error it may have been written.
	Write(ctx context.Context, checked bool) (version uint64, err error)
}

// Storer is implemented by leases whose lock service also keeps data, and can compare the
// lock in the transaction that writes it.
type Storer interface {
	// Store returns the resource's store; false if the lock's options turn it off.
	Store() (Store, bool)
}

// ResourceBytesMax bounds the length of a resource's name.
const ResourceBytesMax = 255

// CheckAcquire must be the first step of every Acquire. It refuses a context that is done, with
// ErrNotAcquired and the context's error. It refuses, with ErrNotAcquired and ErrInvalid, names that
// are empty, longer than ResourceBytesMax, not UTF-8, or contain control characters.
func CheckAcquire(ctx context.Context, resource string) error {
	if n := len(resource); n == 0 || n > ResourceBytesMax {
		return fmt.Errorf("acquire: %w: %w: a resource name has 1 to %d bytes, this one has %d",
			ErrNotAcquired, ErrInvalid, ResourceBytesMax, n)
	}
	control := func(c rune) bool { return c < ' ' || c == 0x7f }
	if !utf8.ValidString(resource) || strings.ContainsFunc(resource, control) {
		return fmt.Errorf("acquire: %w: %w: resource name %q has a control character or is not UTF-8",
			ErrNotAcquired, ErrInvalid, resource)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("acquire %q: %w: %w", resource, ErrNotAcquired, err)
	}
	return nil
}

// ReleaseOnce makes [Lease.Release] idempotent. The zero value is ready.
type ReleaseOnce struct {
	once   sync.Once
	result error
}

// Do calls release the first time; later calls return the same result. The error names the resource.
func (r *ReleaseOnce) Do(resource string, release func() error) error {
	r.once.Do(func() {
		if err := release(); err != nil {
			r.result = fmt.Errorf("release %q: %w", resource, err)
		}
	})
	return r.result
}
