package etcdnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"locklab/nodes/process"
	"locklab/nodes/role"
)

// The names of the role and its ports. Clients dial PortClient, other members PortPeer.
const (
	Name       = "etcd"
	PortClient = "client"
	PortPeer   = "peer"
)

// Peer is another member as this member's host reaches it.
type Peer struct {
	Name string `json:"name"`
	Addr string `json:"addr"`
}

// Settings is what the controller sends to a member, as JSON.
type Settings struct {
	// Peers are the other members of the cluster.
	Peers []Peer `json:"peers"`
	// Election is etcd's election timeout, and ten times its heartbeat interval; a second by default, as
	// in etcd. etcd wants at least ten round trips.
	Election time.Duration `json:"election,omitzero,format:units"`
}

// MaxElection is etcd's limit.
const MaxElection = 50 * time.Second

func find() role.Find { return role.OnPath(Name, "etcd-server") }

// Role describes the role to an agent.
func Role() role.Role {
	return role.Role{
		Name: Name, Ports: []string{PortClient, PortPeer}, ClientPort: PortClient, PeerPorts: []string{PortPeer},
		Main: run, Leads: leads, Missing: find().Missing, Starts: 1200 * time.Millisecond,
		Version:   find().Version("etcd", "etcd Version: ", "--version"),
		KeepsData: "members of an etcd cluster that forget what they have acknowledged are refused by the others",
	}
}

// run runs a member.
func run(ctx context.Context, node *process.Node) error {
	settings := Settings{Election: time.Second}
	if err := node.Decode(&settings); err != nil {
		return err
	}
	path, err := find()()
	if err != nil {
		return err
	}
	links := map[string]string{}
	for _, p := range settings.Peers {
		links[peerHost(p.Name)] = p.Addr
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the member's own calls: %w", err)
	}
	proxy := &http.Server{Handler: toLinks(links), ReadHeaderTimeout: time.Minute}
	go func() { _ = proxy.Serve(listener) }() // ends with the process
	defer func() { _ = proxy.Close() }()

	data := filepath.Join(node.Dir, "etcd")
	_, err = os.Stat(data)
	returns := err == nil
	client := node.Addrs[PortClient]
	args := arguments(node.Name, data, client, node.Addrs[PortPeer], settings)
	cmd := exec.Command(path, args...) //nolint:noctx // Serve ends it
	cmd.Env = append(os.Environ(), "HTTP_PROXY=http://"+listener.Addr().String())
	// SIGKILL, because on SIGTERM a leader first looks for a successor: for 2 s if all members end.
	return node.Serve(ctx, cmd, syscall.SIGKILL, func(ctx context.Context) error {
		if returns { // a restarted member is ready even without the others
			return listens(ctx, client)
		}
		_, err := status(ctx, client)
		return err
	})
}

// peerHost returns the invalid host name in a member's peer URL.
func peerHost(member string) string { return member + ".members.invalid:2380" }

func arguments(name, data, client, peer string, s Settings) []string {
	cluster := []string{name + "=http://" + peerHost(name)}
	for _, p := range s.Peers {
		cluster = append(cluster, p.Name+"=http://"+peerHost(p.Name))
	}
	slices.Sort(cluster)
	return []string{
		"--name", name, "--data-dir", data, "--log-level", "warn",
		"--listen-client-urls", "http://" + client, "--advertise-client-urls", "http://" + client,
		"--listen-peer-urls", "http://" + peer, "--initial-advertise-peer-urls", "http://" + peerHost(name),
		"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", "new",
		"--heartbeat-interval", fmt.Sprint((s.Election / 10).Milliseconds()),
		"--election-timeout", fmt.Sprint(s.Election.Milliseconds()),
		// The default of etcd 3.5 and later: without it a member that was alone comes back with a
		// higher term, which costs a few elections.
		"--pre-vote",
	}
}

// toLinks is a proxy that maps the members' names to links. It flushes at once, since members
// use requests that never end.
func toLinks(links map[string]string) http.Handler {
	transport := &http.Transport{DisableCompression: true, ForceAttemptHTTP2: false}
	return &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Host = links[r.In.URL.Host]
		},
		// Logs nothing: etcd itself logs a member that does not answer.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
}

func listens(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		err = conn.Close()
	}
	return err
}

// status asks a member for its status. It fails until the member has joined and knows a leader.
func status(ctx context.Context, addr string) (*clientv3.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	s, err := c.Status(ctx, addr)
	if err == nil && s.Leader == 0 {
		err = errors.New("it knows no leader")
	}
	return s, err
}

func leads(ctx context.Context, addr string) (bool, error) {
	s, err := status(ctx, addr)
	return err == nil && s.Leader == s.Header.MemberId, err
}
