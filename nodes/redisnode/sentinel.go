package redisnode

import (
	"context"
	"crypto/sha1" //nolint:gosec // names, not secrets
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/nodes/process"
	"locklab/nodes/role"
)

// SentinelName is the name of the role of Redis Sentinel, and of its port.
const SentinelName = "sentinel"

// Service is the Sentinels' name for the primary.
const Service = "lock"

// SentinelSettings is what the controller sends to a Sentinel, as JSON. Addresses, IP:port, are valid
// on all hosts: see Replication.
type SentinelSettings struct {
	// Announce is its own address, from which it also dials.
	Announce string `json:"announce"`
	// Primary is the first primary, and Replicas are its replicas.
	Primary  string   `json:"primary"`
	Replicas []string `json:"replicas"`
	// Others are the other Sentinels.
	Others []string `json:"others"`
	// DownAfterMS is the silence after which a Sentinel considers the primary down. One of them
	// promotes a replica once a majority does.
	DownAfterMS int64 `json:"down_after_ms"`
}

// SentinelRole describes to an agent how to run redis-server as a Sentinel.
func SentinelRole() role.Role {
	return role.Role{
		Name: SentinelName, Ports: []string{SentinelName}, ClientPort: SentinelName,
		Main: runSentinel, Primary: primary, Missing: replicationMissing,
		Version: serverVersion,
	}
}

// replicationMissing returns why Redis servers cannot replicate on this machine, nil if they can.
func replicationMissing() error {
	if _, err := exec.LookPath(serverName); err != nil {
		return role.NotInstalled(serverName, serverName)
	}
	if runtime.GOOS != "linux" {
		return errors.New("replication needs Linux, where all addresses of 127.0.0.0/8 are there: try it in containers")
	}
	return nil
}

// runSentinel runs a Sentinel. It writes its knowledge and its votes into its configuration file, and reads them
// again after a restart with data.
func runSentinel(ctx context.Context, node *process.Node) error {
	var settings SentinelSettings
	if err := node.Decode(&settings); err != nil {
		return err
	}
	addr := node.Addrs[SentinelName]
	text, err := sentinelConfig(settings, node.Dir, addr)
	if err != nil {
		return err
	}
	return program{
		addr: addr, config: text, keeps: true, args: []string{"--sentinel"},
		joined: func(ctx context.Context) error { return settings.watches(ctx, addr) },
	}.run(ctx, node)
}

// sentinelConfig names all nodes, because Sentinels take seconds to discover each other and the replicas.
func sentinelConfig(s SentinelSettings, dir, addr string) (string, error) {
	lines, err := commonLines(dir, addr, s.Announce)
	if err != nil {
		return "", err
	}
	add := func(format string, args ...any) { lines = append(lines, "sentinel "+fmt.Sprintf(format, args...)) }
	place := func(addr string) string { return strings.Replace(addr, ":", " ", 1) }
	ip, port, _ := net.SplitHostPort(s.Announce) // the controller's own
	add("myid %s", sentinelID(s.Announce))
	add("announce-ip %s", ip)
	add("announce-port %s", port)
	add("monitor %s %s %d", Service, place(s.Primary), (len(s.Others)+1)/2+1)
	add("down-after-milliseconds %s %d", Service, s.DownAfterMS)
	// The ratio of Redis's own sample. A second attempt follows after twice this time.
	add("failover-timeout %s %d", Service, 6*s.DownAfterMS)
	for _, addr := range s.Replicas {
		add("known-replica %s %s", Service, place(addr))
	}
	for _, addr := range s.Others {
		add("known-sentinel %s %s %s", Service, place(addr), sentinelID(addr))
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// sentinelID returns the ID of the Sentinel at an address: 40 hex digits.
func sentinelID(addr string) string {
	sum := sha1.Sum([]byte(addr)) //nolint:gosec // see above
	return hex.EncodeToString(sum[:])
}

// watches returns nil once the Sentinel at the address sees all nodes, and all replicas in sync.
func (s SentinelSettings) watches(ctx context.Context, addr string) error {
	client := redis.NewSentinelClient(clientOptions(addr))
	defer func() { _ = client.Close() }()
	primary, err1 := client.Master(ctx, Service).Result()
	replicas, err2 := client.Replicas(ctx, Service).Result()
	sentinels, err3 := client.Sentinels(ctx, Service).Result()
	if err := errors.Join(err1, err2, err3); err != nil {
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

// primary returns the server that a Sentinel considers the primary.
func primary(ctx context.Context, addr string) (alias string, epoch uint64, err error) {
	client := redis.NewSentinelClient(clientOptions(addr))
	defer func() { _ = client.Close() }()
	said, err := client.Master(ctx, Service).Result()
	if err != nil {
		return "", 0, err
	}
	epoch, err = strconv.ParseUint(said["config-epoch"], 10, 64)
	return net.JoinHostPort(said["ip"], said["port"]), epoch, err
}
