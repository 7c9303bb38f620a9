// Package agenttest lets an agent run nodes for a test, as in the lab.
package agenttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"locklab/internal/httpapi"
	"locklab/internal/must"
	"locklab/nodes/agent"
	"locklab/nodes/diskfault"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

// Node is for TestMain. If an agent has started the test binary as a node, Node runs the node to its end and
// returns true; otherwise it returns false.
func Node(roles ...role.Role) bool {
	if len(os.Args) < 5 || os.Args[1] != "node" {
		return false
	}
	var err error
	if os.Args[2] == "disk" { // node disk -- ARGS
		err = diskfault.Exec(os.Args[4:])
	}
	for _, r := range roles { // node ROLE --config FILE
		if r.Name == os.Args[2] {
			err = process.Run(context.Background(), os.Args[4], r.Main)
		}
	}
	if err != nil {
		panic(err)
	}
	return true
}

// Name returns the name of node i of a role.
func Name(role string, i int) string { return fmt.Sprintf("%s-%d", role, i+1) }

// Start starts n nodes of a role concurrently, and returns the addresses of each. The test binary's TestMain
// must call [Node]. If settings is not nil, it makes the settings of node i from all nodes' addresses. The agent
// and its nodes end with the test.
func Start(
	tb testing.TB, r role.Role, n int, spec agent.NodeSpec, settings func(i int, all []map[string]string) any,
) (client *agent.Client, all []map[string]string) {
	tb.Helper()
	if r.Missing != nil {
		must.Do(tb, r.Missing())
	}
	exe, err := os.Executable()
	must.Do(tb, err)
	c := agent.DefaultConfig()
	c.Host, c.Token, c.Executable, c.Roles, c.StartTimeout = "h", httpapi.NewToken(), exe, []role.Role{r}, time.Minute
	c.DataDir = filepath.Join(tb.TempDir(), `with "quotes" and spaces`)
	host, err := agent.New(c)
	must.Do(tb, err)
	client = agent.NewClient(host.URL(), c.Token)
	tb.Cleanup(func() { client.Close(); must.Do(tb, host.Close()) })
	for i := range n {
		addrs, err := client.Reserve(tb.Context(), Name(r.Name, i), r.Name)
		must.Do(tb, err)
		all = append(all, addrs)
	}
	var starting errgroup.Group
	for i := range n {
		spec := spec
		spec.Name, spec.Role = Name(r.Name, i), r.Name
		if settings != nil {
			spec.Settings, err = json.Marshal(settings(i, all))
			must.Do(tb, err)
		}
		starting.Go(func() error { return client.Start(tb.Context(), spec) })
	}
	must.Do(tb, starting.Wait())
	return client, all
}
