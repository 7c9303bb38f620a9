package agent

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"locklab/internal/httpapi"
	"locklab/nodes/role"
)

// Config is what an agent needs to know; it begins as [DefaultConfig].
type Config struct {
	Host string // the host's name in the topology
	Zone string // its zone's short name

	// Listen is the address of the control API, 127.0.0.1:0 by default.
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
	// Executable is the locklab binary, an absolute path.
	Executable string
	// Version is the version of locklab, of roles that have none of their own.
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
	// Traffic is what the host's links have carried so far, by the node that they lead to, in bytes: to it, and
	// back; nil where there are no links.
	Traffic func() map[string][2]int64

	Log *slog.Logger
}

// DefaultConfig has the defaults filled in. Host, Zone, Token, DataDir, Executable and
// Roles are still to be set.
func DefaultConfig() Config {
	return Config{
		Listen:       "127.0.0.1:0",
		Advertise:    "127.0.0.1",
		StartTimeout: 15 * time.Second,
		StopGrace:    4 * time.Second,
		Log:          slog.New(slog.DiscardHandler),
	}
}

// complete fills Bind in, and says what is wrong with the rest.
func (c *Config) complete() error {
	c.Bind = cmp.Or(c.Bind, c.Advertise)
	bind, noIP := netip.ParseAddr(c.Bind)
	var wrong string
	switch {
	case !validName(c.Host):
		wrong = fmt.Sprintf("host: %q is not a name: want %s", c.Host, nameWanted)
	case noIP != nil || bind.Zone() != "":
		wrong = fmt.Sprintf("bind: %q is not an IP address without a zone: want the one that nodes listen on", c.Bind)
	case c.Token == "":
		wrong = "token: missing: want one that only the controller has"
	case c.ScrapeToken == c.Token:
		wrong = "scrape token: it is the token, which controls the agent: want another one"
	default:
		return nil
	}
	return fmt.Errorf("agent config: %s: %w", wrong, httpapi.ErrInvalid)
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

const nameWanted = "1 to 63 lower-case letters, digits and dashes"

func validName(name string) bool { return namePattern.MatchString(name) }
