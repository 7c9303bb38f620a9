package toxic

import (
	"math"
	"time"
)

// Random is an effect that delays a share of the chunks, each by a draw of its own.
type Random interface {
	Effect
	// Late is by how much at least that share of the chunks is late.
	Late() (by time.Duration, share float64)
}

var (
	_ Random = (*Flaky)(nil)
	_ Random = (*Latency)(nil)
)

// Late is the loss.
func (t *Flaky) Late() (by time.Duration, share float64) { return t.Stall, t.Loss }

// Late is half of the jitter for half of the chunks.
func (t *Latency) Late() (by time.Duration, share float64) {
	if t.Jitter == 0 {
		return t.Delay, 1
	}
	return t.Delay + t.Jitter/2, 0.5
}

// AtMost is how probable k or fewer successes are in n trials, each of which succeeds with
// the probability p.
func AtMost(k, n int, p float64) (sum float64) {
	if k >= n {
		return 1
	}
	if p >= 1 {
		return 0
	}
	choose := func(n, k int) float64 {
		a, _ := math.Lgamma(float64(n) + 1)
		b, _ := math.Lgamma(float64(k) + 1)
		c, _ := math.Lgamma(float64(n-k) + 1)
		return a - b - c
	}
	for i := range k + 1 {
		sum += math.Exp(choose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}
