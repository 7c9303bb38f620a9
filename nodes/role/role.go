// Package role defines what an agent must know of a kind of node to run it (its ports,
// its program, how to see that it is ready), and the lab to connect it. The agent runs
// the roles that it was given and no others.
package role

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"

	"locklab/locks/clock"
	"locklab/nodes/process"
)

// The roles that every run has. Those of the locks' servers are named by their packages.
const (
	Master = "master"
	Worker = "worker"
)

// StandIn begins the Version of what only takes the place of a server that is not
// installed: its figures are not the server's.
const StandIn = "embedded stand-in"

// Role is one kind of node.
type Role struct {
	// Name is the word for it: master, worker, raft, redis ...
	Name string
	// Ports names what it listens on, such as "http" and "peer". Clients dial ClientPort,
	// and nodes of the role each other's PeerPorts, none if they don't.
	Ports      []string
	ClientPort string
	PeerPorts  []string
	// Main is what the node's process does.
	Main process.Main
	// Env is what is added to the environment of a node with these settings, which it may refuse; nil adds
	// nothing.
	Env func(settings []byte) ([]string, error)
	// Leads says whether the node with this ClientPort leads the others; nil for roles
	// without a leader.
	Leads func(ctx context.Context, addr string) (bool, error)
	// Primary asks the node with this ClientPort which server clients write to, for roles
	// that decide that: its alias, and a number that grows whenever it is another one.
	Primary func(ctx context.Context, addr string) (alias string, epoch uint64, err error)
	// OwnClock and Points say that its work goes by [process.Node.Clock], and passes
	// [process.Node.Points].
	OwnClock, Points bool
	// FakeClock says that it runs a server whose clock [locklab/nodes/fakeclock] can set.
	FakeClock bool
	// Starts is about how long it takes until it is ready, where that is long.
	Starts time.Duration
	// KeepsData is why no scenario may take its data away, "" if one may.
	KeepsData string
	// Missing says what must be installed to run the role on this machine, and how; nil
	// if nothing can be missing.
	Missing func() error
	// Version is the server's version as the report shows it; nil is this program's.
	Version func(context.Context) (string, error)
}

// Greets fails until a server answers that speaks first to everyone who connects.
func Greets(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(clock.System().Now().Add(time.Second)) // fails where the read does
	_, err = conn.Read(make([]byte, 1))
	return err
}

// Find finds the program of a server, or says which package has it.
type Find func() (path string, err error)

// OnPath finds a program on PATH; a package of Debian and Ubuntu has it.
func OnPath(program, pkg string) Find {
	return func() (string, error) {
		path, err := exec.LookPath(program)
		if err != nil {
			return "", NotInstalled(program, pkg)
		}
		return path, nil
	}
}

// Missing is a [Role.Missing].
func (f Find) Missing() error {
	_, err := f()
	return err
}

// Version is a [Role.Version]: what the program prints with these arguments after the words before, until a
// space, a comma or a dash, as the version of the server with that name.
func (f Find) Version(name, before string, args ...string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		path, err := f()
		if err != nil {
			return "", err
		}
		out, err := exec.CommandContext(ctx, path, args...).Output()
		_, rest, _ := strings.Cut(string(out), before)
		words := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" ,-\n", r) })
		if err != nil || len(words) == 0 {
			return "", fmt.Errorf("ask %s for its version: it printed %q: %w", name, out, errors.Join(err, process.ErrInvalid))
		}
		return name + " " + words[0], nil
	}
}

// NotInstalled says that something of a package of Debian and Ubuntu is not there.
func NotInstalled(what, pkg string) error {
	return fmt.Errorf("%s is not installed here: apt-get install %s", what, pkg)
}
