package redisnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"locklab/nodes/fakeclock"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

// The names of the role and its port.
const (
	Name = "redis"
	Port = "redis"
)

// The values of Settings.Persistence, as Redis names them.
const (
	PersistNone     = "none"     // memory only: a restart loses everything
	PersistEverySec = "everysec" // append-only file, fsync once a second
	PersistAlways   = "always"   // append-only file, fsync before every answer
)

// Settings is what the controller sends to a server, as JSON.
type Settings struct {
	Persistence string `json:"persistence"`
	// Replication is for a primary and its replicas; zero for a server without replication.
	Replication Replication `json:"replication,omitzero"`
}

// Replication configures a primary or a replica. These servers pass addresses on to each other and
// to Sentinels, so each needs an address that is valid on all hosts; the links of every host listen
// there (see chaos/link.Gates).
type Replication struct {
	// Announce is the server's address, IP:port, for all others. The server also dials from this
	// IP address, so that links can identify it.
	Announce string `json:"announce,omitzero"`
	// Primary is the first primary of a replica, "" for the primary itself.
	Primary string `json:"primary,omitzero"`
}

const serverName = "redis-server"

// Role describes the role to an agent: redis-server, or the stand-in if that is not on PATH.
func Role() role.Role {
	r := role.Role{Name: Name, Ports: []string{Port}, ClientPort: Port}
	if _, err := exec.LookPath(serverName); err != nil {
		r.Main, r.Version = standIn, standInVersion
		return r
	}
	r.Main, r.FakeClock = runServer, true
	r.Version = serverVersion
	return r
}

// runServer runs redis-server.
func runServer(ctx context.Context, node *process.Node) error {
	settings := Settings{Persistence: PersistNone}
	if err := node.Decode(&settings); err != nil {
		return err
	}
	addr := node.Addrs[Port]
	text, err := serverConfig(settings, node.Dir, addr)
	if err != nil {
		return err
	}
	p := program{addr: addr, config: text, keeps: settings.Replication != Replication{}}
	if settings.Replication.Primary != "" {
		p.joined = func(ctx context.Context) error { return answers(ctx, addr, true) }
	}
	return p.run(ctx, node)
}

// program is a redis-server, or a Sentinel, to run.
type program struct {
	addr   string
	config string
	// keeps says that the server changes its configuration file, so an existing file is kept.
	keeps bool
	// joined returns nil once a new server has found the others; nil if it needs none. A restarted
	// server with its data is ready without them.
	joined func(context.Context) error
	args   []string
}

func (p program) run(ctx context.Context, node *process.Node) error {
	file := filepath.Join(node.Dir, "redis.conf")
	_, err := os.Stat(file)
	returns := err == nil
	if !returns || !p.keeps {
		if err := os.WriteFile(file, []byte(p.config), 0o600); err != nil {
			return fmt.Errorf("write redis config: %w", err)
		}
	}
	cmd := exec.Command(serverName, append([]string{file}, p.args...)...) //nolint:noctx // Serve ends it
	if node.FakeClock {
		file, now := filepath.Join(node.Dir, "clock"), func() (time.Time, error) { return serverTime(ctx, p.addr) }
		if err := fakeclock.Give(node, cmd, file, file, now); err != nil {
			return err
		}
	}
	return node.Serve(ctx, cmd, syscall.SIGTERM, func(ctx context.Context) error {
		err := answers(ctx, p.addr, false)
		if err == nil && p.joined != nil && !returns {
			err = p.joined(ctx)
		}
		return err
	})
}

// serverConfig returns the text of redis.conf.
func serverConfig(s Settings, dir, addr string) (string, error) {
	lines, err := commonLines(dir, addr, s.Replication.Announce)
	if err != nil {
		return "", err
	}
	lines = append(lines,
		"save \"\"", // no snapshots: they could restore a state older than the append-only file
		"databases 1",
		"maxmemory 256mb",
		"maxmemory-policy noeviction", // evicting a key would free a held lock
	)
	if s.Persistence == PersistNone {
		lines = append(lines, "appendonly no")
	} else {
		lines = append(lines, "appendonly yes", "appendfsync "+s.Persistence)
	}
	if s.Replication.Announce != "" {
		host, port, _ := net.SplitHostPort(s.Replication.Announce) // the controller's own
		lines = append(lines, "replica-announce-ip "+host, "replica-announce-port "+port,
			"repl-diskless-sync yes", "repl-diskless-sync-delay 0") // do not wait for more replicas
	}
	if s.Replication.Primary != "" {
		lines = append(lines, "replicaof "+strings.Replace(s.Replication.Primary, ":", " ", 1))
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// commonLines returns the common lines of all configurations, including Sentinel's. A server with an
// announced address dials from it.
func commonLines(dir, addr, announce string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address of port %s: %w", Port, err)
	}
	lines := []string{
		"bind " + host,
		"port " + port,
		"protected-mode no", // other hosts connect without a password, over a private network
		"daemonize no",
		"supervised no",
		"logfile \"\"", // to the agent's log file
		"loglevel notice",
		"always-show-logo no",
		fmt.Sprintf("dir %q", dir),
		"tcp-backlog 128",
	}
	if ip, _, err := net.SplitHostPort(announce); err == nil {
		lines = append(lines, "bind-source-addr "+ip) // needs Redis 7.0
	}
	return lines, nil
}

// clientOptions are the options of a client for one request.
func clientOptions(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, PoolSize: 1,
		DialTimeout: 2 * time.Second, ReadTimeout: 2 * time.Second,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// answers returns nil once a server answers PING and, if it follows a primary, is in sync with it. It fails
// while the server loads its append-only file.
func answers(ctx context.Context, addr string, follows bool) error {
	client := redis.NewClient(clientOptions(addr))
	defer func() { _ = client.Close() }()
	err := client.Ping(ctx).Err()
	if err != nil || !follows {
		return err
	}
	info, err := client.Info(ctx, "replication").Result()
	if err == nil && !strings.Contains(info, "master_link_status:up") {
		err = errors.New("it does not follow its primary")
	}
	return err
}

// serverTime asks a server for its wall clock, by which keys expire.
func serverTime(ctx context.Context, addr string) (time.Time, error) {
	client := redis.NewClient(clientOptions(addr))
	defer func() { _ = client.Close() }()
	return client.Time(ctx).Result()
}

// serverVersion asks the server itself, which may be Valkey. It prints "Redis server v=7.0.15 ...".
func serverVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, serverName, "--version").Output()
	var name, version string
	if err == nil {
		_, err = fmt.Sscanf(string(out), "%s server v=%s", &name, &version)
	}
	if err != nil {
		return "", fmt.Errorf("ask redis-server for its version: it printed %q: %w", out, err)
	}
	return strings.ToLower(name) + "-server " + version, nil
}
