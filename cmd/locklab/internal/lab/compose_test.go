package lab

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/cluster"
	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/nodes/topology"
)

// composeFile is what these tests read of a compose file.
type composeFile struct {
	Services map[string]struct {
		Extends   struct{ File, Service string }
		Hostname  string
		Command   []string
		DependsOn []string `yaml:"depends_on"`
		Networks  any
	}
	Networks map[string]struct{ Internal bool }
}

// networksOf lists a service's networks with its aliases on each.
func networksOf(t *testing.T, networks any) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	switch networks := networks.(type) {
	case []any:
		for _, name := range networks {
			found[name.(string)] = nil
		}
	case map[string]any:
		for name, settings := range networks {
			found[name] = nil
			aliases, _ := settings.(map[string]any)["aliases"].([]any)
			for _, alias := range aliases {
				found[name] = append(found[name], alias.(string))
			}
		}
	default:
		t.Fatalf("networks are a %T", networks)
	}
	return found
}

// TestComposeFilesAreTheTopologies: the hosts of a compose file are those of the
// topology, and zones meet only where something dials from one into another.
func TestComposeFilesAreTheTopologies(t *testing.T) {
	for file, name := range map[string]string{"docker-compose.yml": "seoul-2az", "docker-compose.seoul-3az.yml": "seoul-3az"} {
		t.Run(name, func(t *testing.T) {
			text := testfile.Read(t, filepath.Join("..", "..", "..", "..", file))
			var compose composeFile
			must.Do(t, yaml.Load(text, &compose))
			topo, err := topology.Load(name)
			must.Do(t, err)
			if !strings.Contains(string(text), "TOPOLOGY: ${TOPOLOGY:-"+name+"}") {
				t.Error("the lab does not run this topology")
			}
			dialed := zonesDialed(t, topo)
			wantNetworks := []string{"control", "page"}
			for _, z := range topo.Zones {
				wantNetworks = append(wantNetworks, "zone-"+z.Short)
			}
			for _, network := range wantNetworks {
				if got, ok := compose.Networks[network]; !ok || got.Internal != (network != "page") {
					t.Errorf("network %s: there %v, internal %v", network, ok, got.Internal)
				}
			}
			headline := topo.Subset(configFor(t, topo, strings.Join(catalog.DefaultLocks(), ",")).roles()...)
			services := []string{"lab", "report", "prometheus", "grafana"}
			for _, h := range topo.Hosts {
				services = append(services, h.Name)
				s := compose.Services[h.Name]
				_, always := headline.Host(h.Name) // others are there if they are asked for
				if s.Extends.Service != map[bool]string{true: "host", false: "server"}[always] || s.Hostname != h.Name {
					t.Errorf("host %s: it extends %q, its hostname is %q", h.Name, s.Extends.Service, s.Hostname)
				}
				command := []string{
					"--host=" + h.Name, "--zone=" + h.Zone, "--listen=" + h.Name + ".control:7500", "--bind=" + h.Name + ".zone-" + h.Zone,
				}
				if !slices.Equal(s.Command, command) {
					t.Errorf("host %s: command %q, want %q", h.Name, s.Command, command)
				}
				networks := networksOf(t, s.Networks)
				want := map[string][]string{"control": {h.Name + ".control", "agents.control"}, "zone-" + h.Zone: {h.Name + ".zone-" + h.Zone}}
				for _, zone := range dialed[h.Name] {
					if zone != h.Zone {
						want["zone-"+zone] = nil
					}
				}
				if len(networks) != len(want) {
					t.Errorf("host %s: networks %v, want %v", h.Name, networks, want)
				}
				for network, aliases := range want {
					if got, ok := networks[network]; !ok || !slices.Equal(got, aliases) {
						t.Errorf("host %s: on %s as %v, want %v", h.Name, network, got, aliases)
					}
				}
				if slices.Contains(compose.Services["lab"].DependsOn, h.Name) != always {
					t.Errorf("%s: the lab depends on it must be %v", h.Name, always)
				}
			}
			lab := networksOf(t, compose.Services["lab"].Networks)
			for _, network := range wantNetworks { // it dials masters, and shows the live page
				if _, on := lab[network]; !on || len(lab) != len(wantNetworks) {
					t.Errorf("the lab is on %v: want %v", lab, wantNetworks)
				}
			}
			for name := range compose.Services {
				if !slices.Contains(services, name) {
					t.Errorf("service %s is no host of the topology", name)
				}
			}
		})
	}
}

// zonesDialed is, for every host, the zones of the hosts that it dials with any of
// the locks.
func zonesDialed(t *testing.T, topo *topology.Topology) map[string][]string {
	t.Helper()
	var specs []string
	for _, name := range catalog.WithVariants() { // which may have servers of their own
		specs = append(specs, strings.TrimSuffix(name, ":"))
	}
	topo, err := topo.WithAgents("http://{host}:7500")
	must.Do(t, err)
	config := configFor(t, topo, "none")
	config.Names.Locks = specs
	must.Do(t, config.readLocks())
	dialed := map[string][]string{}
	for _, lock := range config.Locks {
		for _, pair := range cluster.NewLayout(lock, topo, "test", 1).HostPairs() {
			to, _ := topo.Host(pair[1])
			dialed[pair[0]] = append(dialed[pair[0]], to.Zone)
		}
	}
	return dialed
}

// TestPrometheusHasNoControl: its container has the token that reads metrics, where its
// scrape file says, and not the one that controls the agents.
func TestPrometheusHasNoControl(t *testing.T) {
	read := func(into any, path ...string) {
		t.Helper()
		text := testfile.Read(t, filepath.Join(append([]string{"..", "..", "..", ".."}, path...)...))
		must.Do(t, yaml.Load(text, into))
	}
	var compose struct {
		Services map[string]struct {
			Entrypoint any // a list, or a command line
			Volumes    []any
		}
	}
	read(&compose, "compose", "services.yml")
	var scrape struct {
		Configs []struct {
			Authorization struct {
				File string `yaml:"credentials_file"`
			}
		} `yaml:"scrape_configs"`
	}
	read(&scrape, "reports", "grafana", "prometheus.yml")
	file := scrape.Configs[0].Authorization.File
	volume := "scrape:" + filepath.Dir(file)
	host, prometheus := compose.Services["host"], compose.Services["prometheus"]
	if !strings.Contains(fmt.Sprint(host.Entrypoint), " --scrape-token-file="+file+" ") || !slices.Contains(host.Volumes, any(volume)) {
		t.Errorf("agents do not make %s: %v with %v", file, host.Entrypoint, host.Volumes)
	}
	if !slices.Contains(prometheus.Volumes, any(volume+":ro")) {
		t.Errorf("Prometheus cannot read %s: it has %v", file, prometheus.Volumes)
	}
	for _, v := range prometheus.Volumes {
		if name, is := v.(string); is && strings.HasPrefix(name, "token:") {
			t.Errorf("Prometheus has the token of the agents: %s", name)
		}
	}
}
