package terraform_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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
		var files []string
		for _, unit := range b.units() {
			// The programs are below root, and the analyzer looks for them at the top.
			path := filepath.Join(root, "/etc/systemd/system", unit)
			write(t, path, regexp.MustCompile(`(?m)^(Exec[A-Za-z]*=[+-]?)(/)`).ReplaceAllString(b.unit(unit), "${1}"+root+"$2"))
			files = append(files, path)
		}
		out, err := analyze(t, append([]string{"verify", "--man=no", "--generators=no"}, files...)...)
		if err != nil || strings.Contains(out, root) || strings.Contains(out, "locklab-") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestHardening: what the nodes run in exposes little, by systemd's own measure
// (0 to 10, of which an unprotected service has 9.6).
func TestHardening(t *testing.T) {
	for unit, b := range map[string]boot{"locklab-agent.service": boots(t, host("raft-c", "c"), "host"), "locklab-run.service": boots(t, nil, "driver")} {
		path := filepath.Join(t.TempDir(), unit)
		write(t, path, b.unit(unit))
		if out, err := analyze(t, "security", "--offline=true", "--no-pager", "--threshold=40", path); err != nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
		if !strings.Contains(b.unit(unit), "\nUser=locklab\n") {
			t.Errorf("%s does not run as an ordinary user", unit)
		}
	}
}
