// Package role describes a kind of node: how an agent runs it (its ports, its program) and
// how the lab connects it. An agent runs only the roles that it was given.
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

// The roles of every run. The packages of the locks' servers name theirs.
const (
	Master = "master"
	Worker = "worker"
)

// StandIn begins the Version of a substitute for a server that is not installed, whose figures
// do not count.
const StandIn = "embedded stand-in"

// Role is one kind of node.
type Role struct {
	// Name is master, worker, raft, redis ...
	Name string
	// Ports are the names of its ports, such as "http" and "peer". Clients dial ClientPort;
	// nodes of the role dial each other's PeerPorts.
	Ports      []string
	ClientPort string
	PeerPorts  []string
	// Main runs the node.
	Main process.Main
	// Env returns additional environment variables for a node with these settings, or an error if the
	// settings are wrong; nil adds none.
	Env func(settings []byte) ([]string, error)
	// Leads reports whether the node with this ClientPort leads the others; nil for roles
	// without a leader.
	Leads func(ctx context.Context, addr string) (bool, error)
	// Primary, for roles that choose the server for writes, asks the node with this ClientPort
	// for that server: its alias, and a number that grows with each change.
	Primary func(ctx context.Context, addr string) (alias string, epoch uint64, err error)
	// OwnClock and Points say that its work uses [process.Node.Clock], and passes
	// [process.Node.Points].
	OwnClock, Points bool
	// FakeClock says that it runs a server whose clock [locklab/nodes/fakeclock] can set.
	FakeClock bool
	// Starts is its approximate start time, if that is long.
	Starts time.Duration
	// KeepsData is the reason why no scenario may delete its data, "" if one may.
	KeepsData string
	// Missing returns an error that says how to install a missing program; nil if the role
	// needs none.
	Missing func() error
	// Version returns the server's version for reports; nil means that of locklab.
	Version func(context.Context) (string, error)
}

// Greets returns nil once a server that sends first answers a connection.
func Greets(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(clock.System().Now().Add(time.Second)) // if this fails, so does Read
	_, err = conn.Read(make([]byte, 1))
	return err
}

// Find finds the program of a server; its error names the package to install.
type Find func() (path string, err error)

// OnPath returns a Find for a program on PATH, which is in the package pkg of Debian and Ubuntu.
func OnPath(program, pkg string) Find {
	return func() (string, error) {
		path, err := exec.LookPath(program)
		if err != nil {
			return "", NotInstalled(program, pkg)
		}
		return path, nil
	}
}

// Missing implements [Role.Missing].
func (f Find) Missing() error {
	_, err := f()
	return err
}

// Version returns a [Role.Version]: the server's name, and the program's output with these arguments, from the
// text before on up to a space, a comma or a dash.
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

// NotInstalled returns an error that names the package of Debian and Ubuntu to install.
func NotInstalled(what, pkg string) error {
	return fmt.Errorf("%s is not installed here: apt-get install %s", what, pkg)
}
