package locktest

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"locklab/internal/seed"
	"locklab/locks/clock"
)

// FreeAddr is an address of the loopback that nobody listens on, for a server that must be
// told one. It is none of those that the kernel gives out by itself: to connections that
// begin, and to who listens on port 0. One of these could be taken before the server has it.
// A process gets no address twice, so servers that start together do not meet.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	const lowest, ports = 2_000, 8_000 // agents give out those from 10,000, the kernel those from 32,768
	random := seed.Seed(uint64(clock.Mono())).Child(tb.Name()).Rand()
	for {
		addr := fmt.Sprintf("127.0.0.1:%d", lowest+random.IntN(ports))
		listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", addr)
		if err != nil {
			if tb.Context().Err() != nil {
				tb.Fatal(err)
			}
			continue // somebody has it
		}
		_ = listener.Close() // nothing was accepted
		if _, before := given.LoadOrStore(addr, nil); !before {
			return addr
		}
	}
}

// given are the addresses that this process was given. A test's servers may have them until
// its end, whoever listens at the moment.
var given sync.Map //nolint:gochecknoglobals // what it guards is the process's too
