package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"

	"github.com/spf13/pflag"

	"locklab/cmd/locklab/internal/lab"
)

// toxiproxyFlags say where toxiproxy's own API is served over the links.
type toxiproxyFlags struct {
	addr     string
	anywhere bool
}

func (f *toxiproxyFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.addr, "toxiproxy-api", "", "toxiproxy's API, such as 127.0.0.1:8474")
	fl.BoolVar(&f.anywhere, "toxiproxy-api-anywhere", false, "also beyond the loopback: it has no token")
}

// check says which flag is wrong.
func (f *toxiproxyFlags) check() error {
	if f.addr == "" {
		if f.anywhere {
			return fmt.Errorf("--toxiproxy-api-anywhere: want --toxiproxy-api ADDR, too")
		}
		return nil
	}
	host, _, err := net.SplitHostPort(f.addr)
	if err != nil {
		return fmt.Errorf("--toxiproxy-api %q: want host:port, such as 127.0.0.1:8474: %w", f.addr, err)
	}
	ip, err := netip.ParseAddr(host)
	if host != "localhost" && (err != nil || !ip.IsLoopback()) && !f.anywhere {
		return fmt.Errorf("--toxiproxy-api %s: it has no token, and this is not the loopback: want 127.0.0.1:PORT, or --toxiproxy-api-anywhere, too", f.addr)
	}
	return nil
}

// listen is nil if nothing is asked for.
func (f *toxiproxyFlags) listen(stderr io.Writer) (*lab.Toxiproxy, error) {
	if err := f.check(); err != nil || f.addr == "" {
		return nil, err
	}
	listener, err := listenOn(context.Background(), "--toxiproxy-api", f.addr, "want host:port of this machine")
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(stderr, "locklab: toxiproxy's API on %s: toxiproxy-cli --host http://%s list\n", listener.Addr(), listener.Addr())
	return &lab.Toxiproxy{Listener: listener, AnyName: f.anywhere}, nil
}
