//go:build e2e

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/must"
	"locklab/locks/locktest"
	"locklab/workloads/result"
)

// composed is a fresh copy of the work tree that runs in containers.
type composed struct {
	dir, project             string
	port, live, prometheusAt string // ports of this machine
	owner                    int    // whose the copy is
}

// newComposed copies what git would have in a clone. The copy belongs to an
// ordinary user if this test may give it away.
func newComposed(t *testing.T) *composed {
	t.Helper()
	root, err := filepath.Abs("../..")
	must.Do(t, err)
	c := &composed{dir: filepath.Join(t.TempDir(), "clone"), project: fmt.Sprintf("locklab-e2e-%d", os.Getpid()), owner: os.Getuid()}
	if c.owner == 0 {
		c.owner = 12345
	}
	for _, port := range []*string{&c.port, &c.live, &c.prometheusAt} {
		if _, *port, err = net.SplitHostPort(locktest.FreeAddr(t)); err != nil {
			t.Fatal(err)
		}
	}
	const files = "git ls-files -z --cached --others --exclude-standard | while IFS= read -rd '' f; do [ ! -e \"$f\" ] || printf '%s\\0' \"$f\"; done"
	copied := exec.CommandContext(t.Context(), "bash", "-c", files+` | tar -c --null -T - | tar -x -C "$0" && { [ "$1" = "$UID" ] || chown -R "$1:$1" "$0"; }`, c.dir, fmt.Sprint(c.owner))
	copied.Dir = root
	must.Do(t, os.MkdirAll(c.dir, 0o755))
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("copy the work tree: %v\n%s", err, out)
	}
	t.Cleanup(func() { c.takeDown(t) })
	return c
}

// docker runs the client in the copy, with settings for docker compose.
func (c *composed) docker(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "COMPOSE_PROJECT_NAME="+c.project, "REPORT_PORT="+c.port, "LIVE_PORT="+c.live, "PROMETHEUS_PORT="+c.prometheusAt,
		"SERVERS=python3") // for a lock in Python
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("docker %s: %v", strings.Join(args, " "), err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (c *composed) mustDocker(t *testing.T, args ...string) string {
	t.Helper()
	out := c.docker(t, nil, args...)
	if out.code != 0 {
		t.Fatalf("docker %s: exit code %d\n%s\n%s", strings.Join(args, " "), out.code, out.stdout, out.stderr)
	}
	return out.stdout
}

// container is the id of a service's container.
func (c *composed) container(t *testing.T, service string) string {
	t.Helper()
	return strings.TrimSpace(c.mustDocker(t, "compose", "ps", "-a", "-q", service))
}

// follow collects what a container says; the function waits for its end.
func (c *composed) follow(t *testing.T, container string) (*syncBuffer, func()) {
	t.Helper()
	logs := exec.CommandContext(t.Context(), "docker", "logs", "-f", container)
	said := &syncBuffer{}
	logs.Stdout, logs.Stderr = said, said
	must.Do(t, logs.Start())
	return said, func() { _ = logs.Wait() } // it ends with the container
}

// takeDown ends everything and sees that nothing of the project is left. An engine of Docker 20.10 can count endpoints of
// containers that are gone until it restarts: a network that has no container is its own.
func (c *composed) takeDown(t *testing.T) {
	if t.Failed() {
		logs := c.docker(t, nil, "compose", "logs", "--no-log-prefix", "lab")
		t.Logf("the lab said:\n%s%s", logs.stdout, logs.stderr)
	}
	if out := c.docker(t, nil, "compose", "--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "20"); out.code != 0 {
		t.Logf("docker compose down: exit code %d\n%s", out.code, out.stderr)
	}
	for _, kind := range []string{"ps -a -q", "network ls -q", "volume ls -q"} {
		args := append(strings.Fields(kind), "--filter", "label=com.docker.compose.project="+c.project)
		for id := range strings.FieldsSeq(c.mustDocker(t, args...)) {
			if strings.HasPrefix(kind, "network") && strings.TrimSpace(c.mustDocker(t, "network", "inspect", "-f", "{{len .Containers}}", id)) == "0" {
				t.Logf("the engine keeps the network %s, which no container is in", id)
				continue
			}
			t.Errorf("docker %s: left behind: %s", kind, id)
		}
	}
}

func (c *composed) report(name string) string { return filepath.Join(c.dir, "reports", "runs", name) }

// TestE2ECompose is what a user does after cloning: build, compare, look, play, take everything away. What
// the loss of a host does is tested with agents that are processes.
func TestE2ECompose(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "docker", "version").CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: the containers, as no Docker engine answers (docker version: %v)\n%s", err, out)
	}
	prepare := exec.CommandContext(t.Context(), "../../.ci/offline-images")
	if out, err := prepare.CombinedOutput(); err != nil {
		t.Fatalf("prepare images: %v\n%s", err, out)
	}
	c := newComposed(t)
	for _, file := range []string{"docker-compose.yml", "docker-compose.seoul-3az.yml"} {
		if out := c.docker(t, nil, "compose", "-f", file, "config", "-q"); out.code != 0 || out.stdout+out.stderr != "" {
			t.Errorf("%s is not clean: exit code %d\n%s%s", file, out.code, out.stdout, out.stderr)
		}
	}
	c.mustDocker(t, "compose", "build", "-q")
	t.Run("compares", func(t *testing.T) { c.compares(t) })
	t.Run("is played with", func(t *testing.T) { c.isPlayed(t) })
}

