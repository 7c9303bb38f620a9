package multiphase_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"locklab/locks/multiphase"
)

// Two peers in one process. In earnest each would be in its own, with fixed
// addresses.
func Example() {
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		return l
	}
	onA, onB := listen(), listen()
	a, err := multiphase.New(multiphase.Config{
		ID: "master-a", Rank: 0, Cluster: "example", Listener: onA,
		Peers: []multiphase.Peer{{ID: "master-b", Rank: 1, Addr: onB.Addr().String()}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	b, err := multiphase.New(multiphase.Config{
		ID: "master-b", Rank: 1, Cluster: "example", Listener: onB,
		Peers: []multiphase.Peer{{ID: "master-a", Rank: 0, Addr: onA.Addr().String()}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = b.Close() }()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := a.Ready(ctx); err != nil {
		log.Fatal(err)
	}
	if err := b.Ready(ctx); err != nil {
		log.Fatal(err)
	}
	lease, err := a.Acquire(ctx, "room/7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a holds")
	done := make(chan struct{})
	go func() {
		defer close(done)
		lease, err := b.Acquire(ctx, "room/7")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("b holds")
		if err := lease.Release(ctx); err != nil {
			log.Fatal(err)
		}
	}()
	fmt.Println("a releases")
	if err := lease.Release(ctx); err != nil {
		log.Fatal(err)
	}
	<-done
	// Output:
	// a holds
	// a releases
	// b holds
}
