package link

import (
	"log/slog"

	"locklab/internal/seed"
)

// Config of a [Host].
type Config struct {
	Host string    // the host's name in the topology
	Seed seed.Seed // of all jitter
	Log  *slog.Logger

	// EchoListen is host:port of the echo service; other hosts' links dial it.
	EchoListen string
	// EchoAdvertise is the address under which other hosts reach the echo service;
	// empty means the address that it listens on.
	EchoAdvertise string
	// Gates are shared with the other hosts of this process; nil means gates of the host's own.
	Gates *Gates
}

// DefaultConfig is a host on the loopback. Set Host and Seed.
func DefaultConfig() Config {
	return Config{
		Log:        slog.New(slog.DiscardHandler),
		EchoListen: "127.0.0.1:0",
	}
}