func (c *composed) compares(t *testing.T) {
	var out outcome
	var dir string
	for n := range attempts {
		name := fmt.Sprintf("first-%d", n+1)
		dir = c.report(name)
		out = c.docker(t, []string{"DURATION=6s", "LOCKS=none,multiphase,redlock", "SCENARIOS=baseline,zone-failure", "SEED=1", "OUT=" + name},
			"compose", "up", "--exit-code-from", "lab")
		if out.code != 4 {
			break
		}
		t.Logf("attempt %d was inconclusive:\n%s", n+1, out.stdout)
	}
	if out.code != 0 && out.code != 4 { // a machine too busy to decide still has to run all of it
		t.Fatalf("exit code %d\n%s\n%s", out.code, out.stdout, out.stderr)
	}
	for _, want := range []string{"[6/6]", "redlock", "index.html"} { // progress and table
		if said := out.stdout + out.stderr; !strings.Contains(said, want) {
			t.Errorf("the log does not have %q:\n%s", want, said)
		}
	}
	file := read(t, dir)
	for _, scenario := range []string{"baseline", "zone-failure"} {
		if n := row(t, file, "none", scenario).Figures["duplicates"]; n == 0 {
			t.Errorf("none under %s made no duplicates", scenario)
		}
		r := row(t, file, "redlock", scenario)
		if n := r.Figures["duplicates"]; n != 0 || slices.ContainsFunc(r.Faults, func(f result.Fault) bool { return !f.Proven }) {
			t.Errorf("redlock under %s: %v duplicates, faults %+v", scenario, n, r.Faults)
		}
	}
	if v := file.Run.Versions["redis"]; !strings.HasPrefix(v, "redis-server ") {
		t.Errorf("the image has no redis-server: %q", v)
	}
	if file.Run.Topology != "seoul-2az" {
		t.Errorf("topology %q", file.Run.Topology)
	}
	c.checkOwner(t, dir)
}

