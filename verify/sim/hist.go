package sim

import (
	"math"
	"math/bits"
	"time"
)

const (
	histSub  = 256 // buckets for every power of two: values are right within 1/256
	histBits = 8
	histSize = (48 - histBits) * histSub // up to about three days in nanoseconds
)

// Hist is a histogram of times. The zero value is empty.
type Hist struct {
	N       uint64
	Sum     time.Duration
	Max     time.Duration
	buckets []uint32 // nil while empty
}

func bucketOf(v int64) int {
	if v < histSub {
		return int(v)
	}
	e := bits.Len64(uint64(v)) - histBits - 1
	return min(e*histSub+int(v>>e), histSize-1)
}

// lowOf is the least value of a bucket.
func lowOf(b int) int64 {
	if b < histSub {
		return int64(b)
	}
	e := b/histSub - 1
	return int64(b-e*histSub) << e
}

// Add counts one value.
func (h *Hist) Add(v time.Duration) {
	if h.buckets == nil {
		h.buckets = make([]uint32, histSize)
	}
	v = max(v, 0)
	h.N++
	h.Sum += v
	h.Max = max(h.Max, v)
	h.buckets[bucketOf(int64(v))]++
}

// Merge adds all values of o.
func (h *Hist) Merge(o *Hist) {
	if o.N == 0 {
		return
	}
	if h.buckets == nil {
		h.buckets = make([]uint32, histSize)
	}
	h.N += o.N
	h.Sum += o.Sum
	h.Max = max(h.Max, o.Max)
	for i, n := range o.buckets {
		h.buckets[i] += n
	}
}

// Mean is 0 if there is no value.
func (h *Hist) Mean() time.Duration {
	if h.N == 0 {
		return 0
	}
	return h.Sum / time.Duration(h.N)
}

// Quantile is the least value that a share q of all does not exceed, or at most a 256th more; 0
// if there is none.
func (h *Hist) Quantile(q float64) time.Duration {
	rank := max(uint64(math.Ceil(q*float64(h.N))), 1)
	seen := uint64(0)
	for b, n := range h.buckets {
		seen += uint64(n)
		if n > 0 && seen >= rank {
			return min(time.Duration(lowOf(b+1)-1), h.Max)
		}
	}
	return h.Max
}
