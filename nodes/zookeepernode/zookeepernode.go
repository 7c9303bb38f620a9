package zookeepernode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"locklab/nodes/process"
	"locklab/nodes/role"
)

// Name is the role's. Clients dial the first of its ports, other servers the others.
const (
	Name         = "zookeeper"
	PortClient   = "client"
	PortQuorum   = "quorum"
	PortElection = "election"
)

// Port is a port of another server: its own address, which all servers know it by, and the
// link that leads there from this server's host. Both are IP:port.
type Port struct {
	Addr string `json:"addr"`
	Link string `json:"link"`
}

// Peer is another server.
type Peer struct {
	Name     string `json:"name"`
	Quorum   Port   `json:"quorum"`
	Election Port   `json:"election"`
}

// Settings is what the controller sends to a server, as JSON.
type Settings struct {
	// Peers are the other servers. With this one they are the ensemble.
	Peers []Peer `json:"peers"`
}

// ErrInvalid is wrapped by errors about settings that cannot be used.
var ErrInvalid = errors.New("zookeepernode: invalid")

// Role is what an agent must know to run a server.
func Role() role.Role {
	return role.Role{
		Name: Name, Ports: []string{PortClient, PortQuorum, PortElection}, ClientPort: PortClient,
		PeerPorts: []string{PortQuorum, PortElection}, Main: run, Leads: leads, Version: version, Starts: 2500 * time.Millisecond,
		Command: func(n role.Node) (role.Command, error) {
			_, err := readSettings(n.Name, n.Settings)
			return role.Command{}, err // the agent runs locklab, which runs ZooKeeper
		},
		Missing:   func() error { _, _, err := program(); return err },
		KeepsData: "an ensemble most of whose servers forget what they have acknowledged begins again, and its tokens with it",
	}
}

// program finds Java and the class path.
func program() (java, classes string, err error) {
	const debian = "/usr/share/java"
	if _, err := os.Stat(debian + "/zookeeper.jar"); err == nil {
		classes = debian + "/zookeeper.jar" + string(os.PathListSeparator) + debian + "/slf4j-simple.jar"
	} else {
		script, err := exec.LookPath("zkServer.sh")
		if err == nil {
			script, err = filepath.EvalSymlinks(script)
		}
		if err != nil {
			return "", "", role.NotInstalled("ZooKeeper", "zookeeper")
		}
		classes = filepath.Join(filepath.Dir(filepath.Dir(script)), "lib", "*")
	}
	if java, err = exec.LookPath("java"); err != nil {
		return "", "", role.NotInstalled("Java, which ZooKeeper needs,", "default-jre-headless")
	}
	return java, classes, nil
}

func readSettings(name string, raw []byte) (s Settings, err error) {
	if err := process.DecodeSettings(raw, &s); err != nil {
		return s, err
	}
	seen := map[string]bool{name: true}
	for i, p := range s.Peers {
		if p.Name == "" || seen[p.Name] {
			return s, fmt.Errorf("peers[%d]: name %q: want that of another server: %w", i, p.Name, ErrInvalid)
		}
		seen[p.Name] = true
		for _, addr := range []string{p.Quorum.Addr, p.Quorum.Link, p.Election.Addr, p.Election.Link} {
			if _, err := netip.ParseAddrPort(addr); err != nil {
				return s, fmt.Errorf("peers[%d]: address %q: want IP:port: %w", i, addr, ErrInvalid)
			}
		}
	}
	return s, nil
}

// The files in a server's directory, in which it runs.
const (
	config = "zoo.cfg"
	data   = "data"
	myID   = data + "/myid"
)

// run is a server as an agent's child process.
func run(ctx context.Context, node *process.Node) error {
	settings, err := readSettings(node.Name, node.Settings)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the server's own calls: %w", err)
	}
	links := map[string]string{}
	for _, p := range settings.Peers {
		links[p.Quorum.Addr], links[p.Election.Addr] = p.Quorum.Link, p.Election.Link
	}
	proxy := startProxy(listener, links)
	defer proxy.close()

	_, err = os.Stat(filepath.Join(node.Dir, myID))
	returns := err == nil
	java, args, err := Prepare(node.Dir, node.Name, node.Addrs, settings.Peers)
	if err != nil {
		return err
	}
	// What goes within the host goes through the proxy too.
	args = append([]string{"-DsocksProxyHost=127.0.0.1", "-DsocksProxyPort=" + proxy.port(), "-DsocksNonProxyHosts="}, args...)
	cmd := exec.Command(java, args...) //nolint:noctx // Serve ends it
	cmd.Dir = node.Dir
	return node.Serve(ctx, cmd, syscall.SIGTERM, func(ctx context.Context) error {
		return awaitServer(ctx, node.Addrs[PortClient], returns)
	})
}