// checkOwner sees that a report belongs to whom the clone belongs to.
func (c *composed) checkOwner(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if uid := int(info.Sys().(*syscall.Stat_t).Uid); uid != c.owner {
			t.Errorf("%s belongs to %d, not to %d", path, uid, c.owner)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// isPlayed plays with a lock that is a program of the user's, while Prometheus looks on.
func (c *composed) isPlayed(t *testing.T) {
	from := time.Now()
	env := []string{"COMMAND=play", "LOCKS=py-redis", "LOCK_CMD=py-redis=python3 /programs/python/redis_lock.py", "RATE=100", "OUT=third"}
	if out := c.docker(t, env, "compose", "up", "-d", "lab", "prometheus"); out.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", out.code, out.stdout, out.stderr)
	}
	said, ended := c.follow(t, c.container(t, "lab"))
	said.awaitLine(t, "open http://localhost:"+c.live+" in a browser")
	get(t, "http://127.0.0.1:"+c.live+"/")
	for _, path := range []string{"/", "/first-1/", "/first-1/result.json"} {
		get(t, "http://127.0.0.1:"+c.port+path)
	}
	c.checkConfinement(t)
	prometheus := "http://127.0.0.1:" + c.prometheusAt
	hosts := strings.Count(c.mustDocker(t, "compose", "ps", "--format", "{{.Service}}"), "\n") - len([]string{"lab", "report", "prometheus"})
	for query, want := range map[string]int{
		"up == 1": hosts, // all agents are scraped
		`sum(locklab_lock_acquires_total{lock="py-redis",outcome="ok"}) > 0`: 1,
	} {
		locktest.Eventually(t, query, func() bool {
			n, err := ask(t, prometheus, query, from)
			return err == nil && n == want && hosts >= 16
		})
	}
	c.mustDocker(t, "compose", "stop") // as Ctrl-C does
	ended()
	if r := row(t, read(t, c.report("third")), "py-redis", "play"); !r.Played || r.Figures["requests"] == 0 {
		t.Errorf("played %v, %v\n%s", r.Played, r.Figures, said)
	}
	c.checkOwner(t, c.report("third"))
}

// get asks for a page as a browser on this machine does.
func get(t *testing.T, url string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must.Do(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return
	}
	_ = response.Body.Close() // not read
	if response.StatusCode != http.StatusOK {
		t.Errorf("GET %s: %s", url, response.Status)
	}
}

// checkConfinement looks at what containers may do, and that zones meet only where
// the topology says so.
func (c *composed) checkConfinement(t *testing.T) {
	t.Helper()
	ids := strings.Fields(c.mustDocker(t, "compose", "ps", "-q"))
	text := c.mustDocker(t, append([]string{"inspect"}, ids...)...)
	var containers []struct {
		Name       string
		HostConfig struct {
			Privileged, ReadonlyRootfs bool
			CapDrop, SecurityOpt       []string
			NanoCpus, Memory           int64
			PortBindings               map[string][]struct {
				HostIP string `json:"HostIp"` //nolint:tagliatelle // Docker's name
			}
		}
	}
	must.Do(t, json.Unmarshal([]byte(text), &containers))
	if len(containers) < 19 {
		t.Errorf("%d containers, want those of 16 hosts, the lab, the page and Prometheus", len(containers))
	}
	for _, k := range containers {
		h := k.HostConfig
		if h.Privileged || !h.ReadonlyRootfs || !slices.Contains(h.CapDrop, "ALL") ||
			!slices.Contains(h.SecurityOpt, "no-new-privileges:true") || h.NanoCpus == 0 || h.Memory == 0 {
			t.Errorf("%s is not confined: %+v", k.Name, h)
		}
		for port, bindings := range h.PortBindings {
			for _, b := range bindings {
				if b.HostIP != "127.0.0.1" {
					t.Errorf("%s publishes %s on %q", k.Name, port, b.HostIP)
				}
			}
		}
	}
	for _, file := range []string{"/run/locklab/token", "/run/locklab-scrape/token"} {
		token := strings.TrimSpace(c.mustDocker(t, "compose", "exec", "-T", "worker-a-1", "cat", file))
		if len(token) < 32 || strings.Contains(text, token) {
			t.Errorf("the token in %s is short, or docker inspect shows it", file)
		}
	}
	for _, id := range ids {
		for line := range strings.Lines(c.mustDocker(t, "top", id, "-eo", "pid,uid,args")) {
			if fields := strings.Fields(line); fields[1] == "0" {
				t.Errorf("a process of root: %s", line)
			}
		}
	}
	address := strings.TrimSpace(c.mustDocker(t, "inspect", c.container(t, "worker-c-1"), "--format",
		`{{with index .NetworkSettings.Networks "`+c.project+`_zone-c"}}{{.IPAddress}}{{end}}`))
	// Nobody listens on this port: who gets there is refused at once.
	dial := "timeout 3 bash -c '</dev/tcp/" + address + "/9'"
	if out := c.docker(t, nil, "compose", "exec", "-T", "master-a", "sh", "-c", dial); out.code != 1 {
		t.Errorf("master-a does not reach zone c: %d %s", out.code, out.stderr)
	}
	if out := c.docker(t, nil, "compose", "exec", "-T", "worker-a-1", "sh", "-c", dial); out.code == 1 && strings.Contains(out.stderr, "refused") {
		t.Errorf("worker-a-1 reaches zone c, where it has nothing to do: %s", out.stderr)
	}
}
