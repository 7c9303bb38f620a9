// Package terraform_test tests what Terraform does not: what boots on AWS, as local
// processes and as systemd reads it, and the programs that people call through make,
// against an AWS that is made up. What is decided in HCL is tested by terraform test
// (tests/), which make check runs.
package terraform_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/nodes/topology"
	"locklab/workloads/result"
)

// boot is what an instance finds on its disk, by path.
type boot map[string]string

const units = "/etc/systemd/system/"

// boots is what an instance finds of those directories below files/, and of its settings:
// those that instances.tf gives every instance, and more.
func boots(t *testing.T, more map[string]string, kinds ...string) boot {
	t.Helper()
	b := boot{}
	for _, kind := range append(kinds, "common") {
		root := filepath.Join("files", kind)
		must.Do(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				b[strings.TrimPrefix(path, root)] = read(t, path)
			}
			return err
		}))
	}
	settings := map[string]string{
		"REGION": "ap-northeast-2", "BUCKET": "lab", "BINARY_KEY": "bin/locklab", "BINARY_SHA256": "0",
		"TOKEN_PARAMETER": "/lab/token", "DEADLINE_PARAMETER": "/lab/deadline", "AGENT_PORT": "7500", "ECHO_PORT": "7501",
		"NAME": "driver", "UNITS": "locklab-secrets.service", "PACKAGES": "", "PROGRAMS": "",
	}
	maps.Copy(settings, more)
	for name, value := range settings {
		b["/etc/locklab/lab.env"] += fmt.Sprintf("%s=%q\n", name, value)
	}
	return b
}

// host is what instances.tf says of a host.
func host(name, zone string) map[string]string {
	return map[string]string{"NAME": name, "ZONE": zone, "AGENT_PORT": "7500", "ECHO_PORT": "7501", "UNITS": "locklab-agent.service"}
}

// install writes what an instance would boot below a directory, where its programs
// look for it then.
func (b boot) install(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for path, content := range b {
		if strings.HasPrefix(path, "/opt/") {
			content = below(root, content)
		}
		write(t, root+path, content)
	}
	must.Do(t, os.MkdirAll(root+"/run/locklab", 0o755))
	return root
}

// below moves an instance's paths below a directory.
func below(root, text string) string {
	for _, dir := range []string{"/etc/locklab", "/etc/systemd", "/run/locklab", "/var/l", "/opt/locklab/bin"} {
		text = strings.ReplaceAll(text, dir, root+dir)
	}
	return text
}

func read(t *testing.T, file string) string { return string(testfile.Read(t, file)) }

// write makes a file, which can be executed if it begins as a program does.
func write(t *testing.T, path, content string) {
	t.Helper()
	testfile.Write(t, path, content)
	if strings.HasPrefix(content, "#!") {
		must.Do(t, os.Chmod(path, 0o700))
	}
}

