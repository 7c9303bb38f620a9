// Package terraform_test tests what Terraform does not: what boots on AWS, as local
// processes and as systemd reads it, and the programs that people call through make,
// against an AWS that is made up. What is decided in HCL is tested by terraform test
// (tests/), which make check runs.
package terraform_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
)

// boot is what an instance finds on its disk, by path.
type boot map[string]string

func (b boot) unit(name string) string { return b["/etc/systemd/system/"+name] }

func (b boot) units() (names []string) {
	for path := range b {
		if strings.HasPrefix(path, "/etc/systemd/system/") {
			names = append(names, filepath.Base(path))
		}
	}
	return slices.Sorted(slices.Values(names))
}

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
