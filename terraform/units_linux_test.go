package terraform_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// install writes what an instance would boot below a directory, with programs where
// the units call them.
func install(t *testing.T, b boot) (root string) {
	t.Helper()
	root = t.TempDir()
	b = maps.Clone(b)
	for _, program := range []string{"/opt/locklab/bin/locklab", "/usr/bin/systemctl"} {
		b[program] = "#!/bin/sh\n"
	}
	for path, content := range b {
		mode := os.FileMode(0o644)
		if strings.Contains(path, "/bin/") {
			mode = 0o755
		}
		write(t, filepath.Join(root, path), content, mode)
	}
	return root
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
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

// TestUnits has systemd itself read every unit of every kind of instance.
func TestUnits(t *testing.T) {
	all := boots(t, plain(t, everything()))
	for _, name := range []string{"master-a", "redis-c", "driver"} {
		b := all[name]
		root := install(t, b)
		var files []string
		for _, unit := range b.units() {
			// The programs are below root, and the analyzer looks for them at the top.
			path := filepath.Join(root, "/etc/systemd/system", unit)
			content := regexp.MustCompile(`(?m)^(Exec[A-Za-z]*=[+-]?)(/)`).ReplaceAllString(b.unit(unit), "${1}"+root+"$2")
			write(t, path, content, 0o644)
			files = append(files, path)
		}
		out, err := analyze(t, append([]string{"verify", "--man=no", "--generators=no"}, files...)...)
		if err != nil || strings.Contains(out, root) || strings.Contains(out, "locklab-") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestUnitsAreReallyRead: what is wrong in a unit does not go by unnoticed.
func TestUnitsAreReallyRead(t *testing.T) {
	for _, wrong := range []string{"ExecStart=/bin/true\nRestrat=always", "ExecStart=/no/such/program", "ExecStart=/bin/true\nRestartSec=soon"} {
		path := filepath.Join(t.TempDir(), "locklab-wrong.service")
		write(t, path, "[Service]\n"+wrong+"\n", 0o644)
		if out, err := analyze(t, "verify", "--man=no", "--generators=no", path); err == nil && !strings.Contains(out, path) && !strings.Contains(out, "locklab-wrong") {
			t.Errorf("%q was taken: %s", wrong, out)
		}
	}
}

// TestHardening: what the nodes run in exposes little, by systemd's own measure
// (0 to 10, of which an unprotected service has 9.6).
func TestHardening(t *testing.T) {
	all := boots(t, plain(t, nil))
	for unit, b := range map[string]boot{"locklab-agent.service": all["raft-c"], "locklab-run.service": all["driver"]} {
		path := filepath.Join(t.TempDir(), unit)
		write(t, path, b.unit(unit), 0o644)
		if out, err := analyze(t, "security", "--offline=true", "--no-pager", "--threshold=40", path); err != nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
		if !strings.Contains(b.unit(unit), "\nUser=locklab\n") {
			t.Errorf("%s does not run as an ordinary user", unit)
		}
	}
}
