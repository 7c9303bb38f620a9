package redisnode

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"locklab/locks/clock"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

// standIn runs the stand-in.
func standIn(ctx context.Context, node *process.Node) error {
	settings := Settings{Persistence: PersistNone}
	if err := node.Decode(&settings); err != nil {
		return err
	}
	if settings != (Settings{Persistence: PersistNone}) {
		return fmt.Errorf("persistence %q, replication %+v: the embedded stand-in has neither: install redis-server",
			settings.Persistence, settings.Replication)
	}
	m, err := startStandIn(node.Addrs[Port], clock.System())
	if err != nil {
		return err
	}
	defer m.Close()
	node.Ready()
	<-ctx.Done()
	return nil
}

func startStandIn(addr string, c clock.Clock) (*miniredis.Miniredis, error) {
	m := miniredis.NewMiniRedis()
	if err := m.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("serve the redis stand-in: %w", err)
	}
	a := &aging{m: m, clock: c, until: c.Now(), peers: map[*server.Peer]struct{}{}}
	m.Server().SetPreHook(func(p *server.Peer, _ string, _ ...string) bool {
		if a.isConnection(p) {
			a.catchUp()
		}
		return false
	})
	return m, nil
}

// aging advances the time of miniredis, which has no clock of its own, before every command.
// With a ticker, the first command after a pause of the process could come before the tick,
// and the tick would then shorten the life of a new key by the whole pause.
type aging struct {
	m     *miniredis.Miniredis
	clock clock.Clock

	timeMu sync.Mutex
	until  time.Time // the present time of miniredis

	// A second mutex, because a script locks it while it holds miniredis's lock, for which
	// catchUp waits under timeMu.
	peersMu sync.Mutex
	peers   map[*server.Peer]struct{} // connections, not scripts
}

// isConnection distinguishes a connection from a script. Scripts run under miniredis's
// lock, so catchUp would lock it twice. The peer of a script has a context from the start;
// a connection gets one with its first command.
func (a *aging) isConnection(p *server.Peer) bool {
	a.peersMu.Lock()
	defer a.peersMu.Unlock()
	if _, known := a.peers[p]; known {
		return true
	}
	if p.Ctx != nil {
		return false
	}
	a.peers[p] = struct{}{}
	p.OnDisconnect(func() {
		a.peersMu.Lock()
		defer a.peersMu.Unlock()
		delete(a.peers, p)
	})
	return true
}

// resolution is the precision of a key's expiry.
const resolution = time.Millisecond

func (a *aging) catchUp() {
	a.timeMu.Lock()
	defer a.timeMu.Unlock()
	now := a.clock.Now()
	if passed := now.Sub(a.until); passed >= resolution {
		a.until = now
		a.m.FastForward(passed)
	}
}

// standInVersion shows in every report that this is not Redis.
func standInVersion(context.Context) (string, error) {
	return role.StandIn + " (miniredis), no redis-server on PATH", nil
}
