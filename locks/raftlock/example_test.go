package raftlock_test

import (
	"context"
	"fmt"
	"time"

	"locklab/locks/raftlock"
)

// A client of a service of three servers. Without Output it is compiled only: it
// needs the servers.
func Example() {
	locker, err := raftlock.New(raftlock.Config{
		Servers: []raftlock.Server{
			{Name: "raft-1", Addr: "127.0.0.1:7001"},
			{Name: "raft-2", Addr: "127.0.0.1:7002"},
			{Name: "raft-3", Addr: "127.0.0.1:7003"},
		},
		Client: "billing",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = locker.Close() }()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	lease, err := locker.Acquire(ctx, "invoice-2026-04")
	if err != nil {
		fmt.Println(err)
		return
	}
	token, _ := lease.Token() // to be sent along with every write
	fmt.Println("holds with token", token)
	fmt.Println(lease.Release(ctx))
}
