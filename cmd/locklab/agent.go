package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/cluster"
	"locklab/nodes/agent"
	"locklab/nodes/diskfault"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

type agentFlags struct {
	cluster.HostConfig
	tokenFile, scrapeFile string
	makeToken, health     bool
	lockCmds              []string
}

func newAgent() *cobra.Command {
	f := agentFlags{HostConfig: cluster.HostConfig{Config: agent.DefaultConfig()}}
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Supervise the nodes of one host and carry its links",
		Long: `agent starts, kills, pauses and restarts the nodes of one host for a controller
(locklab run with a topology whose hosts name their agents), and carries the
host's outbound links. It listens on the loopback unless told otherwise, and
does not start without a token (--token-file, or the environment's
LOCKLAB_TOKEN), which every request must bear. With --scrape-token-file there
is a second one for Prometheus: it reads /metrics and does nothing else.`,
		Example: `  locklab agent --host master-a --zone a --token-file token --make-token
  LOCKLAB_TOKEN=... locklab agent --host redis-1 --zone a --listen 10.0.1.5:7500
  locklab agent --health --listen 10.0.1.5:7500 --token-file /etc/locklab/token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.health {
				return f.askHealth(cmd.Context(), cmd.OutOrStdout())
			}
			return f.run(cmd.Context(), cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.Host, "host", "", "name of this host in the topology (required)")
	fl.StringVar(&f.Zone, "zone", "", "short name of its zone")
	fl.StringVar(&f.Listen, "listen", "127.0.0.1:7500", "address of the control API")
	fl.StringVar(&f.Advertise, "advertise", "",
		"IP address or name at which other hosts reach this one's nodes (default: --bind, or 127.0.0.1)")
	fl.StringVar(&f.Bind, "bind", "",
		"IP address that nodes listen on, or a name that stands for it on this host (default: --advertise)")
	fl.StringVar(&f.Echo, "echo", "", "host:port of the echo service that proves faults (default: any port of --bind)")
	fl.StringVar(&f.DataDir, "data", "",
		"directory for the nodes' data (default: a temporary one, removed at the end)")
	fl.StringVar(&f.tokenFile, "token-file", "",
		"file with the bearer token (default: the environment's LOCKLAB_TOKEN)")
	fl.StringVar(&f.scrapeFile, "scrape-token-file", "",
		"file with a second token, which reads /metrics and nothing else (default: none)")
	fl.BoolVar(&f.makeToken, "make-token", false,
		"write random tokens to --token-file and --scrape-token-file if they are not there")
	fl.BoolVar(&f.health, "health", false, "ask the agent that listens on --listen how it is, and end: 0 well, 1 not")
	fl.DurationVar(&f.IdleReset, "idle-reset", time.Minute,
		"stop all nodes when no controller was heard for so long; 0 never")
	fl.StringArrayVar(&f.lockCmds, "lock-cmd", nil, lockCmdUsage)
	fl.Uint64Var(&f.Seed, "seed", 1, "seed of the links' jitter")
	return cmd
}

func (f *agentFlags) run(ctx context.Context, stderr io.Writer) (returned error) {
	defer func() {
		if returned != nil {
			returned = fmt.Errorf("agent: %w", returned)
		}
	}()
	if f.Host == "" {
		return errors.New("--host is missing: want the host's name in the topology")
	}
	err := inOrder(f.readTokens, func() error { return f.placeNodes(ctx) }, func() (err error) {
		f.Programs, err = catalog.ParsePrograms(f.lockCmds)
		return err
	})
	if err != nil {
		return err
	}
	if f.DataDir == "" {
		own, err := os.MkdirTemp("", "locklab-*")
		if err != nil {
			return err
		}
		defer func() { returned = errors.Join(returned, os.RemoveAll(own)) }()
		f.DataDir = own
	}
	if f.DataDir, err = filepath.Abs(f.DataDir); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	f.Measure, f.Log = cluster.MeasureEach, slog.New(slog.NewTextHandler(stderr, nil))
	host, err := cluster.StartHost(f.HostConfig)
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "listen" {
		return fmt.Errorf("--listen %s: %w", f.Listen, err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "locklab agent %s: listening on %s\n", f.Host, strings.TrimPrefix(host.URL(), "http://"))
	<-ctx.Done()
	return host.Close()
}

// readTokens reads both tokens; with --make-token it makes missing ones before.
func (f *agentFlags) readTokens() (err error) {
	if f.makeToken {
		if f.tokenFile == "" {
			return errors.New("--make-token: --token-file is missing: want the file to make")
		}
		err = makeToken(f.tokenFile)
		if f.scrapeFile != "" {
			err = errors.Join(err, makeToken(f.scrapeFile))
		}
	}
	if err == nil {
		f.Token, err = readToken("--token-file", f.tokenFile)
	}
	if err == nil && f.scrapeFile != "" {
		f.ScrapeToken, err = readToken("--scrape-token-file", f.scrapeFile)
	}
	if err == nil && f.Token == "" {
		err = errors.New("the token is missing, and others could control this agent: want one in --token-file " +
			"(--make-token makes it), or in LOCKLAB_TOKEN")
	}
	return err
}

// placeNodes completes --bind and --advertise. It resolves a name once, so that no connection waits for it.
func (f *agentFlags) placeNodes(ctx context.Context) error {
	if f.Bind == "" {
		f.Advertise = cmp.Or(f.Advertise, "127.0.0.1")
		return nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", f.Bind)
	if err != nil || len(found) == 0 {
		return fmt.Errorf("--bind %q: want an IP address of this host, or a name of one: %w", f.Bind, err)
	}
	f.Bind = found[0].Unmap().String()
	if f.Advertise == "" {
		f.Advertise = f.Bind
		if found[0].IsUnspecified() {
			f.Advertise = "127.0.0.1"
		}
	}
	return nil
}

// askHealth is the health check of containers, which have no other HTTP client.
func (f *agentFlags) askHealth(ctx context.Context, stdout io.Writer) error {
	token, err := readToken("--token-file", f.tokenFile)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := agent.NewClient("http://"+f.Listen, token)
	defer client.Close()
	health, err := client.Health(ctx)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	fmt.Fprintf(stdout, "%s is well\n", health.Host)
	return nil
}

// newNode is the hidden command that agents start.
func newNode() *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:    "node ROLE --config FILE",
		Short:  "Run one node (started by an agent)",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "disk" {
				return diskfault.Exec(args[1:])
			}
			if len(args) > 1 {
				return fmt.Errorf("node %s: %q is too much: want --config alone", args[0], args[1:])
			}
			roles := catalog.Roles(nil)
			i := slices.IndexFunc(roles, func(r role.Role) bool { return r.Name == args[0] })
			if i < 0 {
				return fmt.Errorf("node %q: no role (roles: %s)", args[0], strings.Join(catalog.RoleNames(), ", "))
			}
			if config == "" {
				return fmt.Errorf("node %s: --config is missing: nodes are started by an agent", args[0])
			}
			return process.Run(cmd.Context(), config, roles[i].Main)
		},
	}
	cmd.SetOut(io.Discard)
	cmd.Flags().StringVar(&config, "config", "", "file that the agent wrote")
	return cmd
}
