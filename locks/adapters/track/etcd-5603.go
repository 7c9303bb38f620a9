//go:build ignore

// etcd's Session: until a first renewal is answered its client waits 5 s, also where the lease is of 3 s.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc"
)

func main() {
	cut := grpc.WithStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string,
		next grpc.Streamer, o ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		s, err := next(ctx, d, c, method, o...)
		if err == nil && strings.HasSuffix(method, "LeaseKeepAlive") {
			s = unsent{s}
		}
		return s, err
	})
	first, second := session(cut), session()
	check(concurrency.NewMutex(first, "/track").Lock(context.Background()))
	check(concurrency.NewMutex(second, "/track").Lock(context.Background()))
	select {
	case <-first.Done():
		log.Fatal("not shown: the first holder was told")
	default:
	}
	granted := time.Now()
	<-first.Done()
	fmt.Println("two hold the lock; the first one is told after", time.Since(granted))
}

func session(o ...grpc.DialOption) *concurrency.Session {
	client, err := clientv3.New(clientv3.Config{Endpoints: os.Args[1:], DialOptions: o})
	check(err)
	s, err := concurrency.NewSession(client, concurrency.WithTTL(3))
	check(err)
	return s
}

// unsent loses what is sent, as a network that broke just before the first renewal.
type unsent struct{ grpc.ClientStream }

func (unsent) SendMsg(any) error { return nil }

func check(err error) {
	if err != nil {
		log.Fatal("not shown: ", err)
	}
}
