package agent

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"locklab/internal/httpapi"
	"locklab/nodes/role"
)

// Config is what an agent needs to know; it begins as [DefaultConfig].
type Config struct {
	Host string // the host's name in the topology
	Zone string // its zone's short name

	// Listen is the address of the control API, 127.0.0.1:0 by default. Requests may
	// name the agent by an IP address, localhost, Host, Advertise or the name here.
	Listen string
	// Advertise is the IP address or name at which others reach this host's nodes,
	// 127.0.0.1 by default.
	Advertise string
	// Bind is the IP address that nodes listen on; by default Advertise, which must
	// be an IP address then.
	Bind string
	// Token is what every request must bear: others use the loopback too.
	Token string
	// ScrapeToken reads the metrics and does nothing else: Prometheus need not be trusted with the hosts.
	// "" is none; Token reads them too.
	ScrapeToken string

	// DataDir, an absolute path, holds a directory for each node. It is created if it is missing.
	DataDir string
	// Executable is the locklab binary, an absolute path, for roles that it implements.
	Executable string
	// Version is the version of locklab, of roles that it implements.
	Version string
	// Roles are what may run here.
	Roles []role.Role
	// Mounts are more handlers for the control API, by pattern such as "/v1/links/".
	// They see the whole path and are behind the same token and limits.
	Mounts map[string]http.Handler
	// Collectors are more to serve to Prometheus, with the labels host and zone.
	Collectors []prometheus.Collector
	// OnReset is called when the agent was reset and has no nodes; nil for nothing.
	OnReset func()

	// StartTimeout is how long a node may take to become ready, 15 s by default.
	StartTimeout time.Duration
	// StopGrace is how long a node may take to end on SIGTERM, 4 s by default.
	StopGrace time.Duration
	// IdleReset resets the agent when no request has come for so long, as a
	// controller that died can no longer end its nodes; 0 never does.
	IdleReset time.Duration
	// Measure is how often the agent records what its machine does while it runs nodes;
	// 0 never does.
	Measure time.Duration
	// Usage is how often the agent records what its nodes use; 0 never does.
	Usage time.Duration
	// Traffic is what went through the links of the host, by the node that they lead to; nil
	// where there are none.
	Traffic func() []Traffic

	Log *slog.Logger

	// watchdog ends the nodes of a dead agent where the kernel does not.
	watchdog bool
}

// DefaultConfig has the defaults filled in. Host, Zone, DataDir, Executable and
// Roles are still to be set.
func DefaultConfig() Config {
	return Config{
		Listen:       "127.0.0.1:0",
		Advertise:    "127.0.0.1",
		StartTimeout: 15 * time.Second,
		StopGrace:    4 * time.Second,
		Log:          slog.New(slog.DiscardHandler),
		watchdog:     runtime.GOOS != "linux",
	}
}

func (c *Config) validate() error {
	var bad error
	refuse := func(field, format string, args ...any) {
		if bad == nil {
			bad = fmt.Errorf("agent config: %s: %s: %w", field, fmt.Sprintf(format, args...), httpapi.ErrInvalid)
		}
	}
	if !validName(c.Host) {
		refuse("host", "%q is not a name: want %s", c.Host, nameWanted)
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		refuse("listen", "%q is not an address: want HOST:PORT such as 127.0.0.1:7500", c.Listen)
	}
	if c.Token == "" {
		refuse("token", "missing: want one that only the controller has")
	}
	if addr, err := netip.ParseAddr(c.Bind); err != nil {
		refuse("bind", "%q is not an IP address: want the one that nodes listen on, such as 127.0.0.1", c.Bind)
	} else if addr.Zone() != "" {
		refuse("bind", "%q has a zone: want an IP address without one", c.Bind)
	}
	if _, err := netip.ParseAddr(c.Advertise); strings.ContainsAny(c.Advertise, "/ :") && err != nil {
		refuse("advertise", "%q is not a host: want an IP address or a name, without a port", c.Advertise)
	}
	for name, token := range map[string]string{"token": c.Token, "scrape token": c.ScrapeToken} {
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			refuse(name, "it has characters that no header can carry: want letters, digits and signs")
		}
	}
	if c.ScrapeToken != "" && c.ScrapeToken == c.Token {
		refuse("scrape token", "it is the token, which controls the agent: want another one")
	}
	return bad
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

const nameWanted = "1 to 63 lower-case letters, digits and dashes"

func validName(name string) bool { return namePattern.MatchString(name) }
