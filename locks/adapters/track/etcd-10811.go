//go:build ignore

// etcd's concurrency.Mutex: Lock and Unlock say nothing of a session that has ended meanwhile.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: os.Args[1:]})
	check(err)
	first, err := concurrency.NewSession(client)
	check(err)
	second, err := concurrency.NewSession(client)
	check(err)
	defer second.Close()
	held := concurrency.NewMutex(first, "/track")
	check(held.Lock(context.Background()))
	_, err = client.Revoke(context.Background(), first.Lease()) // as when its host was cut off for long
	check(err)
	check(concurrency.NewMutex(second, "/track").Lock(context.Background()))
	fmt.Println("two hold the lock; the first one's Unlock:", held.Unlock(context.Background()))
}

func check(err error) {
	if err != nil {
		log.Fatal("not shown: ", err)
	}
}
