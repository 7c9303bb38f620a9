// Command leaderelection is k8s.io/client-go/tools/leaderelection, five times as fast as Kubernetes'
// components have it (lease 15 s, renewed within 10 s, tried every 2 s). Its Lease is an etcd key that is changed by revision, as
// Kubernetes' API server does it.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"locklab/locks/adapters/go/protocol"
)

func main() {
	hello := protocol.Line{"servers": []map[string]any{{"role": "etcd"}}}
	protocol.Serve(hello, func(name string, addrs []string) (protocol.Acquire, error) {
		client, err := clientv3.New(clientv3.Config{Endpoints: addrs, DialTimeout: 5 * time.Second})
		var elections sync.Map // by resource
		return func(ctx context.Context, resource string, lost func(error)) (protocol.Hold, error) {
			e, _ := elections.LoadOrStore(resource, &election{
				leads: make(chan *candidate), idle: make(chan struct{}, 1000), lease: func() *lease {
					return &lease{client: client, key: "/leases/" + resource, identity: name + "_" + rand.Text()}
				},
			})
			return e.(*election).elect(ctx, lost)
		}, err
	})
}

// election has a candidate for each caller. Candidates stand on when their callers give up, as a process does that stands
// for as long as it lives: a new one waits for a whole lease from its first look, also where that ended long before.
type election struct {
	leads chan *candidate // to a caller
	idle  chan struct{}   // one for each candidate that has no caller
	lease func() *lease
}

type candidate struct {
	*leaderelection.LeaderElector
	resign func()
	led    context.Context // done when it leads no more
}

func (e *election) elect(asked context.Context, lost func(error)) (protocol.Hold, error) {
	select {
	case <-e.idle:
	default:
		go e.stand()
	}
	select {
	case c := <-e.leads:
		context.AfterFunc(c.led, func() { lost(errors.New("it stopped leading")) })
		return protocol.Hold{Release: c.release}, nil
	case <-asked.Done():
		e.idle <- struct{}{}
		return protocol.Hold{}, asked.Err()
	}
}

// stand runs a new candidate until it leads no more.
func (e *election) stand() {
	ctx, resign := context.WithCancel(context.Background())
	led, stopped := context.WithCancel(context.Background())
	c := &candidate{resign: resign, led: led}
	c.LeaderElector, _ = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: e.lease(), LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 400 * time.Millisecond,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				select {
				case e.leads <- c:
				case <-e.idle:
					resign()
				}
			},
			OnStoppedLeading: stopped,
		},
	}) // these settings are right
	c.Run(ctx)
}

func (c *candidate) release(ctx context.Context) error {
	held := c.led.Err() == nil
	c.resign()
	select {
	case <-c.led.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	if !held {
		return protocol.ErrNotHeld
	}
	return nil
}

// lease is Kubernetes' Lease kept in etcd.
type lease struct {
	client        *clientv3.Client
	key, identity string
	revision      int64
}

const timeout = time.Second // of a request: what resourcelock.NewFromKubeconfig gives it

func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	got, err := l.client.Get(ctx, l.key)
	if err != nil {
		return nil, nil, err
	}
	if len(got.Kvs) == 0 {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{}, l.key)
	}
	l.revision = got.Kvs[0].ModRevision
	var record resourcelock.LeaderElectionRecord
	return &record, got.Kvs[0].Value, json.Unmarshal(got.Kvs[0].Value, &record)
}

func (l *lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	l.revision = 0
	return l.Update(ctx, r)
}

func (l *lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	text, _ := json.Marshal(r) // of words and numbers
	done, err := l.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(l.key), "=", l.revision)).
		Then(clientv3.OpPut(l.key, string(text))).Commit()
	if err == nil && !done.Succeeded {
		err = apierrors.NewConflict(schema.GroupResource{}, l.key, errors.New("another client changed the lease"))
	} else if err == nil {
		l.revision = done.Header.Revision
	}
	return err
}

func (l *lease) RecordEvent(string) {}
func (l *lease) Identity() string   { return l.identity }
func (l *lease) Describe() string   { return l.key }
