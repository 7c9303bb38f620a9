package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/httpapi"
	"locklab/reports/live"
	"locklab/workloads/result"
)

const (
	uiOff    = "off"
	uiOnHere = "127.0.0.1:0" // a free port
)

// serveUI serves the page of comparisons at --ui, unless that is off, and has them keep it up to date.
func serveUI(
	ctx context.Context, addr, title string, parts []lab.Config, earlier *result.File, stderr io.Writer,
) (livePage, error) {
	if addr == "" {
		addr = uiOff
		if _, terminal := progress.Width(stderr); terminal {
			addr = uiOnHere
		}
	}
	if addr == uiOff {
		return livePage{}, nil
	}
	listener, err := listenOn(ctx, "--ui", addr, "want HOST:PORT of this machine, or off")
	if err != nil {
		return livePage{}, err
	}
	p := servePage(ctx, listener, lab.LiveInfo(title, parts, earlier), addr)
	for i := range parts {
		parts[i].Live = p.Board
	}
	fmt.Fprintf(stderr, "locklab: live page at http://%s\n", toVisit(listener.Addr()))
	return p, nil
}

// livePage is the live page while it is served. The zero value is none.
type livePage struct {
	*live.Board
	end func() error
}

// servePage serves the board's page until it is closed, also by the name that was asked for.
func servePage(ctx context.Context, listener net.Listener, info live.Info, asked string) livePage {
	board := live.New(info)
	host, _, _ := net.SplitHostPort(listener.Addr().String()) // a listener's address has both
	name, _, _ := net.SplitHostPort(asked)                    // it was listened on
	handler := board.Handler(host, cmp.Or(name, host))
	ctx = context.WithoutCancel(ctx) // an interrupted comparison is shown to its end
	shown, endShow := context.WithCancel(ctx)
	served, endServe := context.WithCancel(ctx)
	var all sync.WaitGroup
	var serveErr error
	all.Go(func() {
		board.Show(shown)
		endServe() // once every viewer was told
	})
	all.Go(func() { serveErr = httpapi.Serve(served, listener, handler, slog.New(slog.DiscardHandler)) })
	return livePage{board, func() error {
		endShow()
		all.Wait()
		return serveErr
	}}
}

// close shows where the report is, and ends the page.
func (p livePage) close(report string) error {
	if p.Board == nil {
		return nil
	}
	p.Finish(report)
	return p.end()
}

// listenToxiproxy is nil if no address is asked for.
func listenToxiproxy(ctx context.Context, addr string, stderr io.Writer) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	listener, err := listenOn(ctx, "--toxiproxy-api", addr, "want HOST:PORT of this machine")
	if err == nil {
		at := listener.Addr()
		fmt.Fprintf(stderr, "locklab: toxiproxy's API on %s: toxiproxy-cli --host http://%s list\n", at, at)
	}
	return listener, err
}

// onLoopback refuses an address that others can reach.
func onLoopback(flag, addr, why string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%s %q: want HOST:PORT, such as 127.0.0.1:8474: %w", flag, addr, err)
	}
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s %s: %s, and this is not the loopback: want 127.0.0.1:PORT", flag, addr, why)
}

// listenOn listens on the address of a flag. The error for an address that is taken asks for another port.
func listenOn(ctx context.Context, flag, addr, want string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		want = "something listens there already: want another port, or 0 for any that is free"
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %s: %w", flag, addr, want, err)
	}
	return listener, nil
}

// toVisit is the address to type into a browser of this machine for one that is listened on.
func toVisit(addr net.Addr) string {
	at, err := netip.ParseAddrPort(addr.String())
	if err == nil && at.Addr().IsUnspecified() {
		return fmt.Sprintf("localhost:%d", at.Port())
	}
	return addr.String()
}
