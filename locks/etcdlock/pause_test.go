package etcdlock_test

import (
	"testing"

	"locklab/locks/etcdlock"
	"locklab/locks/locktest"
)

// TestGrantedTooLate: the process stands still while its claim is answered, for longer than the
// lease lasts. (The clock only leaps, so that what renews the lease has not noticed when
// the claim's answer comes.)
func TestGrantedTooLate(t *testing.T) {
	c := startCluster(t, 1)
	f := newFront(t, c.addrs[0])
	o := etcdlock.DefaultOptions()
	o.TTL *= 100
	o.Timeout *= 20                                                             // nothing is asked for twice
	clk := &locktest.Leaping{Caught: o.TTL / 3, Timers: make(chan func(), 100)} // between renewals
	l := newClient(t, []string{f.addr}, clk, o)
	caught, letGo, _ := f.catch(t, txn)
	got := locktest.Later(t, l, "r")
	<-caught
	<-clk.Timers // the first renewal is over: the next one does not see that the clock leapt
	clk.Leap(o.TTL)
	letGo()
	lease := <-got
	if until, _ := lease.Expires(); !clk.Now().Before(until) {
		t.Errorf("granted at %v, to %v", clk.Now(), until)
	}
	locktest.Release(t, lease)
}
