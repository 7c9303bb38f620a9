package redisnode

import (
	"context"
	"crypto/sha1" //nolint:gosec // names, not secrets
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/nodes/process"
	"locklab/nodes/role"
)

// SentinelName is the role's of Redis Sentinel, and of its one port.
const SentinelName = "sentinel"

// Service is the name by which Sentinels know the primary that they watch.
const Service = "lock"

// SentinelSettings is what the controller says about a Sentinel. Addresses are those that
// all nodes of the run know their owners by: see Replication.
type SentinelSettings struct {
	// Announce is its own address, and what it dials from.
	Announce string `json:"announce"`
	// Primary is the first primary, and Replicas are its replicas.
	Primary  string   `json:"primary"`
	Replicas []string `json:"replicas"`
	// Others are the other Sentinels.
	Others []string `json:"others"`
	// DownAfterMS is for how long a primary must be silent before a Sentinel takes it for
	// dead. A majority of the Sentinels must do so before one of them promotes a replica.
	DownAfterMS int64 `json:"down_after_ms"`
}

// SentinelRole is what an agent must know to run redis-server as a Sentinel.
func SentinelRole() role.Role {
	r := role.Role{
		Name: SentinelName, Ports: []string{SentinelName}, ClientPort: SentinelName,
		Missing: replicationMissing,
		Version: func(context.Context) (string, error) { return installed() },
	}
	r.Primary = primary
	r.Command = func(n role.Node) (role.Command, error) {
		text, err := sentinelConfig(n)
		if err != nil {
			return role.Command{}, err
		}
		file := filepath.Join(n.Dir, "sentinel.conf")
		// Sentinel writes what it learns and what it voted for into its file: one that comes
		// back with its data comes back to that.
		if err := writeOnce(file, text); err != nil {
			return role.Command{}, err
		}
		return role.Command{Path: serverName, Args: []string{file, "--sentinel"}}, nil
	}
	r.Ready = func(ctx context.Context, n role.Node) error {
		s, err := parseSentinel(n.Settings)
		if err != nil {
			return err
		}
		return onceReady(ctx, n, n.Addrs[SentinelName], func() error { return s.watches(ctx, n.Addrs[SentinelName]) })
	}
	return r
}

// replicationMissing is why Redis servers cannot replicate in the lab on this machine.
func replicationMissing() error {
	if _, err := exec.LookPath(serverName); err != nil {
		return role.NotInstalled(serverName, serverName)
	}
	if runtime.GOOS != "linux" {
		return errors.New("replication needs Linux, where all addresses of 127.0.0.0/8 are there: try it in containers")
	}
	version, err := installed()
	if err == nil && !dialsFrom(version) {
		err = fmt.Errorf("%s does not choose the address that it dials from: install redis-server 7.0 or later", version)
	}
	return err
}

// dialsFrom says whether a server of the version has the directive bind-source-addr, which
// came with Redis 7.0 and which every Valkey has.
func dialsFrom(version string) bool {
	name, number, _ := strings.Cut(version, " ")
	major, _, _ := strings.Cut(number, ".")
	n, err := strconv.Atoi(major)
	return err == nil && (n >= 7 || strings.HasPrefix(name, "valkey"))
}

func parseSentinel(raw []byte) (s SentinelSettings, err error) {
	if err := process.DecodeSettings(raw, &s); err != nil {
		return s, err
	}
	if s.DownAfterMS < 100 {
		return s, fmt.Errorf("down_after_ms %d: want at least 100: %w", s.DownAfterMS, ErrInvalid)
	}
	all := append(append([]string{s.Announce, s.Primary}, s.Replicas...), s.Others...)
	seen := map[string]bool{}
	for _, addr := range all {
		if err := checkAnnounced(addr); err != nil {
			return s, err
		}
		if seen[addr] {
			return s, fmt.Errorf("address %s is there twice: want one for each node: %w", addr, ErrInvalid)
		}
		seen[addr] = true
	}
	return s, nil
}

