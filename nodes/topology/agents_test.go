package topology_test

import (
	"errors"
	"testing"

	"locklab/internal/must"
	"locklab/nodes/topology"
)

func TestWithAgents(t *testing.T) {
	local := load(t, "seoul-2az")
	local.Hosts[1].Agent = "http://10.0.0.1:1"
	away, err := local.WithAgents("http://{host}.control:7500")
	must.Do(t, err)
	if got, want := away.Hosts[0].Agent, "http://master-a.control:7500"; got != want {
		t.Errorf("the agent of master-a is %q, want %q", got, want)
	}
	if got, want := away.Hosts[1].Agent, "http://10.0.0.1:1"; got != want {
		t.Errorf("an agent that was named became %q, want %q", got, want)
	}
	if local.Hosts[0].Agent != "" {
		t.Error("the original was changed")
	}
	for _, bad := range []string{"", "http://agent:7500", "{host}:7500", "ftp://{host}", "http://u:p@{host}:1", "http://{host}/path"} {
		if _, err := local.WithAgents(bad); !errors.Is(err, topology.ErrInvalid) {
			t.Errorf("%q: want ErrInvalid, got %v", bad, err)
		}
	}
}
