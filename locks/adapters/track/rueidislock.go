//go:build ignore

// rueidislock: a holder that is cut off waits for the answer to an extension for a whole KeyValidity. What it holds
// ends an ExtendInterval earlier.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// link loses what is sent once it is cut.
type link struct {
	net.Conn
	cut *atomic.Bool
}

func (l link) Write(b []byte) (int, error) {
	if l.cut.Load() {
		return len(b), nil
	}
	return l.Conn.Write(b)
}

func main() {
	var cut, never atomic.Bool
	first, second := locker(&cut), locker(&never)
	held, _, err := first.WithContext(context.Background(), "track")
	check(err)
	cut.Store(true)
	_, _, err = second.WithContext(context.Background(), "track")
	check(err)
	if held.Err() != nil {
		log.Fatal("not shown: the first holder was told")
	}
	granted := time.Now()
	<-held.Done()
	fmt.Println("two hold the lock; the first one is told after", time.Since(granted))
}

func locker(cut *atomic.Bool) rueidislock.Locker {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{KeyValidity: 3 * time.Second, KeyMajority: 1, ClientOption: rueidis.ClientOption{
		InitAddress: os.Args[1:2],
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			c, err := d.DialContext(ctx, "tcp", addr)
			return link{c, cut}, err
		},
	}})
	check(err)
	return l
}

func check(err error) {
	if err != nil {
		log.Fatal("not shown: ", err)
	}
}
