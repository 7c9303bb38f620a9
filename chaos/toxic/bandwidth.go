package toxic

import (
	"errors"
	"time"
)

// Bandwidth lets BytesPerS bytes pass in a second; what comes faster queues up.
type Bandwidth struct {
	lined
	BytesPerS int64 `json:"bytes_per_s"`
}

var _ Effect = (*Bandwidth)(nil)

// Kind is bandwidth.
func (*Bandwidth) Kind() string { return "bandwidth" }

// Validate wants a rate.
func (t *Bandwidth) Validate() error {
	if t.BytesPerS < 1 {
		return errors.New("bytes_per_s: want more than 0")
	}
	return nil
}

// Least is what the wire takes for them.
func (t *Bandwidth) Least(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / float64(t.BytesPerS) * float64(time.Second))
}

// NewState makes the queue of one direction of one connection.
func (t *Bandwidth) NewState() any {
	var free int64 // when the wire has sent all before
	return newLine(func(arrived int64, size int) int64 {
		free = max(free, arrived) + int64(size)*int64(time.Second)/max(t.BytesPerS, 1)
		return free
	})
}