// service is what systemd would start of a unit, with its directory of credentials and its state below root: a
// shell replaces its settings as systemd does.
func (b boot) service(t *testing.T, unit, root string, settings map[string]string) *exec.Cmd {
	t.Helper()
	command := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(b[units+unit])
	if command == nil {
		t.Fatalf("no ExecStart in %s", unit)
	}
	cmd := exec.Command("sh", "-uc", "exec "+below(root, strings.ReplaceAll(command[1], "%d", root+"/credentials")))
	cmd.Env, cmd.SysProcAttr = os.Environ(), &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	for name, value := range settings {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// TestBoot runs a small lab as it boots on AWS: the agents' command lines out of the user
// data of every host, and a comparison with the driver's command line on the topology
// that Terraform renders. Only addresses and directories are others.
func TestBoot(t *testing.T) {
	const file = "tests/small.yaml"
	small, err := topology.Load(file)
	must.Do(t, err)
	root, rendered := t.TempDir(), read(t, file)
	out, err := exec.Command("go", "build", "-C", "..", "-buildvcs=false", "-o", root+"/opt/locklab/bin/locklab", "./cmd/locklab").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write(t, root+"/credentials/token", "token-of-this-test\n")
	net := fmt.Sprintf("127.%d.%d.", 2+rand.IntN(250), rand.IntN(256)) // all of 127.0.0.0/8 is the loopback
	for i, h := range small.Hosts {
		own := host(h.Name, h.Zone)
		own["LOCKLAB_IP"] = fmt.Sprint(net, i+1) // each host has the real ports
		state := root + "/" + h.Name
		must.Do(t, os.MkdirAll(state, 0o755))
		must.Do(t, os.Symlink(root+"/credentials", state+"/credentials"))
		must.Do(t, os.Symlink(root+"/opt", state+"/opt"))
		agent, said := boots(t, own, "host").service(t, "locklab-agent.service", state, own), &bytes.Buffer{}
		agent.Stderr = said
		must.Do(t, agent.Start())
		t.Cleanup(func() {
			_ = agent.Process.Signal(syscall.SIGTERM)
			if _ = agent.Wait(); t.Failed() {
				t.Logf("%s said %s", h.Name, said)
			}
		})
		rendered = strings.Replace(rendered, h.Agent, "http://"+own["LOCKLAB_IP"]+":7500", 1)
	}
	write(t, root+"/etc/locklab/topology.yaml", rendered)
	driver := boots(t, nil, "driver").service(t, "locklab-run.service", root, map[string]string{
		"RUN":  "2025-01-02T03-04-05",
		"ARGS": "--locks none,multiphase,redlock,raft --scenarios baseline --duration 2s --warmup 1s --rate 200 --seed 1 --wait 1m",
	})
	driver.Env = append(driver.Env, "LOCKLAB_COMMIT=0123456789ab+dirty")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = driver.Process.Kill() })
	out, _ = driver.CombinedOutput()
	// A busy machine cannot always keep the load (4) or grant in time (2 for liveness);
	// safety is looked at below.
	if code := driver.ProcessState.ExitCode(); code != 0 && code != 2 && code != 4 {
		t.Fatalf("%s\nexit code %d\n%s", driver, code, out)
	}
	results, err := result.Read(filepath.Join(root, "/var/lib/locklab/runs/2025-01-02T03-04-05", result.FileName))
	must.Do(t, err)
	if results.Run.Topology != "seoul-2az" || len(results.Rows) != 4 || results.Run.Commit != "0123456789ab+dirty" {
		t.Fatalf("topology %s, commit %s, %d results\n%s", results.Run.Topology, results.Run.Commit, len(results.Rows), out)
	}
	for _, row := range results.Rows {
		if row.Figures["rooms"] == 0 || row.Lock != "none" && row.Figures["duplicates"] != 0 {
			t.Errorf("%s: %v", row.Lock, row.Figures)
		}
	}
}

// analyze is systemd-analyze, without which nothing says whether systemd takes the
// units.
func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Fatal("systemd-analyze is missing: on Debian and Ubuntu it is in the package systemd")
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_COLORS=0", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestUnits has systemd itself read every unit of both kinds of instance.
func TestUnits(t *testing.T) {
	for name, b := range map[string]boot{"host": boots(t, host("redis-a", "a"), "host"), "driver": boots(t, nil, "driver", "fis")} {
		root := b.install(t)
		write(t, root+"/opt/locklab/bin/locklab", "#!/bin/sh\n")
		args := []string{"verify", "--man=no", "--generators=no"}
		for path, text := range b {
			if strings.HasPrefix(path, units) {
				// The programs are below root, and the analyzer looks for them at the top.
				write(t, root+path, regexp.MustCompile(`(?m)^(Exec[A-Za-z]*=[+-]?)(/)`).ReplaceAllString(text, "${1}"+root+"$2"))
				args = append(args, root+path)
			}
		}
		out, err := analyze(t, args...)
		if err != nil || strings.Contains(out, root) || strings.Contains(out, "locklab-") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestTheEndComesFirst: what costs by the hour waits for the schedule that ends it, and
// that waits for none of it.
func TestTheEndComesFirst(t *testing.T) {
	for file, name := range map[string]string{"instances.tf": `"aws_instance" "lab"`, "network.tf": `"aws_vpc_endpoint" "api"`} {
		if !regexp.MustCompile(`(?ms)^resource ` + name + ` \{\n.*?depends_on = \[[^\]]*aws_scheduler_schedule\.stop`).MatchString(read(t, file)) {
			t.Errorf("%s may be there before anything would end it", name)
		}
	}
	if end := read(t, "stop.tf"); strings.Contains(end, "aws_instance.") || strings.Contains(end, "aws_vpc_endpoint.") {
		t.Error("the end waits for what it ends")
	}
}
