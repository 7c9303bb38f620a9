package agent

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"

	"locklab/internal/httpapi"
	"locklab/nodes/diskfault"
	"locklab/nodes/role"
)

// Config configures an agent. Start from [DefaultConfig].
type Config struct {
	Host string // the host's name in the topology
	Zone string // its zone's short name

	// Listen is the address of the control API, 127.0.0.1:0 by default.
	Listen string
	// Advertise is the IP address or name at which others reach this host's nodes,
	// 127.0.0.1 by default.
	Advertise string
	// Bind is the IP address that nodes listen on; by default Advertise, which must
	// then be an IP address.
	Bind string
	// Token must come with every request, since other users of the machine reach the loopback, too.
	Token string
	// ScrapeToken allows only to read the metrics, for Prometheus; Token allows that, too. "" is none.
	ScrapeToken string

	// DataDir, an absolute path, holds a directory for each node. It is created if it is missing.
	DataDir string
	// Executable is the locklab binary, an absolute path.
	Executable string
	// Version is the version of locklab, for roles that have none of their own.
	Version string
	// Roles are the roles that may run here.
	Roles []role.Role
	// Mounts are more handlers for the control API, by pattern such as "/v1/links/".
	// They see the whole path and are behind the same token and limits.
	Mounts map[string]http.Handler
	// Collectors are more metrics for Prometheus, with the labels host and zone.
	Collectors []prometheus.Collector
	// OnReset, unless nil, is called when the agent was reset and has no nodes.
	OnReset func()

	// StartTimeout bounds the time until a node is ready, 15 s by default.
	StartTimeout time.Duration
	// StopGrace bounds the time until a node ends on SIGTERM, 4 s by default.
	StopGrace time.Duration
	// IdleReset resets the agent after this time without a request, because a controller
	// that died cannot end its nodes; 0 never does.
	IdleReset time.Duration
	// Measure is the interval at which the agent records the load of its machine while it runs
	// nodes; 0 never does.
	Measure time.Duration
	// Usage is the interval at which the agent records the resources that its nodes use; 0 never does.
	Usage time.Duration
	// Traffic returns the bytes that the host's links have carried so far, by the node that they lead to:
	// to it, and back. It is nil if there are no links.
	Traffic func() map[string][2]int64

	Log *slog.Logger
}

// DefaultConfig returns the defaults. Host, Zone, Token, DataDir, Executable and Roles
// must still be set.
func DefaultConfig() Config {
	return Config{
		Listen:       "127.0.0.1:0",
		Advertise:    "127.0.0.1",
		StartTimeout: 15 * time.Second,
		StopGrace:    4 * time.Second,
		Log:          slog.New(slog.DiscardHandler),
	}
}

// complete fills in Bind, and checks the rest.
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

// NodeSpec is a node to start.
type NodeSpec struct {
	Name     string         `json:"-"` // in the path of a request
	Role     string         `json:"role"`
	Settings jsontext.Value `json:"settings,omitzero"` // for the role; nil for none
	// FakeClock gives the node a wall clock that [Client.SetClock] can set, if its role has one.
	FakeClock bool `json:"fake_clock,omitzero"`
	// Disk are the calls to watch, for [Client.SetDisk] or [Client.CutPower]; "" for none.
	Disk diskfault.Calls `json:"disk,omitzero"`
}

// Health is an agent's description of itself.
type Health struct {
	Host string `json:"host"`
	// Instance changes when the agent is started or reset: each instance numbers its events anew.
	Instance  string `json:"instance"`
	NextEvent uint64 `json:"next_event"` // the number of the next event
}

// The errors of the agent's API besides those of every API (see [httpapi.ErrInvalid]). Errors of an
// Agent wrap one of these, and so do those of a Client, on the other side of the wire.
var (
	// ErrStart says that a node did not start or did not become ready.
	ErrStart = errors.New("node did not start")
	// ErrLate is an ErrStart of a node that may only have needed more time.
	ErrLate = fmt.Errorf("%w in time", ErrStart)
	// ErrEventsLost says that the agent no longer has the requested events.
	ErrEventsLost = errors.New("events lost")
)

func kinds() []httpapi.Kind {
	return []httpapi.Kind{
		{Is: ErrEventsLost, Name: "events-lost", Status: http.StatusGone},
		{Is: ErrLate, Name: "late", Status: http.StatusGatewayTimeout},
		{Is: ErrStart, Name: "start", Status: http.StatusInternalServerError},
	}
}
