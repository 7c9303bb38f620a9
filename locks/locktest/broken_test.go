package locktest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/local"
	"locklab/locks/none"
)

// broken changes single properties of a right lock.
type broken struct {
	locks.Locker
	acquire func(ctx context.Context, inner locks.Locker, resource string) (locks.Lease, error)
	close   func(inner locks.Locker) error
}

func (b broken) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if b.acquire == nil {
		return b.Locker.Acquire(ctx, resource)
	}
	return b.acquire(ctx, b.Locker, resource)
}

func (b broken) Close() error {
	if b.close == nil {
		return b.Locker.Close()
	}
	return b.close(b.Locker)
}

type brokenLease struct {
	locks.Lease
	token   func() (locks.Token, bool)
	lost    <-chan struct{}
	release func(ctx context.Context) error
}

func (b brokenLease) Token() (locks.Token, bool) {
	if b.token == nil {
		return b.Lease.Token()
	}
	return b.token()
}

func (b brokenLease) Lost() <-chan struct{} {
	if b.lost == nil {
		return b.Lease.Lost()
	}
	return b.lost
}

func (b brokenLease) Release(ctx context.Context) error {
	if b.release == nil {
		return b.Lease.Release(ctx)
	}
	return b.release(ctx)
}

// two returns a subject whose two clients are b twice, sharing one service.
func two(b locks.Locker) Subject {
	return Subject{New: func(testing.TB) []locks.Locker { return []locks.Locker{b, b} }}
}

func TestBrokenLocksFail(t *testing.T) {
	tests := []struct {
		name  string
		check string // which must fail
		lock  func() locks.Locker
	}{
		{"grants everything", "one holder at a time, across clients", func() locks.Locker { return none.New() }},
		{"grants everything within a client", "one holder at a time, within a client", func() locks.Locker { return none.New() }},
		{"one lock for all names", "resources are independent", func() locks.Locker {
			return broken{Locker: local.New(), acquire: func(ctx context.Context, in locks.Locker, _ string) (locks.Lease, error) {
				return in.Acquire(ctx, "all")
			}}
		}},
		{"grants before the release", "a release lets the next one in", func() locks.Locker { return none.New() }},
		{"never frees", "a release lets the next one in", func() locks.Locker {
			return wrapLease(func(le locks.Lease) locks.Lease {
				return brokenLease{Lease: le, release: func(context.Context) error { return nil }}
			})
		}},
		{"a second release fails", "a release is idempotent", func() locks.Locker {
			return wrapLease(func(le locks.Lease) locks.Lease {
				var once sync.Once
				return brokenLease{Lease: le, release: func(ctx context.Context) error {
					err := locks.ErrNotHeld
					once.Do(func() { err = le.Release(ctx) })
					return err
				}}
			})
		}},
		{"a second release frees the next holder's", "a release is idempotent", func() locks.Locker { return newForgetful() }},
		{"release closes Lost", "a lease is not lost while held, nor by its release", func() locks.Locker {
			return wrapLease(func(le locks.Lease) locks.Lease {
				lost := make(chan struct{})
				return brokenLease{Lease: le, lost: lost, release: func(ctx context.Context) error {
					close(lost)
					return le.Release(ctx)
				}}
			})
		}},
		{"a wait that gave up keeps its place", "a wait ends with its context and leaves nothing behind", func() locks.Locker {
			return broken{Locker: local.New(), acquire: func(ctx context.Context, in locks.Locker, r string) (locks.Lease, error) {
				got := make(chan locks.Lease, 1)
				go func() { // forgets that ctx exists
					if le, err := in.Acquire(context.WithoutCancel(ctx), r); err == nil {
						got <- le
					}
				}()
				select {
				case le := <-got:
					return le, nil
				case <-ctx.Done():
					return nil, errors.Join(locks.ErrNotAcquired, ctx.Err())
				}
			}}
		}},
		{"says failed without saying why", "a wait ends with its context and leaves nothing behind", func() locks.Locker {
			return broken{Locker: local.New(), acquire: func(ctx context.Context, in locks.Locker, r string) (locks.Lease, error) {
				le, err := in.Acquire(ctx, r)
				if err != nil {
					return nil, errors.New("no")
				}
				return le, nil
			}}
		}},
		{"ignores a done context", "a context that is done acquires nothing", func() locks.Locker {
			return broken{Locker: local.New(), acquire: func(ctx context.Context, in locks.Locker, r string) (locks.Lease, error) {
				return in.Acquire(context.WithoutCancel(ctx), r)
			}}
		}},
		{"tokens repeat", "fencing tokens grow with every grant", func() locks.Locker {
			return wrapLease(func(le locks.Lease) locks.Lease {
				return brokenLease{Lease: le, token: func() (locks.Token, bool) { return 7, true }}
			})
		}},
		{"numbers claims when they ask", "fencing tokens grow with every grant", func() locks.Locker { return &askTokens{Locker: local.New()} }},
		{"takes any name", "a bad resource name is refused", func() locks.Locker {
			return broken{Locker: local.New(), acquire: func(ctx context.Context, in locks.Locker, _ string) (locks.Lease, error) {
				return in.Acquire(ctx, "x")
			}}
		}},
		{"Close does nothing", "a closed client refuses", func() locks.Locker {
			return broken{Locker: local.New(), close: func(locks.Locker) error { return nil }}
		}},
		{"Close leaves holders in the dark", "Close ends waits and frees what was held", func() locks.Locker {
			return wrapLease(func(le locks.Lease) locks.Lease {
				return brokenLease{Lease: le, lost: make(chan struct{})}
			})
		}},
		{"wedges after a give-up", "giving up at any moment never wedges the lock", func() locks.Locker {
			return broken{Locker: local.New(), acquire: func(ctx context.Context, in locks.Locker, r string) (locks.Lease, error) {
				if le, err := in.Acquire(ctx, r); err == nil {
					if _, hasDeadline := ctx.Deadline(); hasDeadline && ctx.Err() != nil {
						return nil, errors.Join(locks.ErrNotAcquired, ctx.Err()) // and never releases
					}
					return le, nil
				}
				le, _ := in.Acquire(context.WithoutCancel(ctx), r)
				_ = le // kept for ever
				<-ctx.Done()
				return nil, errors.Join(locks.ErrNotAcquired, ctx.Err())
			}}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range checks() {
				if c.name != tt.check {
					continue
				}
				s := two(tt.lock())
				err := c.guarded(s, s.New(t), time.Second)
				if err == nil {
					t.Errorf("the check %q found nothing", tt.check)
				}
				t.Log(err)
				return
			}
			t.Fatalf("there is no check %q", tt.check)
		})
	}
}

