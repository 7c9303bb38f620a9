package catalog_test

import (
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v4"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/testfile"
)

// TestPackages: every lock server that locklab does not play itself says what a host on
// AWS installs for it, or why it can't; terraform/ reads that.
func TestPackages(t *testing.T) {
	files, err := filepath.Glob("../../../../nodes/*/packages*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no role has a packages.yaml: %v", err)
	}
	said := map[string]bool{}
	for _, file := range files {
		text := testfile.Read(t, file)
		var role struct {
			Role   string
			Amazon struct {
				Packages    []string
				Programs    map[string][]string
				Unavailable string
			} `yaml:"amazon-linux-2023"`
		}
		if err := yaml.Load(text, &role, yaml.WithKnownFields()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if role.Role == "" || (len(role.Amazon.Packages) > 0) == (role.Amazon.Unavailable != "") {
			t.Errorf("%s: want a role, and either packages or why it is unavailable: %+v", file, role)
		}
		said[role.Role] = true
	}
	for _, role := range catalog.ServerRoles() {
		// One that may be missing is another project's program, also where a process of
		// locklab's starts it.
		if (role.Main == nil || role.Missing != nil) && !said[role.Name] {
			t.Errorf("no nodes/*/packages.yaml says what a host needs to play the role %s", role.Name)
		}
	}
}
