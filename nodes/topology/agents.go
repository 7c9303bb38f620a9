package topology

import (
	"fmt"
	"strings"
)

// hostMark stands for a host's name in the URL that [Topology.WithAgents] takes.
const hostMark = "{host}"

// WithAgents is the topology with a running agent for every host that names none:
// at a URL such as http://{host}:7500, in which {host} stands for its name.
func (t *Topology) WithAgents(url string) (*Topology, error) {
	if host, ok := agentHost(strings.ReplaceAll(url, hostMark, "host")); !ok || !strings.Contains(url, hostMark) || !strings.Contains(host, "host") {
		return nil, fmt.Errorf("%q is not the address of every host's agent: want one such as http://%s:7500: %w", url, hostMark, ErrInvalid)
	}
	with := *t
	with.Hosts = nil
	for _, h := range t.Hosts {
		if h.Agent == "" {
			h.Agent = strings.ReplaceAll(url, hostMark, h.Name)
		}
		with.Hosts = append(with.Hosts, h)
	}
	return &with, nil
}
