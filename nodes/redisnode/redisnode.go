package redisnode

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"locklab/nodes/process"
	"locklab/nodes/role"
)

// Name is the role's, and Port its one port's.
const (
	Name = "redis"
	Port = "redis"
)

// The values of Settings.Persistence, as Redis names them.
const (
	PersistNone     = "none"     // memory only: a restart forgets everything
	PersistEverySec = "everysec" // append-only file, fsync once a second
	PersistAlways   = "always"   // append-only file, fsync before every answer
)

// Settings is what the controller says about a Redis node.
type Settings struct {
	Persistence string `json:"persistence"`
	// Replication is for a primary and its replicas; zero for a server of its own.
	Replication Replication `json:"replication,omitzero"`
}

// DefaultSettings keep nothing on disk.
func DefaultSettings() Settings { return Settings{Persistence: PersistNone} }

// ErrInvalid is wrapped by errors about settings that cannot be used.
var ErrInvalid = errors.New("redisnode: invalid")

const serverName = "redis-server"

// Role is what an agent must know to run Redis on this machine: redis-server, or the
// stand-in if that is not on PATH.
func Role() role.Role {
	r := role.Role{Name: Name, Ports: []string{Port}, ClientPort: Port}
	path, err := exec.LookPath(serverName)
	if err != nil {
		r.Main, r.Command, r.Version = standIn, standInCommand, standInVersion
		return r
	}
	r.Command = func(n role.Node) (role.Command, error) { return serverCommand(path, n) }
	r.Ready = ready
	r.Version = func(context.Context) (string, error) { return serverVersion(path) }
	r.Clock = serverTime
	return r
}

// ParseSettings reads settings strictly. None mean DefaultSettings.
func ParseSettings(raw []byte) (Settings, error) {
	s := DefaultSettings()
	if err := process.DecodeSettings(raw, &s); err != nil {
		return Settings{}, err
	}
	if err := s.Replication.validate(); err != nil {
		return Settings{}, err
	}
	switch s.Persistence {
	case PersistNone, PersistEverySec, PersistAlways:
		return s, nil
	}
	return Settings{}, fmt.Errorf("persistence %q: want none, everysec or always: %w", s.Persistence, ErrInvalid)
}

// serverCommand writes redis.conf into the node's directory.
func serverCommand(path string, n role.Node) (role.Command, error) {
	settings, err := ParseSettings(n.Settings)
	if err != nil {
		return role.Command{}, err
	}
	text, err := serverConfig(settings, n.Dir, n.Addrs[Port])
	if err != nil {
		return role.Command{}, err
	}
	file := filepath.Join(n.Dir, "redis.conf")
	if settings.Replication != (Replication{}) { // whom it follows is what Sentinel wrote there
		return role.Command{Path: path, Args: []string{file}}, writeOnce(file, text)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return role.Command{}, fmt.Errorf("write redis config: %w", err)
	}
	return role.Command{Path: path, Args: []string{file}}, nil
}

// ready waits until the server answers and, if it is a replica that is new, until it has all
// that its primary has.
func ready(ctx context.Context, n role.Node) error {
	settings, err := ParseSettings(n.Settings)
	if err != nil {
		return err
	}
	addr := n.Addrs[Port]
	if settings.Replication.Primary == "" {
		return awaitPong(ctx, addr)
	}
	return onceReady(ctx, n, addr, func() error { return follows(ctx, addr) })
}

// serverConfig is the text of redis.conf.
func serverConfig(s Settings, dir, addr string) (string, error) {
	lines, err := commonLines(dir, addr)
	if err != nil {
		return "", err
	}
	lines = append(lines,
		"save \"\"", // snapshots would bring back a past that the append-only file does not know
		"databases 1",
		"maxmemory 256mb",
		"maxmemory-policy noeviction", // an evicted key would be a lock given away
	)
	if s.Persistence == PersistNone {
		lines = append(lines, "appendonly no")
	} else {
		lines = append(lines, "appendonly yes", "appendfsync "+s.Persistence)
	}
	more, err := s.Replication.lines()
	return strings.Join(append(lines, more...), "\n") + "\n", err
}

// commonLines are those of every configuration, Sentinel's too.
func commonLines(dir, addr string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q of port %q: want host:port: %w", addr, Port, ErrInvalid)
	}
	if strings.ContainsAny(dir, "\r\n\x00") || strings.ContainsAny(addr, " \t\r\n\x00\"") {
		return nil, fmt.Errorf("directory %q, address %q: no place for control characters or quotes: %w", dir, addr, ErrInvalid)
	}
	lines := []string{
		"port " + port,
		"daemonize no",
		"supervised no",
		"logfile \"\"", // to the agent's log file
		"loglevel notice",
		"always-show-logo no",
		"dir " + quoted(dir),
		"tcp-backlog 128",
	}
	if host != "" {
		lines = append(lines, "bind "+host)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		// Other hosts connect without a password; the network around them is private.
		lines = append(lines, "protected-mode no")
	}
	return lines, nil
}

// quoted is a string as redis.conf reads it.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// awaitPong returns when the server answers PING, which it does not while it loads
// its append-only file.
func awaitPong(ctx context.Context, addr string) error {
	return role.Await(ctx, "redis at "+addr, func() error { return ping(ctx, addr) })
}

func ping(ctx context.Context, addr string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	line, err := bufio.NewReader(io.LimitReader(conn, 256)).ReadString('\n')
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	if answer := strings.TrimSpace(line); answer != "+PONG" {
		return fmt.Errorf("ping: the server answered %q", answer)
	}
	return nil
}

// serverVersion asks the server itself: what is called redis-server may be Valkey.
func serverVersion(path string) (string, error) {
	out, err := exec.Command(path, "--version").Output() //nolint:noctx // it answers at once
	if err != nil {
		return "", fmt.Errorf("ask redis-server for its version: %w", err)
	}
	return parseVersion(string(out))
}

// parseVersion reads "Redis server v=7.0.15 sha=..." as "redis-server 7.0.15", and
// "Valkey server v=8.0.1 ..." as "valkey-server 8.0.1".
func parseVersion(printed string) (string, error) {
	name, rest, _ := strings.Cut(printed, " ")
	for field := range strings.FieldsSeq(rest) {
		if version, ok := strings.CutPrefix(field, "v="); ok && name != "" {
			return strings.ToLower(name) + "-server " + version, nil
		}
	}
	return "", fmt.Errorf("ask redis-server for its version: want NAME server v=VERSION, have %q", printed)
}
