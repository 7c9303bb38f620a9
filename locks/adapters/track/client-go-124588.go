//go:build ignore

// client-go's leaderelection, ReleaseOnCancel: a leader that cannot reach the server hangs in its release and is
// not told that it leads no more. Fixed in 0.31: it is told after another RenewDeadline.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lease is a record of which the server is out of reach, once it is cut.
type lease struct {
	resourcelock.LeaderElectionRecord
	cut atomic.Bool
}

func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &l.LeaderElectionRecord, []byte(l.RenewTime.String()), l.Update(ctx, l.LeaderElectionRecord)
}

func (l *lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if l.cut.Load() {
		<-ctx.Done()
		return errors.New("no answer")
	}
	l.LeaderElectionRecord = r
	return nil
}

func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}
func (l *lease) RecordEvent(string) {}
func (l *lease) Identity() string   { return "first" }
func (l *lease) Describe() string   { return "track" }

func main() {
	l, leads, told := &lease{}, make(chan bool), make(chan bool)
	go leaderelection.RunOrDie(context.Background(), leaderelection.LeaderElectionConfig{
		Lock: l, LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: time.Second / 2,
		ReleaseOnCancel: true, Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leads) }, OnStoppedLeading: func() { close(told) },
		},
	})
	<-leads
	l.cut.Store(true)
	select {
	case <-told:
		log.Fatal("not shown: it was told")
	case <-time.After(10 * time.Second):
		fmt.Println("7 s after others may lead, the first one believes that it leads")
	}
}