// Prepare writes what a server reads into its directory, and says what to run in there, without
// a proxy: a small heap and the compiler that starts fast, because three servers share a machine.
func Prepare(dir, name string, addrs map[string]string, peers []Peer) (java string, args []string, err error) {
	java, classes, err := program()
	if err != nil {
		return "", nil, err
	}
	text, id, err := configure(name, addrs, peers)
	if err != nil {
		return "", nil, err
	}
	if err := errors.Join(
		os.MkdirAll(filepath.Join(dir, data), 0o700),
		os.WriteFile(filepath.Join(dir, config), []byte(text), 0o600),
		os.WriteFile(filepath.Join(dir, myID), []byte(id), 0o600),
	); err != nil {
		return "", nil, fmt.Errorf("write the server's files: %w", err)
	}
	return java, []string{
		"-Xms16m", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dzookeeper.jmx.log4j.disable=true",
		"-Dzookeeper.preAllocSize=4096", "-Dzookeeper.leaderConnectDelayDuringRetryMs=200", "-Dzookeeper.fsync.warningthresholdms=60000",
		"-cp", classes, "org.apache.zookeeper.server.quorum.QuorumPeerMain", "./" + config,
	}, nil
}

// Tick is the ensemble's unit of time: sessions end at a multiple of it, and last two at
// least. A server that hears nothing for three looks for another leader.
const Tick = 500 * time.Millisecond

// configure makes zoo.cfg, and the number of this server in it. It is the same on all servers
// but for where clients call.
func configure(name string, addrs map[string]string, peers []Peer) (text, id string, err error) {
	client, err := netip.ParseAddrPort(addrs[PortClient])
	if err != nil {
		return "", "", fmt.Errorf("address of port %s: %w", PortClient, err)
	}
	lines := []string{
		fmt.Sprint("tickTime=", Tick.Milliseconds()), "initLimit=20", "syncLimit=3",
		fmt.Sprint("minSessionTimeout=", 2*Tick.Milliseconds()), "maxSessionTimeout=3600000", "maxClientCnxns=0",
		"dataDir=./" + data, fmt.Sprint("clientPort=", client.Port()), "clientPortAddress=" + client.Addr().String(),
		"admin.enableServer=false", "4lw.commands.whitelist=srvr",
	}
	all := append(slices.Clone(peers), Peer{Name: name, Quorum: Port{Addr: addrs[PortQuorum]}, Election: Port{Addr: addrs[PortElection]}})
	slices.SortFunc(all, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	for i, p := range all {
		quorum, err1 := netip.ParseAddrPort(p.Quorum.Addr)
		election, err2 := netip.ParseAddrPort(p.Election.Addr)
		if err := errors.Join(err1, err2); err != nil || quorum.Addr() != election.Addr() {
			return "", "", fmt.Errorf("server %s: quorum %q, election %q: want IP:port, both with one IP: %w", p.Name, p.Quorum.Addr, p.Election.Addr, errors.Join(err, ErrInvalid))
		}
		lines = append(lines, fmt.Sprintf("server.%d=%s:%d", i+1, quorum, election.Port()))
		if p.Name == name {
			id = fmt.Sprintln(i + 1)
		}
	}
	return strings.Join(lines, "\n") + "\n", id, nil
}

// awaitServer waits until a new server has found the others and a leader. One that returns
// need not find anybody: it is back, even if it is alone.
func awaitServer(ctx context.Context, client string, returns bool) error {
	return role.Await(ctx, "zookeeper at "+client, func() error {
		if !returns {
			return serves(ctx, client)
		}
		_, err := ask(ctx, client)
		return err
	})
}

// serves says whether the server has found the others and a leader.
func serves(ctx context.Context, client string) error {
	mode, err := ask(ctx, client)
	if err == nil && mode == "" {
		err = errors.New("it serves nobody")
	}
	return err
}

func leads(ctx context.Context, addr string) (bool, error) {
	mode, err := ask(ctx, addr)
	return mode == "leader", err
}

// ask returns what the server does in the ensemble, leader or follower, and "" while it
// serves nobody.
func ask(ctx context.Context, addr string) (mode string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }() // nothing depends on it any more
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, 4096))
	for line := range strings.Lines(string(text)) {
		if found, is := strings.CutPrefix(line, "Mode: "); is {
			return strings.TrimSpace(found), nil
		}
	}
	return "", err
}

// version asks the program itself.
func version(ctx context.Context) (string, error) {
	java, classes, err := program()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, java, "-cp", classes, "org.apache.zookeeper.version.VersionInfoMain").Output()
	_, rest, found := strings.Cut(string(out), "Apache ZooKeeper, version ")
	number, _, _ := strings.Cut(rest, " ")
	if err != nil || !found || number == "" {
		return "", fmt.Errorf("ask ZooKeeper for its version: it printed %q: %w", out, errors.Join(err, ErrInvalid))
	}
	return "ZooKeeper " + number, nil
}
