package agent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"syscall"
)

// Servers get ports from here up to the top, without the ephemeral ones.
const lowestPort, highestPort = 10000, 65535

// ports gives out ports that no other server of this machine has. A port that was
// given out is held by a socket that is bound but does not listen: while nobody
// serves it dialers are refused, as by a dead server, and no other agent, in this
// process or in another, gets the port. Where the kernel lets a server listen beside
// such a socket (listenBesideHeld), it is held all the time; elsewhere it is let go
// just before the server starts.
type ports struct {
	bind      netip.Addr
	low, high int // the ephemeral range, or an empty one

	mu   sync.Mutex
	rand *rand.Rand
	held map[int]int // port to socket
}

func newPorts(bind netip.Addr, rand *rand.Rand) *ports {
	p := &ports{bind: bind, rand: rand, held: map[int]int{}}
	p.low, p.high = ephemeralPorts()
	if p.count() < fewestPorts {
		p.low, p.high = highestPort+1, highestPort
	}
	return p
}

// take finds a free port and holds it.
func (p *ports) take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// A random start keeps agents that look at the same time apart; the bound socket
	// settles the rest.
	start := p.rand.IntN(p.count())
	var last error
	for i := range p.count() {
		port := p.nth((start + i) % p.count())
		fd, err := bindPort(p.bind, port, false)
		if err == nil && listenBesideHeld {
			// Only now, so that it was exclusive when it was bound. The server sets the
			// same option, as all servers do that can be restarted.
			err = reuseAddr(fd)
		}
		if err == nil {
			p.held[port] = fd
			return port, nil
		}
		if last = err; !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EACCES) {
			break
		}
	}
	return 0, fmt.Errorf("reserve a port on %s: %w", p.bind, last)
}

// fewestPorts is what must be left outside the ephemeral range to stay outside it.
const fewestPorts = 1000

// count is how many ports a server may get.
func (p *ports) count() int {
	ephemeral := min(p.high, highestPort) - max(p.low, lowestPort) + 1
	return highestPort - lowestPort + 1 - max(ephemeral, 0)
}

// nth is one of them, from 0 on.
func (p *ports) nth(i int) int {
	if port := lowestPort + i; port < p.low {
		return port
	}
	return max(p.high+1, lowestPort) + i - max(p.low-lowestPort, 0)
}

// letGo frees a held port.
func (p *ports) letGo(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fd, ok := p.held[port]; ok {
		_ = closeSocket(fd) // frees it whatever it returns
		delete(p.held, port)
	}
}

// hold takes a port back after its server has ended. Connections of the old server
// may linger in the kernel, which is why the address is reused; if somebody else
// has the port, the next start will say so.
func (p *ports) hold(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.held[port]; ok {
		return
	}
	if fd, err := bindPort(p.bind, port, true); err == nil {
		p.held[port] = fd
	}
}

func (p *ports) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for port, fd := range p.held {
		_ = closeSocket(fd) // frees it whatever it returns
		delete(p.held, port)
	}
}
