// Package terraform_test tests what Terraform does not: what would boot on AWS, as
// local processes and as systemd reads it, and the programs that people call through
// make, against an AWS that is made up. What is decided in HCL is tested by
// terraform test (tests/), which make check runs.
package terraform_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"go.yaml.in/yaml/v4"
)

// render evaluates a template as Terraform does.
func render(t *testing.T, file string, vars map[string]cty.Value) string {
	t.Helper()
	expr, diags := hclsyntax.ParseTemplate([]byte(read(t, file)), file, hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	value, diags := expr.Value(&hcl.EvalContext{Variables: vars, Functions: map[string]function.Function{
		"jsonencode": stdlib.JSONEncodeFunc, "join": stdlib.JoinFunc,
		"startswith": function.New(&function.Spec{
			Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "begin", Type: cty.String}},
			Type:   function.StaticReturnType(cty.Bool),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				return cty.BoolVal(strings.HasPrefix(args[0].AsString(), args[1].AsString())), nil
			},
		}),
	}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return value.AsString()
}

func object(all map[string]string) cty.Value {
	values := map[string]cty.Value{}
	for name, text := range all {
		values[name] = cty.StringVal(text)
	}
	return cty.ObjectVal(values)
}

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

// settings are those that hosts.tf gives every instance, and what a test says.
func settings(more map[string]string) map[string]string {
	all := map[string]string{
		"REGION": "ap-northeast-2", "BUCKET": "lab", "BINARY_KEY": "bin/locklab", "BINARY_SHA256": "0",
		"TOKEN_PARAMETER": "/lab/token", "DEADLINE_PARAMETER": "/lab/deadline",
		"NAME": "driver", "UNITS": "locklab-secrets.service", "PACKAGES": "", "PROGRAMS": "",
	}
	maps.Copy(all, more)
	return all
}

// host is what hosts.tf says of a host.
func host(name, zone string) map[string]string {
	return map[string]string{"NAME": name, "ZONE": zone, "AGENT_PORT": "7500", "ECHO_PORT": "7501", "UNITS": "locklab-agent.service"}
}

// boots is what an instance boots of those directories below files/, read as
// cloud-init would: strictly, as a key that is not here is a mistake, or belongs here
// after a look at cloud-init's schema.
func boots(t *testing.T, more map[string]string, kinds ...string) boot {
	t.Helper()
	files := map[string]string{}
	for _, kind := range append(kinds, "common") {
		root := filepath.Join("files", kind)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				files[strings.TrimPrefix(path, root)] = read(t, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	text := render(t, "templates/user-data.yaml.tftpl", map[string]cty.Value{"files": object(files), "settings": object(settings(more))})
	if !strings.HasPrefix(text, "#cloud-config\n") {
		t.Fatalf("cloud-init would not take this for its configuration: %.40q", text)
	}
	var config struct {
		Users          []any
		SSHPwauth      *bool                                                `yaml:"ssh_pwauth"`
		DisableRoot    *bool                                                `yaml:"disable_root"`
		PackageUpdate  *bool                                                `yaml:"package_update"`
		PackageUpgrade *bool                                                `yaml:"package_upgrade"`
		WriteFiles     []struct{ Path, Owner, Permissions, Content string } `yaml:"write_files"`
		Runcmd         [][]string
	}
	if err := yaml.Load([]byte(text), &config, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	b := boot{}
	for _, f := range config.WriteFiles {
		want := "0644"
		if strings.HasPrefix(f.Path, "/opt/locklab/bin/") {
			want = "0755"
		}
		if f.Permissions != want || f.Owner != "root:root" {
			t.Errorf("%s has mode %s of %s, want %s of root:root", f.Path, f.Permissions, f.Owner, want)
		}
		b[f.Path] = f.Content
	}
	for path, content := range files {
		if b[path] != content {
			t.Errorf("%s does not arrive as it is", path)
		}
	}
	if len(config.Runcmd) != 1 || !slices.Equal(config.Runcmd[0], []string{"/opt/locklab/bin/bootstrap"}) || b["/opt/locklab/bin/bootstrap"] == "" {
		t.Errorf("what runs is %q", config.Runcmd)
	}
	return b
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
	if err := os.MkdirAll(root+"/run/locklab", 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// below moves an instance's paths below a directory.
func below(root, text string) string {
	for _, dir := range []string{"/etc/locklab", "/etc/systemd", "/run/locklab", "/var/l", "/opt/locklab/bin"} {
		text = strings.ReplaceAll(text, dir, root+dir)
	}
	return text
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// write makes a file, which can be executed if it begins as a program does.
func write(t *testing.T, path, content string) {
	t.Helper()
	mode := os.FileMode(0o644)
	if strings.HasPrefix(content, "#!") {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}
