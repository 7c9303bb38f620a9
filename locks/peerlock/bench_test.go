package peerlock_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"locklab/locks/lamport"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peertest"
	"locklab/locks/ricartagrawala"
	"locklab/locks/twophase"
)

// BenchmarkFree takes and releases a resource that nobody else wants, three peers.
func BenchmarkFree(b *testing.B) {
	b.Run("multiphase", func(b *testing.B) { free(b, multiphase.DefaultOptions(), multiphase.New) })
	b.Run("lamport", func(b *testing.B) { free(b, lamport.Options{}, lamport.New) })
	b.Run("ricart-agrawala", func(b *testing.B) { free(b, ricartagrawala.Options{}, ricartagrawala.New) })
	b.Run("2pc", func(b *testing.B) { free(b, twophase.Options{}, twophase.New) })
}

func free[O any, L peertest.Peer](b *testing.B, options O, start func(peerlock.Config[O]) (L, error)) {
	all := peertest.StartAll(b, peertest.Configs(b, 3, options), start)
	ctx := context.Background()
	for b.Loop() {
		lease, err := all[0].Acquire(ctx, "r")
		if err != nil {
			b.Fatal(err)
		}
		_ = lease.Release(ctx)
	}
}

// BenchmarkContended has a few workers at each of three peers take one resource, and
// reports what an acquisition costs then and how even the peers were served.
func BenchmarkContended(b *testing.B) {
	b.Run("multiphase", func(b *testing.B) { contended(b, multiphase.DefaultOptions(), multiphase.New, "hot") })
	b.Run("lamport", func(b *testing.B) { contended(b, lamport.Options{}, lamport.New, "hot") })
	b.Run("ricart-agrawala", func(b *testing.B) { contended(b, ricartagrawala.Options{}, ricartagrawala.New, "hot") })
	b.Run("2pc", func(b *testing.B) { contended(b, twophase.Options{}, twophase.New, "hot") })
	b.Run("2pc greedy", func(b *testing.B) { contended(b, twophase.Options{Greedy: true}, twophase.New, "hot") })
}

// BenchmarkManyNames has 64 workers, each with a resource of its own.
func BenchmarkManyNames(b *testing.B) {
	b.Run("multiphase", func(b *testing.B) { contended(b, multiphase.DefaultOptions(), multiphase.New, "") })
	b.Run("lamport", func(b *testing.B) { contended(b, lamport.Options{}, lamport.New, "") })
	b.Run("ricart-agrawala", func(b *testing.B) { contended(b, ricartagrawala.Options{}, ricartagrawala.New, "") })
	b.Run("2pc", func(b *testing.B) { contended(b, twophase.Options{}, twophase.New, "") })
}

func contended[O any, L peertest.Peer](b *testing.B, options O, start func(peerlock.Config[O]) (L, error), name string) {
	all := peertest.StartAll(b, peertest.Configs(b, 3, options), start)
	ctx := context.Background()
	workers := 3
	if name == "" {
		const many = 32
		workers = many
	}
	b.SetParallelism(workers) // for each of GOMAXPROCS
	var next atomic.Int64
	served := make([]atomic.Int64, len(all))
	b.RunParallel(func(pb *testing.PB) {
		n := int(next.Add(1))
		resource := name
		if name == "" {
			resource = fmt.Sprint(n)
		}
		l := all[n%len(all)]
		for pb.Next() {
			lease, err := l.Acquire(ctx, resource)
			if err != nil {
				b.Error(err)
				return
			}
			served[n%len(all)].Add(1)
			_ = lease.Release(ctx)
		}
	})
	least, most := served[0].Load(), served[0].Load()
	for i := range served {
		least, most = min(least, served[i].Load()), max(most, served[i].Load())
	}
	var sent uint64
	for _, l := range all {
		sent += l.MessagesSent()
	}
	b.ReportMetric(float64(sent)/float64(b.N), "msgs/op")
	b.ReportMetric(float64(least)/float64(most), "least/most")
}