// wrapLease is a right lock with changed leases.
func wrapLease(change func(locks.Lease) locks.Lease) locks.Locker {
	return broken{Locker: local.New(), acquire: func(ctx context.Context, in locks.Locker, r string) (locks.Lease, error) {
		le, err := in.Acquire(ctx, r)
		if err != nil {
			return nil, err
		}
		return change(le), nil
	}}
}

// forgetful frees a resource by its name, whoever holds it by now: the classic
// release without comparing.
type forgetful struct {
	locks.Locker
	mu   sync.Mutex
	held map[string]chan struct{}
}

func newForgetful() *forgetful {
	return &forgetful{Locker: local.New(), held: map[string]chan struct{}{}}
}

func (f *forgetful) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	for {
		f.mu.Lock()
		freed, held := f.held[resource]
		if !held {
			f.held[resource] = make(chan struct{})
			f.mu.Unlock()
			inner, err := none.New().Acquire(ctx, resource)
			if err != nil {
				return nil, err
			}
			return brokenLease{Lease: inner, release: func(context.Context) error {
				f.mu.Lock()
				defer f.mu.Unlock()
				if freed, held := f.held[resource]; held {
					close(freed)
					delete(f.held, resource)
				}
				return nil
			}}, nil
		}
		f.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, errors.Join(locks.ErrNotAcquired, ctx.Err())
		}
	}
}

// askTokens draws the token when it is asked. Every second claim is overtaken by what asks later.
type askTokens struct {
	locks.Locker
	drawn atomic.Uint64
}

func (a *askTokens) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	token := a.drawn.Add(1)
	if token%2 == 0 {
		_ = clock.Sleep(ctx, 2*time.Millisecond)
	}
	inner, err := a.Locker.Acquire(ctx, resource)
	if err != nil {
		return nil, err
	}
	return brokenLease{Lease: inner, token: func() (locks.Token, bool) { return locks.Token(token), true }}, nil
}

func TestLocalConforms(t *testing.T) {
	Run(t, Subject{New: func(tb testing.TB) []locks.Locker {
		l := local.New()
		tb.Cleanup(func() { _ = l.Close() })
		return []locks.Locker{l}
	}})
}

func TestNoneConformsButForExclusion(t *testing.T) {
	Run(t, Subject{NoExclusion: true, New: func(tb testing.TB) []locks.Locker {
		return []locks.Locker{none.New(), none.New()}
	}})
}
