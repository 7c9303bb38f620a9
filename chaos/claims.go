package chaos

import (
	"errors"
	"fmt"
	"sync"
)

// claims say which fault has the clock, the disk or the process of a node in its hands, or by hand the
// traffic between hosts. There is one of each: a second fault that sets it would undo the first, and its
// end the other's. The zero value is ready.
type claims struct {
	mu sync.Mutex
	by map[string]string // what it is of, the fault's name in the ledger
}

var errClaimed = errors.New("want one fault of it at a time")

// take gives a fault all of these things, or none.
func (c *claims) take(things []string, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, thing := range things {
		if other, taken := c.by[thing]; taken && other != id {
			return fmt.Errorf("%s is broken already, by %s: %w", thing, other, errClaimed)
		}
	}
	for _, thing := range things {
		if c.by == nil {
			c.by = map[string]string{}
		}
		c.by[thing] = id
	}
	return nil
}

// drop gives back what a fault has.
func (c *claims) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for thing, by := range c.by {
		if by == id {
			delete(c.by, thing)
		}
	}
}
