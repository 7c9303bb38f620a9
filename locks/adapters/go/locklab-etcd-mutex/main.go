// Command etcd-mutex is etcd's concurrency.Mutex, with a Session for each hold as its examples
// have it. With -session-done a holder watches Session.Done, as its documentation advises.
package main

import (
	"context"
	"errors"
	"flag"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"locklab/locks/adapters/go/protocol"
)

func main() {
	watch := flag.Bool("session-done", false, "tell the holder when its session is over")
	ttl := flag.Int64("ttl", 60, "the session's time to live in seconds")
	flag.Parse()
	hello := protocol.Line{"servers": []map[string]any{{"role": "etcd"}}, "tokens": true}
	protocol.Serve(hello, func(_ string, addrs []string) (protocol.Acquire, error) {
		client, err := clientv3.New(clientv3.Config{Endpoints: addrs, DialTimeout: 5 * time.Second})
		return func(ctx context.Context, resource string, lost func(error)) (protocol.Hold, error) {
			lease, err := client.Grant(ctx, *ttl) // NewSession alone would wait without end
			if err != nil {
				return protocol.Hold{}, err
			}
			session, err := concurrency.NewSession(client, concurrency.WithLease(lease.ID))
			if err != nil {
				return protocol.Hold{}, err
			}
			mutex := concurrency.NewMutex(session, "/locks/"+resource)
			if err := mutex.Lock(ctx); err != nil {
				_ = session.Close() // its lease ends by itself
				return protocol.Hold{}, err
			}
			if *watch {
				go func() {
					<-session.Done()
					lost(errors.New("the session is over"))
				}()
			}
			return protocol.Hold{Token: mutex.Header().Revision, Release: func(ctx context.Context) error {
				defer session.Close()
				return mutex.Unlock(ctx)
			}}, nil
		}, err
	})
}
