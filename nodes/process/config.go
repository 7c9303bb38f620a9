package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/strictjson"
)

// ErrInvalid is wrapped by errors about an invalid config file or settings.
var ErrInvalid = errors.New("process: invalid")

// ConfigFile is the file in the node's directory that the agent writes before each start.
const ConfigFile = "node.json"

// Config is a node's configuration, from the agent.
type Config struct {
	Name string `json:"name"`
	Role string `json:"role"`
	Host string `json:"host"`
	// Dir is the node's data directory; it survives a restart with data.
	Dir string `json:"dir"`
	// First says that this is the node's first process, so other nodes have no state of an earlier
	// one. It is false after any restart, with or without data. A reset or the end of the agent
	// starts anew.
	First bool `json:"first,omitzero"`
	// Addrs maps each port name of the role to the address (host:port) to listen on.
	Addrs map[string]string `json:"addrs"`
	// FakeClock starts the server with a wall clock that can be set.
	FakeClock bool `json:"fake_clock,omitzero"`
	// Skew is the error of the node's clock at its start; nil for none.
	Skew *Skew `json:"skew,omitzero"`
	// Settings come from the controller, see Decode.
	Settings jsontext.Value `json:"settings,omitzero"`
}

// Listens returns the host and port number to listen on for a port of the role.
func (c *Config) Listens(port string) (host, number string, err error) {
	host, number, err = net.SplitHostPort(c.Addrs[port])
	if err != nil {
		return "", "", fmt.Errorf("address of port %s: %w", port, err)
	}
	return host, number, nil
}

// Decode reads the settings into a struct. Unknown fields are an error; without settings the
// struct is unchanged.
func (c *Config) Decode(into any) error { return DecodeSettings(c.Settings, into) }

// DecodeSettings reads a node's settings strictly.
func DecodeSettings(settings []byte, into any) error {
	if len(settings) == 0 {
		return nil
	}
	if err := strictjson.Decode(settings, into); err != nil {
		return fmt.Errorf("read node settings: %w: %w", err, ErrInvalid)
	}
	return nil
}

func readConfig(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read node config: %w", err)
	}
	var c Config
	if err := strictjson.Decode(data, &c); err != nil {
		return nil, fmt.Errorf("read node config %s: %w: %w", path, err, ErrInvalid)
	}
	return &c, nil
}

// Environment is the environment of masters, workers and raft servers. A request passes through several
// goroutines that compute little: with GOMAXPROCS=1 they hand over without waking threads, and the nodes of a
// lab share few cores. GOGC=400 costs a few megabytes and saves garbage collections. With three raft servers on
// two cores and one key passed among 16 workers, both together were 25% faster.
func Environment([]byte) ([]string, error) { return []string{"GOMAXPROCS=1", "GOGC=400"}, nil }

// Skew is the error of a clock, see [clock.Skewed].
type Skew struct {
	Offset time.Duration `json:"offset_ns,format:nano"`
	Rate   float64       `json:"rate"` // 1 is right
}
