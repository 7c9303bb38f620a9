package process

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/strictjson"
)

// ErrInvalid is wrapped by errors about a config file or settings that cannot be used.
var ErrInvalid = errors.New("process: invalid")

// ConfigFile is the name, inside the node's directory, of the file that the agent
// writes before each start.
const ConfigFile = "node.json"

// Config is what an agent tells a node.
type Config struct {
	Name string `json:"name"`
	Role string `json:"role"`
	Host string `json:"host"`
	Zone string `json:"zone"`
	// Dir is the node's data directory; it survives a restart with data.
	Dir string `json:"dir"`
	// First says that this is the node's first process: none before it can have left traces
	// in other nodes. A restart is none, with data or without. An agent forgets it with a reset,
	// and when it ends.
	First bool `json:"first,omitzero"`
	// Addrs maps each port name of the role to the address (host:port) to listen on.
	Addrs map[string]string `json:"addrs"`
	// FakeClock has a server start with a wall clock that can be set.
	FakeClock bool `json:"fake_clock,omitzero"`
	// Skew is what is wrong with the node's clock at its start; nil is nothing.
	Skew *Skew `json:"skew,omitzero"`
	// Settings is what the controller sent, see Decode.
	Settings jsontext.Value `json:"settings,omitzero"`
}

// Listens is where to listen for a port of the role.
func (c *Config) Listens(port string) (host, number string, err error) {
	host, number, err = net.SplitHostPort(c.Addrs[port])
	if err != nil {
		return "", "", fmt.Errorf("address of port %s: %w", port, err)
	}
	return host, number, nil
}

// Decode reads the settings into a struct. A field that the struct does not have
// is an error; no settings leave it as it is.
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

// Environment is what masters and workers find in theirs. A request passes through
// several goroutines of a node and none of them computes much: on one processor they
// hand over without waking threads, and the nodes of a lab share few of those. A
// small heap that is collected less often costs a few megabytes. A raft server gets the same: measured on two
// cores with three of them, one key handed on among 16 workers, that was a quarter faster.
func Environment([]byte) ([]string, error) { return []string{"GOMAXPROCS=1", "GOGC=400"}, nil }
