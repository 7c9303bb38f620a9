package peertest

import (
	"testing"

	"locklab/locks/locktest"
)

// AwaitLink waits until l is connected to the peer with the id, or is not.
func AwaitLink(tb testing.TB, l Peer, id string, up bool) {
	tb.Helper()
	what := "connected to " + id
	if !up {
		what = "not " + what
	}
	locktest.Eventually(tb, what, func() bool {
		for _, p := range l.Peers() {
			if p.Peer.ID == id {
				return p.Up == up
			}
		}
		return false
	})
}

// Links is to how many others l is connected.
func Links(l Peer) (n int) {
	for _, p := range l.Peers() {
		if p.Up {
			n++
		}
	}
	return n
}
