package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/progress"
)

// playFlags has the flags of run that say what a lab is made of.
type playFlags struct {
	runFlags
	limit    time.Duration
	anywhere bool
}

// ofPlay are the flags that play shares with run.
func ofPlay() []string {
	return strings.Fields("locks topology rate groups seats patience seed out lang token-file agents wait lock-cmd")
}

func newPlay() *cobra.Command {
	var f playFlags
	cmd := &cobra.Command{
		Use:   "play",
		Short: "Break a running lab by hand in the browser, and get a report",
		Long: `play starts a lab that runs on until Ctrl-C, and serves a page with buttons:
slow or cut links, kill or pause nodes or whoever holds the lock, heal, change
the load, switch the lock. A tour on the page shows in five minutes what the
README says.

What is done by hand is proven by probes as a scenario's faults are, and is in
the report that is written at the end. Nothing was expected, so nothing is
judged. A fault that finds nobody, such as one on a holder where nobody holds,
cannot be proven, and makes the row of that lock inconclusive.

Exit codes: 0 there is a report; 1 cannot run; 130 interrupted before a run
began to be measured, or 143 by SIGTERM.`,
		Example: `  locklab play                                      open the address it prints
  locklab play --locks redlock,raft --rate 500
  locklab play --topology seoul-3az --ui 127.0.0.1:7788
  locklab play --locks redis --lock-cmd 'mine=python3 my_lock.py --ttl 2'
  locklab play --limit 10m --out reports/runs/demo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.play(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	all := pflag.NewFlagSet("play", pflag.ContinueOnError)
	f.register(all)
	f.set = cmd.Flags()
	for _, name := range ofPlay() {
		f.set.AddFlag(all.Lookup(name))
	}
	f.set.StringVar(&f.ui, "ui", uiOnHere,
		"ADDR: where the page with the buttons is served, such as 127.0.0.1:7788; port 0 is a free one")
	f.set.BoolVar(&f.anywhere, "ui-anywhere", false, "let --ui listen on an address that is not of the loopback: whoever "+
		"opens the page there can break the lab")
	f.set.DurationVar(&f.limit, "limit", time.Hour, "the session ends by itself after that, as by Ctrl-C")
	return cmd
}

func (f *playFlags) play(ctx context.Context, stdout, stderr io.Writer) (failed error) {
	say, err := language(f.lang)
	if err != nil {
		return err
	}
	var session *lab.Play
	c := f.Config
	err = inOrder(
		func() error { return catalog.Within("--limit", f.limit, 10*time.Second, 24*time.Hour) },
		func() error { return f.setUp(ctx, &c, stderr) },
		func() (err error) { c.Token, err = awaitToken(ctx, f.tokenFile, c.Wait); return err },
		func() error {
			if !strings.Contains(f.ui, ":") {
				return fmt.Errorf("--ui %q: want HOST:PORT of this machine: without the page there is nothing to play with", f.ui)
			}
			if f.anywhere {
				return nil
			}
			return onLoopback("--ui", f.ui, "whoever opens the page can break the lab, which wants --ui-anywhere, too")
		},
		func() (err error) { session, err = lab.NewPlay(c); return err },
	)
	if err != nil {
		return err
	}
	listener, err := listenOn(ctx, "--ui", f.ui, "want HOST:PORT of this machine")
	if err != nil {
		return err
	}
	dir, created, err := f.makeOut()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	info := lab.LiveInfo("locklab play", []lab.Config{c}, nil)
	info.Control = session
	page := servePage(ctx, listener, info, f.ui)
	defer func() { failed = errors.Join(failed, page.close(dir)) }()
	fmt.Fprintln(stderr, folded(stderr, fmt.Sprintf(
		"locklab: open http://%s in a browser; seed %d; report in %s; Ctrl-C ends", toVisit(listener.Addr()), c.Seed, dir)))

	display := progress.New(stderr, 0, nil, page.Note)
	limited, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	defer context.AfterFunc(limited, func() {
		note := "ended: healing and stopping everything, and writing the report"
		if ctx.Err() != nil {
			note += "; Ctrl-C again ends at once"
		}
		display.Note(note)
	})()
	file, runErr := session.Run(limited, dir, page.Board, display)
	if len(file.Rows) == 0 {
		return errors.Join(runErr, limited.Err(), discard(dir, created))
	}
	code := exitOK // nothing was expected
	if runErr != nil {
		fmt.Fprintf(stderr, "locklab: the session could not go on: %v\n", runErr)
		code = exitCannotRun
	}
	return cmp.Or(show{say: say, stdout: stdout}.publish(ctx, file, dir, code), exitWith(code))
}
