package redisnode

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"locklab/locks/clock"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

func standInCommand(n role.Node) (role.Command, error) {
	settings, err := ParseSettings(n.Settings)
	if err != nil {
		return role.Command{}, err
	}
	if settings.Persistence != PersistNone {
		return role.Command{}, fmt.Errorf("persistence %q: the embedded stand-in keeps nothing on disk: install redis-server: %w", settings.Persistence, ErrInvalid)
	}
	if settings.Replication != (Replication{}) {
		return role.Command{}, fmt.Errorf("replication: the embedded stand-in has none: install redis-server: %w", ErrInvalid)
	}
	return role.Command{}, nil // what is started is locklab itself, which the agent knows
}

// standIn is the stand-in as an agent's child process.
func standIn(ctx context.Context, node *process.Node) error {
	if _, err := ParseSettings(node.Settings); err != nil {
		return err
	}
	return RunStandIn(ctx, node.Addrs[Port], func(net.Addr) { node.Ready() })
}

// RunStandIn serves the stand-in at the address until ctx ends. ready, if it is not
// nil, is called with the address once it answers.
func RunStandIn(ctx context.Context, addr string, ready func(net.Addr)) error {
	m := miniredis.NewMiniRedis()
	if err := m.StartAddr(addr); err != nil {
		return fmt.Errorf("serve the redis stand-in: %w", err)
	}
	defer m.Close()
	newAging(m, clock.System()).install()
	if ready != nil {
		ready(m.Server().Addr())
	}
	<-ctx.Done()
	return nil
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

// resolution is how exact the life of a key is.
const resolution = time.Millisecond

func newAging(m *miniredis.Miniredis, c clock.Clock) *aging {
	return &aging{m: m, clock: c, until: c.Now(), peers: map[*server.Peer]struct{}{}}
}

func (a *aging) install() {
	a.m.Server().SetPreHook(func(p *server.Peer, _ string, _ ...string) bool {
		if a.isConnection(p) {
			a.catchUp()
		}
		return false
	})
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
	library := strings.TrimSpace("miniredis " + role.Library("github.com/alicebob/miniredis/v2"))
	return role.StandIn + " (" + library + "), no redis-server on PATH", nil
}
