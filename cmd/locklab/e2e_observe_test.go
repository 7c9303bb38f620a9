//go:build e2e

package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/locks/locktest"
)

// grafanaDir has what Prometheus and Grafana are given.
var grafanaDir = filepath.Join("..", "..", "reports", "grafana")

// dashboard is what this test reads of a dashboard of Grafana's.
type dashboard struct {
	Panels []struct {
		Type, Title string
		Datasource  struct{ UID string }
		Targets     []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Query struct{ Query string } }
	}
}

// readDashboard reads the dashboard, all of whose panels ask the data source that is provisioned.
func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	must.Do(t, json.Unmarshal(testfile.Read(t, filepath.Join(grafanaDir, "dashboards", "locklab.json")), &d))
	provisioned := string(testfile.Read(t, filepath.Join(grafanaDir, "provisioning", "datasources", "prometheus.yml")))
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.Datasource.UID == "" || !strings.Contains(provisioned, "uid: "+p.Datasource.UID) {
			t.Errorf("panel %q: data source %q, %d queries", p.Title, p.Datasource.UID, len(p.Targets))
		}
		for _, q := range p.Targets {
			for _, label := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(q.LegendFormat, -1) {
				grouped := regexp.MustCompile(`by \(([^)]*)\)`).FindStringSubmatch(q.Expr)
				if grouped != nil && !strings.Contains(grouped[1], label[1]) {
					t.Errorf("panel %q: the legend wants %s, by which %s is not grouped", p.Title, label[1], q.Expr)
				}
			}
		}
	}
	return d
}

// needs skips the test where the program is not installed.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed here: apt-get install prometheus, or make deps", program)
	}
}

// prometheus runs a real one with the scrape file of the Compose profile, but for who the
// agents are and where their token is, and gives its URL.
func prometheus(t *testing.T, targets []string) string {
	t.Helper()
	var config map[string]any
	must.Do(t, yaml.Load(testfile.Read(t, filepath.Join(grafanaDir, "prometheus.yml")), &config))
	job := config["scrape_configs"].([]any)[0].(map[string]any)
	delete(job, "dns_sd_configs")
	job["static_configs"] = []any{map[string]any{"targets": targets}}
	job["authorization"] = map[string]any{"credentials_file": write(t, "token", scrapeSecret)}
	text, err := yaml.Dump(config)
	must.Do(t, err)
	file, addr := write(t, "prometheus.yml", string(text)), locktest.FreeAddr(t)
	if out := finish(t, command(t, nil, "promtool", "check", "config", file)); out.code != 0 {
		t.Fatalf("promtool check config:\n%s%s\n%s", out.stdout, out.stderr, text)
	}
	cmd := command(t, nil, "prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(t.TempDir(), "tsdb"), "--web.listen-address="+addr)
	said := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = said, said
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("prometheus said:\n%s", said)
		}
	})
	return "http://" + addr
}

// ask asks Prometheus for what a query gives from begin until now, each second.
func ask(t *testing.T, prometheus, query string, begin time.Time) (series int, _ error) {
	t.Helper()
	form := url.Values{"query": {query}, "start": {fmt.Sprint(begin.Unix())}, "end": {fmt.Sprint(time.Now().Unix())}, "step": {"1"}}
	answer, err := http.PostForm(prometheus+"/api/v1/query_range", form)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	var found struct {
		Status, Error string
		Data          struct{ Result []any }
	}
	if err := json.NewDecoder(answer.Body).Decode(&found); err != nil {
		return 0, err
	}
	if found.Status != "success" {
		t.Fatalf("%s: %s", query, found.Error)
	}
	return len(found.Data.Result), nil
}

// silent are the queries of panels that have had no data since then.
func (d dashboard) silent(t *testing.T, prometheus string, since time.Time) (found []string) {
	t.Helper()
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			query := strings.NewReplacer("$__rate_interval", "8s", "$host", ".*").Replace(q.Expr)
			if n, err := ask(t, prometheus, query, since); err != nil || n == 0 {
				found = append(found, fmt.Sprintf("panel %q: no data for %s: %v", p.Title, query, err))
			}
		}
	}
	return found
}

// TestE2EDashboard: a real Prometheus scrapes the agents of a real lab, in which a link is
// cut, and every query of the dashboard has data. What an agent serves has no fault that
// promtool knows. Grafana itself is in no Debian package, so that what it reads is only checked
// for its form.
func TestE2EDashboard(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	needs(t, "prometheus")
	needs(t, "promtool")
	names := append(twoZones(), "raft-a")
	hosts, topology := startAway(t, names...)
	var targets []string
	for _, h := range hosts {
		targets = append(targets, h.addr)
	}
	from := time.Now()
	server := prometheus(t, targets)
	locktest.Eventually(t, "all agents are scraped", func() bool {
		up, err := ask(t, server, "up == 1", from)
		return err == nil && up == len(names)
	})

	dir := filepath.Join(t.TempDir(), "out")
	lab := begin(t, bearer, "run", "--topology", write(t, "observed.yaml", topology), "--locks", "raft", "--scenarios", "zone-partition",
		"--duration", "10s", "--out", dir)
	awaitStage(t, dir, 1, "measuring")
	page := finish(t, command(t, nil, "curl", "-sS", "--fail", "-H", "Authorization: Bearer "+scrapeSecret, "http://"+hosts["master-a"].addr+"/metrics"))
	check := command(t, nil, "promtool", "check", "metrics")
	check.Stdin = strings.NewReader(page.stdout)
	if out := finish(t, check); page.code != 0 || out.code != 0 || out.stdout+out.stderr != "" {
		t.Errorf("promtool check metrics: exit code %d\n%s%s\n%s", out.code, out.stdout, out.stderr, page.stderr)
	}
	forbidden := finish(t, command(t, nil, "curl", "-sS", "-o", os.DevNull, "-w", "%{http_code}",
		"-H", "Authorization: Bearer "+scrapeSecret, "http://"+hosts["master-a"].addr+"/v1/health"))
	if forbidden.stdout != "403" {
		t.Errorf("with Prometheus's token: %s%s, want 403", forbidden.stdout, forbidden.stderr)
	}
	if code := lab.end(); code == 1 || code == -1 { // its verdict is the machine's
		t.Fatalf("the run ended with %d", code)
	}
	for _, silent := range d.silent(t, server, from) {
		t.Error(silent)
	}
	hostNames := regexp.MustCompile(`label_values\((\w+), (\w+)\)`).ReplaceAllString(d.Templating.List[0].Query.Query, `count by ($2) ($1)`)
	for _, query := range []string{
		`sum(locklab_link_faults{kind=~"hold|drop"}) > 0`, `sum(locklab_lock_acquires_total{lock="raft",outcome="ok"}) > 0`, hostNames,
	} {
		if n, err := ask(t, server, query, from); err != nil || n == 0 {
			t.Errorf("nothing for %s: %v", query, err)
		}
	}
}
