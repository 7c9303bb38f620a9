package agent

import (
	"net/netip"

	"locklab/internal/posix"
)

// ephemeralPorts is the range from which Windows takes ports for outgoing connections.
func ephemeralPorts() (low, high int) { return 49152, 65535 }

const listenBesideHeld = false

// bindPort fails: no agent runs here.
func bindPort(netip.Addr, int, bool) (int, error) { return -1, posix.Missing() }

func reuseAddr(int) error { return posix.Missing() }

func closeSocket(int) error { return posix.Missing() }
