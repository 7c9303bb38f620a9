package multiphase_test

import (
	"fmt"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/internal/posix"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/verify/peertest"
)

// BenchmarkReconnection is what two peers pay for a connection that was lost and is back, when
// nobody wants any of the names that they keep: one, or as many as they do at most. CPU time is
// of both peers, and of the links between them; the time of a round is that of dialing again.
func BenchmarkReconnection(b *testing.B) {
	for _, spec := range []string{"multiphase", "multiphase:quorum,store=memory"} {
		for _, names := range []int{1, 8192} { // of so many, each shard keeps its 256, which makes 4096
			b.Run(fmt.Sprintf("%s/names=%d", spec, min(names, 4096)), func(b *testing.B) {
				cfgs := peertest.Configs(b, 2, locktest.Options(b, multiphase.ParseOptions, spec))
				link := peertest.Cuttable(b, cfgs)[[2]int{0, 1}]
				all := peertest.StartAll(b, cfgs, multiphase.New)
				for i := range names {
					locktest.Release(b, locktest.Acquire(b, all[0], fmt.Sprintf("a-name-of-some-thirty-letters-%d", i)))
				}
				link.Record()
				began := cpu(b)
				b.ResetTimer()
				for range b.N {
					link.Cut(true)
					peertest.AwaitLink(b, all[0], "p1", false)
					link.Cut(false)
					peertest.AwaitLink(b, all[0], "p1", true)
					locktest.Release(b, locktest.Acquire(b, all[1], "z")) // behind what the connection began with
					locktest.Release(b, locktest.Acquire(b, all[0], "z"))
				}
				b.StopTimer()
				up, down := link.Said()
				b.ReportMetric(float64(len(up)+len(down))/float64(b.N), "bytes/op")
				b.ReportMetric(1e3*(cpu(b)-began).Seconds()/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// cpu is the time that this process had.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	used, err := posix.CPUTime()
	must.Do(tb, err)
	return used
}
