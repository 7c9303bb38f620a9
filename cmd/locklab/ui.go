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
	"os"
	"sync"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/httpapi"
	"locklab/reports/live"
	"locklab/workloads/result"
)

// uiFlags say where the live page is served.
type uiFlags struct{ addr string }

const (
	uiOff    = "off"
	uiOnHere = "127.0.0.1:0" // a free port
)

func (f *uiFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.addr, "ui", "", "page that follows the run, or off")
}

// serve begins to serve the page of comparisons, if there is to be one, says where, and tells
// the comparisons to keep it up to date. What the earlier result has is not run again.
func (f *uiFlags) serve(ctx context.Context, title string, parts []lab.Config, earlier *result.File, stderr io.Writer) (livePage, error) {
	addr := f.addr
	if addr == "" {
		addr = uiOff
		if file, ok := stderr.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
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
	p, err := servePage(ctx, listener, lab.LiveInfo(title, parts), addr)
	if err != nil {
		return livePage{}, err
	}
	for i := range parts {
		parts[i].Live = p.Board
	}
	if earlier != nil {
		p.Kept(*earlier)
	}
	fmt.Fprintf(stderr, "locklab: live page at http://%s\n", toVisit(listener.Addr()))
	return p, nil
}

// listenOn listens on the address of a flag. One that is taken is well written, so that what is
// wanted is another port.
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

// toVisit is what to type into a browser of this machine for an address that is listened on.
func toVisit(addr net.Addr) string {
	at, err := netip.ParseAddrPort(addr.String())
	if err == nil && at.Addr().IsUnspecified() {
		return fmt.Sprintf("localhost:%d", at.Port())
	}
	return addr.String()
}

// livePage is the live page while it is served. The zero value is none.
type livePage struct {
	*live.Board
	end func() error
}

// servePage serves the board's page until it is closed, also by the name that was asked for.
func servePage(ctx context.Context, listener net.Listener, info live.Info, asked string) (livePage, error) {
	board := live.New(info)
	host, _, _ := net.SplitHostPort(listener.Addr().String()) // a listener's address has both
	name, _, _ := net.SplitHostPort(asked)                    // it was listened on
	handler, err := board.Handler(host, cmp.Or(name, host))
	if err != nil {
		return livePage{}, errors.Join(err, listener.Close())
	}
	ctx = context.WithoutCancel(ctx) // an interrupted comparison is shown to its end
	shown, endShow := context.WithCancel(ctx)
	served, endServe := context.WithCancel(ctx)
	var all sync.WaitGroup
	var serveErr error
	all.Go(func() {
		board.Show(shown)
		endServe() // once every viewer was told
	})
	all.Go(func() { serveErr = httpapi.Serve(served, listener, handler, nil, slog.New(slog.DiscardHandler)) })
	return livePage{board, func() error {
		endShow()
		all.Wait()
		return serveErr
	}}, nil
}

// close shows where the report is, and ends the page.
func (p livePage) close(report string) error {
	if p.Board == nil {
		return nil
	}
	p.Finish(report)
	return p.end()
}

// noting is a display whose notes the live page has, too.
type noting struct {
	progress.Display
	board *live.Board
}

// Note passes the line on to both.
func (d noting) Note(line string) {
	d.Display.Note(line)
	d.board.Note(line)
}