// sentinelConfig is the text of sentinel.conf. It names everybody: Sentinels that only find
// each other, and the replicas, do so in seconds.
func sentinelConfig(n role.Node) (string, error) {
	s, err := parseSentinel(n.Settings)
	if err != nil {
		return "", err
	}
	lines, err := commonLines(n.Dir, n.Addrs[SentinelName])
	if err != nil {
		return "", err
	}
	from, err := dialsFromLine(s.Announce)
	if err != nil {
		return "", err
	}
	lines = append(lines, from...)
	of := func(directive, addr string, more ...any) {
		host, port, _ := net.SplitHostPort(addr) // checked
		lines = append(lines, strings.TrimSpace(fmt.Sprintln(append([]any{"sentinel", directive, Service, host, port}, more...)...)))
	}
	host, port, _ := net.SplitHostPort(s.Announce)
	lines = append(lines, "sentinel myid "+sentinelID(s.Announce), "sentinel announce-ip "+host, "sentinel announce-port "+port)
	of("monitor", s.Primary, (len(s.Others)+1)/2+1)
	lines = append(lines,
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", Service, s.DownAfterMS),
		fmt.Sprintf("sentinel failover-timeout %s %d", Service, 6*s.DownAfterMS), // as in Redis's own sample: who failed tries again after twice that
	)
	for _, addr := range s.Replicas {
		of("known-replica", addr)
	}
	for _, addr := range s.Others {
		of("known-sentinel", addr, sentinelID(addr))
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// sentinelID is the name by which Sentinels know the one at an address: 40 hex digits.
func sentinelID(addr string) string {
	sum := sha1.Sum([]byte(addr)) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

// watches says whether the Sentinel at the address sees that all are there and follow.
func (s SentinelSettings) watches(ctx context.Context, addr string) error {
	client := redis.NewSentinelClient(clientOptions(addr))
	defer func() { _ = client.Close() }() // nothing was written
	primary, err := client.Master(ctx, Service).Result()
	if err != nil {
		return err
	}
	replicas, err := client.Replicas(ctx, Service).Result()
	if err != nil {
		return err
	}
	sentinels, err := client.Sentinels(ctx, Service).Result()
	if err != nil {
		return err
	}
	if primary["flags"] != "master" || len(replicas) != len(s.Replicas) || len(sentinels) != len(s.Others) {
		return fmt.Errorf("its primary is %s, with %d replicas and %d other Sentinels: want master, %d and %d",
			primary["flags"], len(replicas), len(sentinels), len(s.Replicas), len(s.Others))
	}
	for _, r := range replicas {
		if r["flags"] != "slave" || r["master-link-status"] != "ok" {
			return fmt.Errorf("replica %s is %s, its link to the primary %s", r["name"], r["flags"], r["master-link-status"])
		}
	}
	for _, o := range sentinels {
		if o["flags"] != "sentinel" {
			return fmt.Errorf("sentinel %s:%s is %s", o["ip"], o["port"], o["flags"])
		}
	}
	return nil
}

// primary is whom a Sentinel takes for the primary.
func primary(ctx context.Context, addr string) (alias string, epoch uint64, err error) {
	client := redis.NewSentinelClient(clientOptions(addr))
	defer func() { _ = client.Close() }() // nothing was written
	said, err := client.Master(ctx, Service).Result()
	if err != nil {
		return "", 0, err
	}
	epoch, err = strconv.ParseUint(said["config-epoch"], 10, 64)
	return net.JoinHostPort(said["ip"], said["port"]), epoch, err
}

// joined is the file that says that a node has been ready before.
const joined = "joined"

// onceReady waits for the server's answer to PING and, when it is there for the first time,
// for the check: what comes back is back, even if it is alone.
func onceReady(ctx context.Context, n role.Node, addr string, check func() error) error {
	if err := awaitPong(ctx, addr); err != nil {
		return err
	}
	mark := filepath.Join(n.Dir, joined)
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	if err := role.Await(ctx, "redis at "+addr, check); err != nil {
		return err
	}
	return os.WriteFile(mark, nil, 0o600)
}

// writeOnce writes a file that its server goes on to change, unless it is there.
func writeOnce(file, text string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write redis config: %w", err)
	}
	return nil
}
