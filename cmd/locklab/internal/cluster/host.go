package cluster

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"locklab/chaos/link"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/provenance"
	"locklab/internal/metrics"
	"locklab/internal/seed"
	"locklab/nodes/agent"
)

// usageEach is the time between two samples of what nodes use.
const usageEach = time.Second

// HostConfig is a host's agent, of which Host, DataDir and Token are needed, with the links that it carries.
type HostConfig struct {
	agent.Config
	Echo     string           // host:port of the echo service; "" is any port of Bind
	Gates    *link.Gates      // shared by the hosts of this process; nil is the host's own
	Seed     uint64           // of the links' jitter
	Programs catalog.Programs // those of locks that masters of this host may run
}

// Host is an agent with the links that it carries.
type Host struct {
	agent *agent.Agent
	links *link.Host
}

// StartHost starts the agent of a host, in the process of the controller or of `locklab agent`.
func StartHost(c HostConfig) (*Host, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	links, err := startLinks(c)
	if err != nil {
		return nil, err
	}
	build := provenance.ReadBuild()
	config := c.Config
	config.Executable, config.Version, config.Roles = exe, build.Version, catalog.Roles(c.Programs)
	config.Mounts = map[string]http.Handler{link.Prefix: links.Handler()}
	config.Collectors = []prometheus.Collector{links, metrics.Build(build.Version, build.Commit)}
	config.OnReset, config.Usage = links.Clear, usageEach
	config.Traffic = links.Traffic
	a, err := agent.New(config)
	if err != nil {
		links.Close()
		return nil, err
	}
	return &Host{agent: a, links: links}, nil
}

func startLinks(c HostConfig) (*link.Host, error) {
	config := link.DefaultConfig()
	config.Host, config.Log, config.Gates = c.Host, c.Log, c.Gates
	config.Seed = seed.Seed(c.Seed).Child("links/" + c.Host)
	config.EchoListen = cmp.Or(c.Echo, net.JoinHostPort(cmp.Or(c.Bind, c.Advertise), "0"))
	_, port, err := net.SplitHostPort(config.EchoListen)
	if err != nil {
		return nil, fmt.Errorf("echo address %q: want host:port: %w", c.Echo, err)
	}
	if port != "0" && c.Advertise != "" {
		config.EchoAdvertise = net.JoinHostPort(c.Advertise, port)
	}
	return link.NewHost(config)
}

// URL is where the control API answers.
func (h *Host) URL() string { return h.agent.URL() }

// Close stops the host's nodes and links.
func (h *Host) Close() error {
	err := h.agent.Close()
	h.links.Close()
	return err
}
