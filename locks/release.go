package locks

import (
	"fmt"
	"sync"
)

// ReleaseOnce is what a [Lease] promises of Release: the first call releases, and all later
// ones return what it returned. The zero value is ready.
type ReleaseOnce struct {
	once   sync.Once
	result error
}

// Do calls release unless an earlier call has. Its error names the resource.
func (r *ReleaseOnce) Do(resource string, release func() error) error {
	r.once.Do(func() {
		if err := release(); err != nil {
			r.result = fmt.Errorf("release %q: %w", resource, err)
		}
	})
	return r.result
}
