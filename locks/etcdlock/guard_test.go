package etcdlock_test

import (
	"errors"
	"testing"

	"locklab/internal/must"
	"locklab/locks"
	"locklab/locks/locktest"
)

// TestAGuardedWriteIsDoneOnce: one that a silent member has is not asked of another one, which
// would do it twice, or say that it was refused when the first one does it.
func TestAGuardedWriteIsDoneOnce(t *testing.T) {
	c := startCluster(t, 1)
	f := newFront(t, c.addrs[0])
	o := long()
	o.Guard = true
	held := locktest.Acquire(t, newClient(t, []string{f.addr}, nil, o), "r")
	store, _ := held.(locks.Storer).Store()
	caught, letGo, passed := f.catch(t, txn)
	_, err := store.Write(locktest.Within(t), true)
	<-caught
	if !errors.Is(err, locks.ErrUnknown) {
		t.Errorf("a write that a member may do yet: %v", err)
	}
	letGo()
	<-passed
	version, err := store.Read(t.Context())
	must.Do(t, err)
	if version != 1 {
		t.Errorf("it was written %d times", version)
	}
	locktest.Release(t, held)
}
