package lab

import (
	"fmt"
	"log/slog"
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

// usageEach is how often it is recorded what nodes use.
const usageEach = time.Second

// HostConfig says what one host of the lab is.
type HostConfig struct {
	Name, Zone string
	Listen     string      // of the control API; "" is any port of the loopback
	Advertise  string      // where others reach the host's nodes; "" is 127.0.0.1
	Bind       string      // what nodes listen on; "" is Advertise
	Echo       string      // host:port of the echo service; "" is any port of Bind
	Gates      *link.Gates // shared by the hosts of this process; nil is the host's own
	DataDir    string
	Token      string
	Scrape     string // a token that reads the metrics only; "" is none
	Seed       uint64
	IdleReset  time.Duration
	// Measure is how often the agent records what its machine does; 0 is never, for
	// hosts on the controller's machine, which is measured once for all of them.
	Measure time.Duration
	Log     *slog.Logger
	// Programs are those of locks that masters of this host may run.
	Programs catalog.Programs
}

// Host is an agent with the links that it carries.
type Host struct {
	agent *agent.Agent
	links *link.Host
}

// StartHost starts the agent of a host: in the controller's process for a local
// lab, alone in the process of `locklab agent` elsewhere.
func StartHost(c HostConfig) (*Host, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	links, err := startLinks(c)
	if err != nil {
		return nil, err
	}
	config := agent.DefaultConfig()
	config.Host, config.Zone = c.Name, c.Zone
	if c.Listen != "" {
		config.Listen = c.Listen
	}
	if c.Advertise != "" {
		config.Advertise = c.Advertise
	}
	config.Bind = c.Bind
	config.Token, config.ScrapeToken, config.DataDir, config.Executable = c.Token, c.Scrape, c.DataDir, exe
	build := provenance.ReadBuild()
	config.Version = build.Version
	config.Roles = Roles(c.Programs)
	config.Mounts = map[string]http.Handler{link.Prefix: links.Handler()}
	config.Collectors = []prometheus.Collector{links, metrics.Build(build.Version, build.Commit)}
	config.OnReset = links.Clear
	config.IdleReset = c.IdleReset
	config.Measure, config.Usage = c.Measure, usageEach
	config.Traffic = func() (all []agent.Traffic) {
		for _, t := range links.Traffic() {
			all = append(all, agent.Traffic(t))
		}
		return all
	}
	config.Log = c.Log
	a, err := agent.New(config)
	if err != nil {
		links.Close()
		return nil, err
	}
	return &Host{agent: a, links: links}, nil
}

func startLinks(c HostConfig) (*link.Host, error) {
	config := link.DefaultConfig()
	config.Host = c.Name
	config.Seed = seed.Seed(c.Seed).Child("links/" + c.Name)
	config.Log = c.Log
	config.Gates = c.Gates
	bind := c.Bind
	if bind == "" {
		bind = c.Advertise
	}
	switch {
	case c.Echo != "":
		_, port, err := net.SplitHostPort(c.Echo)
		if err != nil {
			return nil, fmt.Errorf("echo address %q: want host:port: %w", c.Echo, err)
		}
		config.EchoListen = c.Echo
		if port != "0" && c.Advertise != "" {
			config.EchoAdvertise = net.JoinHostPort(c.Advertise, port)
		}
	case bind != "":
		config.EchoListen = net.JoinHostPort(bind, "0")
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
