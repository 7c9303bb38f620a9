package raftlock

import (
	"math/rand/v2"
	"slices"
	"time"

	"locklab/internal/seed"
)

// dialer chooses which server to talk to next. One goroutine uses it.
type dialer struct {
	servers []Server
	rand    *rand.Rand
	at      int // which server is tried next
	tries   int // since the last success
}

func newDialer(servers []Server, s seed.Seed) *dialer {
	d := &dialer{servers: servers, rand: s.Rand()}
	d.at = d.rand.IntN(len(servers))
	return d
}

func (d *dialer) succeeded() { d.tries = 0 }

// failed chooses the next server, the one that was hinted at if it is known, and
// says how long to wait before it is tried.
func (d *dialer) failed(hint string) time.Duration {
	d.tries++
	if next := slices.IndexFunc(d.servers, func(s Server) bool { return s.Name == hint }); next >= 0 {
		d.at = next
		if d.tries <= len(d.servers) {
			return 0 // a hint is worth following at once, unless they go in circles
		}
	} else {
		d.at = (d.at + 1) % len(d.servers)
	}
	if d.tries < len(d.servers) {
		return 0
	}
	return 15*time.Millisecond + time.Duration(d.rand.Int64N(int64(30*time.Millisecond)))
}
