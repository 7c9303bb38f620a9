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

// standIn is the stand-in as an agent's child process.
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

// aging makes keys grow old. miniredis has no clock of its own: keys live until it
// is told how much time has passed. It is told before every command, not by a
// ticker, for after a pause of the process the first command would come before the
// tick, and the tick would take the whole pause from the life of the new key.
type aging struct {
	m     *miniredis.Miniredis
	clock clock.Clock

	timeMu sync.Mutex
	until  time.Time // what miniredis was told

	// A mutex of its own: a script asks for it while it holds miniredis's lock, which
	// catchUp waits for under timeMu.
	peersMu sync.Mutex
	peers   map[*server.Peer]struct{} // connections, as opposed to the inside of scripts
}

// isConnection tells a connection from a call out of a script, which runs under
// miniredis's lock: catching up there would lock it twice. A script's peer has a
// context from the start, a connection gets one with its first command.
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

// resolution is how exact the life of a key is.
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

// standInVersion says in every report that this is not Redis.
func standInVersion(context.Context) (string, error) {
	return role.StandIn + " (miniredis), no redis-server on PATH", nil
}
