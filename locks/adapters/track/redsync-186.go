//go:build ignore

// redsync: a lock that a bare majority of the servers granted is lost when one of them restarts.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func main() {
	var servers []*redis.Client
	var pools []redsyncredis.Pool
	for _, addr := range os.Args[1:] {
		servers = append(servers, redis.NewClient(&redis.Options{Addr: addr}))
		pools = append(pools, goredis.NewPool(servers[len(servers)-1]))
	}
	locks, ctx := redsync.New(pools...), context.Background()
	for _, server := range servers[len(servers)/2+1:] {
		server.Set(ctx, "track", "another client that asked at the same time", 0)
	}
	first, second := locks.NewMutex("track"), locks.NewMutex("track")
	check(first.Lock()) // by the others, which are a majority
	for _, server := range servers[len(servers)/2:] {
		server.FlushAll(ctx) // one of them restarts without a file; the other client gives up
	}
	check(second.Lock())
	fmt.Println("two hold the lock, the first one until", first.Until())
}

func check(err error) {
	if err != nil {
		log.Fatal("not shown: ", err)
	}
}
