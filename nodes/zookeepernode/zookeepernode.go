package zookeepernode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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

// The names of the role and its ports. Clients dial PortClient, other servers the others.
const (
	Name         = "zookeeper"
	PortClient   = "client"
	PortQuorum   = "quorum"
	PortElection = "election"
)

// Port is a port of another server: its address in zoo.cfg, and the link that leads there from
// this server's host. Both are IP:port.
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
	// Peers are the other servers of the ensemble.
	Peers []Peer `json:"peers"`
}

// Role describes the role to an agent.
func Role() role.Role {
	return role.Role{
		Name: Name, Ports: []string{PortClient, PortQuorum, PortElection}, ClientPort: PortClient,
		PeerPorts: []string{PortQuorum, PortElection},
		Main:      run, Leads: leads, Version: version, Starts: 2500 * time.Millisecond,
		Missing: func() error {
			_, _, err := program()
			return err
		},
		KeepsData: "an ensemble most of whose servers forget what they have acknowledged begins again, " +
			"and its tokens with it",
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

// The files in a server's directory, which is its working directory.
const (
	config = "zoo.cfg"
	data   = "data"
	myID   = data + "/myid"
)

// run runs a server.
func run(ctx context.Context, node *process.Node) error {
	var settings Settings
	if err := node.Decode(&settings); err != nil {
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
	go proxy(listener, links)

	_, err = os.Stat(filepath.Join(node.Dir, myID))
	returns := err == nil
	java, args, err := prepare(node.Dir, node.Name, node.Addrs, settings.Peers)
	if err != nil {
		return err
	}
	args = append([]string{
		"-DsocksProxyHost=127.0.0.1", fmt.Sprint("-DsocksProxyPort=", listener.Addr().(*net.TCPAddr).Port),
		"-DsocksProxyVersion=4", "-DsocksNonProxyHosts=", // connections within the host use the proxy, too
	}, args...)
	cmd := exec.Command(java, args...) //nolint:noctx // Serve ends it
	cmd.Dir = node.Dir
	client := node.Addrs[PortClient]
	return node.Serve(ctx, cmd, syscall.SIGTERM, func(ctx context.Context) error {
		mode, err := ask(ctx, client)
		if err == nil && mode == "" && !returns { // a restarted server is ready even without the others
			err = errors.New("it serves no clients: it has not found the others, or a leader")
		}
		return err
	})
}

// prepare writes a server's files into its directory, and returns the command to run: with a small heap and the
// compiler that starts fast, because three servers share a machine.
func prepare(dir, name string, addrs map[string]string, peers []Peer) (java string, args []string, err error) {
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
		"-Dzookeeper.preAllocSize=4096", "-Dzookeeper.leaderConnectDelayDuringRetryMs=200",
		"-Dzookeeper.fsync.warningthresholdms=60000",
		"-cp", classes, "org.apache.zookeeper.server.quorum.QuorumPeerMain", "./" + config,
	}, nil
}

// Tick is the ensemble's unit of time: sessions end at a multiple of it, and last at least two.
// After three ticks of silence a server looks for another leader.
const Tick = 500 * time.Millisecond

// configure returns zoo.cfg, and the number of this server in it. It is the same on all servers
// except for the address for clients.
func configure(name string, addrs map[string]string, peers []Peer) (text, id string, err error) {
	host, port, err := net.SplitHostPort(addrs[PortClient])
	if err != nil {
		return "", "", fmt.Errorf("address of port %s: %w", PortClient, err)
	}
	lines := []string{
		fmt.Sprint("tickTime=", Tick.Milliseconds()), "initLimit=20", "syncLimit=3",
		fmt.Sprint("minSessionTimeout=", 2*Tick.Milliseconds()), "maxSessionTimeout=3600000", "maxClientCnxns=0",
		"dataDir=./" + data, "clientPort=" + port, "clientPortAddress=" + host,
		"admin.enableServer=false", "4lw.commands.whitelist=srvr",
	}
	self := Peer{Name: name, Quorum: Port{Addr: addrs[PortQuorum]}, Election: Port{Addr: addrs[PortElection]}}
	all := append(slices.Clone(peers), self)
	slices.SortFunc(all, func(a, b Peer) int { return strings.Compare(a.Name, b.Name) })
	for i, p := range all {
		_, port, err := net.SplitHostPort(p.Election.Addr)
		if err != nil {
			return "", "", fmt.Errorf("server %s: address of its elections: %w", p.Name, err)
		}
		lines = append(lines, fmt.Sprintf("server.%d=%s:%s", i+1, p.Quorum.Addr, port))
		if p.Name == name {
			id = fmt.Sprintln(i + 1)
		}
	}
	return strings.Join(lines, "\n") + "\n", id, nil
}

func leads(ctx context.Context, addr string) (bool, error) {
	mode, err := ask(ctx, addr)
	return mode == "leader", err
}

// ask returns the server's mode in the ensemble, leader or follower, and "" while it serves
// no clients.
func ask(ctx context.Context, addr string) (mode string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
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

// version runs ZooKeeper's own program for the version.
func version(ctx context.Context) (string, error) {
	java, classes, err := program()
	find := role.Find(func() (string, error) { return java, err })
	return find.Version("ZooKeeper", "version ", "-cp", classes, "org.apache.zookeeper.version.VersionInfoMain")(ctx)
}
