package redisnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Replication is what a server is told that is one of a primary and its replicas. They pass
// addresses on to each other and to Sentinels, so that each must have one that is right for
// all of them; the links of every host listen there (see chaos/link.Gates).
type Replication struct {
	// Announce is the address, IP:port, by which all others know the server. It dials them
	// from that IP address too, by which links tell who it is.
	Announce string `json:"announce,omitzero"`
	// Primary is whom it follows at first, "" if it begins as the primary itself.
	Primary string `json:"primary,omitzero"`
}

func (r Replication) validate() error {
	if r == (Replication{}) {
		return nil
	}
	if err := checkAnnounced(r.Announce); err != nil {
		return err
	}
	if r.Primary == "" {
		return nil
	}
	if r.Primary == r.Announce {
		return fmt.Errorf("primary %s: it is the server itself: %w", r.Primary, ErrInvalid)
	}
	return checkAnnounced(r.Primary)
}

func checkAnnounced(addr string) error {
	if at, err := netip.ParseAddrPort(addr); err != nil || at.Port() == 0 {
		return fmt.Errorf("address %q: want IP:port: %w", addr, ErrInvalid)
	}
	return nil
}

// lines of redis.conf.
func (r Replication) lines() ([]string, error) {
	if r == (Replication{}) {
		return nil, nil
	}
	host, port, _ := net.SplitHostPort(r.Announce) // checked
	lines, err := dialsFromLine(r.Announce)
	if err != nil {
		return nil, err
	}
	lines = append(lines, "replica-announce-ip "+host, "replica-announce-port "+port,
		"repl-diskless-sync yes", "repl-diskless-sync-delay 0") // there is nobody else to wait for
	if r.Primary != "" {
		host, port, _ := net.SplitHostPort(r.Primary)
		lines = append(lines, "replicaof "+host+" "+port)
	}
	return lines, nil
}

// dialsFromLine has the server dial from the IP address that it announces. One that is too
// old for that is right where it is the only such node of its machine.
func dialsFromLine(announce string) ([]string, error) {
	version, err := installed()
	if err != nil || !dialsFrom(version) {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(announce) // checked
	return []string{"bind-source-addr " + host}, nil
}

// installed is the version of the server on PATH.
func installed() (string, error) { return serverVersion(serverName) }

// follows says whether a replica has all that its primary has.
func follows(ctx context.Context, addr string) error {
	client := redis.NewClient(clientOptions(addr))
	defer func() { _ = client.Close() }() // nothing was written
	info, err := client.Info(ctx, "replication").Result()
	if err == nil && !strings.Contains(info, "master_link_status:up") {
		err = errors.New("it does not follow its primary")
	}
	return err
}

// clientOptions are for one question.
func clientOptions(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialTimeout: 2 * time.Second, ReadTimeout: 2 * time.Second, PoolSize: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}
