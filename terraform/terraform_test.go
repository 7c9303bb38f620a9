// Package terraform_test checks the Terraform files without an account and without
// providers: that they are well formed, that every reference leads somewhere, what
// they evaluate to, and that what would boot on AWS works as local processes.
package terraform_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"locklab/nodes/topology"
)

// plain evaluates the module with addresses that could be AWS's.
func plain(t *testing.T, settings map[string]cty.Value) *world {
	t.Helper()
	next := netip.MustParseAddr("10.75.1.10")
	given := map[string]string{}
	return loadModule(t).evaluate(t, settings, "terraform_test.go", func(host string) string {
		if given[host] == "" {
			given[host] = next.String()
			next = next.Next()
		}
		return given[host]
	})
}

// everything is switched on.
func everything() map[string]cty.Value {
	return map[string]cty.Value{"topology": cty.StringVal("seoul-3az"), "fis_enabled": cty.True, "redis_package": cty.StringVal("valkey")}
}

func TestFormat(t *testing.T) {
	for _, file := range slices.Concat(glob(t, "*.tf"), glob(t, "tests/*.tftest.hcl")) {
		if src := read(t, file); !bytes.Equal(hclwrite.Format(src), src) {
			t.Errorf("%s is not formatted: run terraform fmt -recursive", file)
		}
	}
	if terraform, err := exec.LookPath("terraform"); err == nil {
		if out, err := exec.Command(terraform, "fmt", "-check", "-recursive", "-no-color").Output(); err != nil {
			t.Errorf("terraform fmt -check: %v\n%s", err, out)
		}
	}
}

func TestFilesHaveTheirSubjects(t *testing.T) {
	for _, file := range []string{"network.tf", "hosts.tf", "driver.tf", "iam.tf", "storage.tf", "fis.tf", "variables.tf", "outputs.tf", "versions.tf"} {
		read(t, file)
	}
	for file, body := range loadModule(t).bodies {
		for _, block := range body.Blocks {
			if home := map[string]string{"variable": "variables.tf", "output": "outputs.tf", "terraform": "versions.tf", "provider": "versions.tf"}[block.Type]; home != "" && home != file {
				t.Errorf("%s: a %s belongs into %s", block.Range(), block.Type, home)
			}
		}
	}
}

func TestVariablesAndOutputsAreDescribed(t *testing.T) {
	m := loadModule(t)
	for name, block := range m.variables {
		for _, attr := range []string{"type", "description", "default"} {
			if block.Body.Attributes[attr] == nil {
				t.Errorf("variable %s has no %s", name, attr)
			}
		}
	}
	for name, block := range m.outputs {
		if block.Body.Attributes["description"] == nil {
			t.Errorf("output %s has no description", name)
		}
	}
}

func TestProvidersArePinned(t *testing.T) {
	versions := string(read(t, "versions.tf"))
	used := map[string]bool{}
	for address := range loadModule(t).resources {
		kind := strings.TrimPrefix(address, "data.")
		provider, _, _ := strings.Cut(kind, "_")
		if provider != "terraform" { // it is built in
			used[provider] = true
		}
	}
	for provider := range used {
		pinned := regexp.MustCompile(provider + ` = \{\s+source\s+= "hashicorp/` + provider + `"\s+version = "~> [0-9.]+"`)
		if !pinned.MatchString(versions) {
			t.Errorf("versions.tf does not pin the provider %s", provider)
		}
	}
	if !regexp.MustCompile(`required_version = ">= [0-9.]+, < [0-9.]+"`).MatchString(versions) {
		t.Error("versions.tf does not bound the version of Terraform")
	}
}

// TestReferences: whatever is named is there, and whatever is there is named.
func TestReferences(t *testing.T) {
	m := loadModule(t)
	used := map[string]bool{}
	check := func(block *hclsyntax.Block, body *hclsyntax.Body) {
		iterators := map[string]bool{}
		var find func(*hclsyntax.Body)
		find = func(b *hclsyntax.Body) {
			for _, inner := range b.Blocks {
				if inner.Type == "dynamic" {
					iterators[inner.Labels[0]] = true
				}
				find(inner.Body)
			}
		}
		find(body)
		walk(body, func(expr hclsyntax.Expression) {
			for _, traversal := range expr.Variables() {
				address, _ := split(traversal)
				kind, name, _ := strings.Cut(address, ".")
				known := true
				switch {
				case iterators[kind], kind == "path", kind == "each":
				case kind == "var":
					known = m.variables[name] != nil
				case kind == "local":
					known = m.locals[name] != nil
				case name == "": // ignore_changes = [ami], type = string
					known = block != nil && (block.Type == "variable" || block.Body.Attributes[kind] != nil)
				default:
					known = m.resources[address] != nil
				}
				if !known {
					t.Errorf("%s: there is no %s", traversal.SourceRange(), address)
				}
				used[address] = true
			}
		})
	}
	for _, body := range m.bodies {
		for _, block := range body.Blocks {
			check(block, block.Body)
		}
	}
	for name, block := range m.variables {
		// A variable that only its own validation reads is not used.
		if users := usersOf(m, "var."+name, block); users == 0 {
			t.Errorf("variable %s is used by nothing", name)
		}
	}
	for name := range m.locals {
		if !used["local."+name] {
			t.Errorf("local %s is used by nothing", name)
		}
	}
	for address := range m.resources {
		if strings.HasPrefix(address, "data.") && !used[address] {
			t.Errorf("%s is used by nothing", address)
		}
	}
	sources := ""
	for file := range m.bodies {
		sources += string(read(t, file))
	}
	for _, file := range slices.Concat(glob(t, "files/*"), glob(t, "templates/*")) {
		if !strings.Contains(sources, `"`+filepath.Base(file)+`"`) && !strings.Contains(sources, file) {
			t.Errorf("%s is used by nothing", file)
		}
	}
}

// usersOf counts who reads a variable outside of its own block.
func usersOf(m *module, want string, own *hclsyntax.Block) (users int) {
	for _, body := range m.bodies {
		for _, block := range body.Blocks {
			if block == own {
				continue
			}
			walk(block.Body, func(expr hclsyntax.Expression) {
				for _, traversal := range expr.Variables() {
					if address, _ := split(traversal); address == want {
						users++
					}
				}
			})
		}
	}
	return users
}

// TestEverythingEvaluates: every expression of every instance, preconditions and
// outputs included.
func TestEverythingEvaluates(t *testing.T) {
	spot := map[string]cty.Value{"spot": cty.True, "architecture": cty.StringVal("x86_64"), "instance_types": cty.MapVal(map[string]cty.Value{"raft": cty.StringVal("c7i.large")})}
	for name, settings := range map[string]map[string]cty.Value{"default": nil, "everything": everything(), "spot": spot} {
		t.Run(name, func(t *testing.T) {
			w := plain(t, settings)
			for address := range w.m.resources {
				for key, c := range w.all(address) {
					for _, lifecycle := range c.blocks["lifecycle"] {
						for _, p := range lifecycle.blocks["precondition"] {
							if p.at(t, "condition").False() {
								t.Errorf("%s[%s]: %s", address, key, p.text(t, "error_message"))
							}
						}
					}
				}
			}
			for _, block := range w.m.outputs {
				w.body(block.Body, nil)
			}
		})
	}
}

// TestValidation: what variables take and what they refuse.
func TestValidation(t *testing.T) {
	number := func(n float64) cty.Value { return cty.NumberFloatVal(n) }
	counts := func(role, zone string, n float64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{role: cty.ObjectVal(map[string]cty.Value{zone: number(n)})})
	}
	types := func(role string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{role: cty.StringVal("c7g.medium")})
	}
	tests := []struct {
		name      string
		good, bad []cty.Value
	}{
		{"name", texts("lab", "lock-lab-2"), texts("", "Lab", "1lab", "lab-", strings.Repeat("a", 21))},
		{"region", texts("us-east-1", "ap-northeast-2", "us-gov-west-1"), texts("", "seoul", "ap-northeast-2a")},
		{"topology", texts("seoul-2az", "seoul-3az"), texts("", "my.yaml")},
		{"architecture", texts("arm64", "x86_64"), texts("amd64")},
		{"instance_type", texts("t4g.small", "c7g.xlarge", "u-6tb1.56xlarge"), texts("", "small")},
		{"driver_instance_type", texts("c7g.large"), texts("large")},
		{"instance_types", []cty.Value{types("raft")}, []cty.Value{types("driver")}},
		{
			"host_counts",
			[]cty.Value{counts("worker", "a", 1), counts("raft", "c", 0)},
			[]cty.Value{counts("workers", "a", 1), counts("worker", "b", 1), counts("worker", "a", -1), counts("worker", "a", 1.5), counts("worker", "a", 21), counts("master", "a", 0)},
		},
		{"volume_gib", []cty.Value{number(8), number(500)}, []cty.Value{number(7), number(8.5), number(501)}},
		{"max_hours", []cty.Value{number(1), number(72)}, []cty.Value{number(0), number(1.5), number(73)}},
		{"redis_package", texts("redis6", "valkey"), texts("redis", "redis6; reboot")},
		{"vpc_cidr", texts("10.0.0.0/16"), texts("10.0.0.0/24", "10.0.0.0")},
		{"fis_minutes", []cty.Value{number(1), number(60)}, []cty.Value{number(0), number(61)}},
	}
	for _, tt := range tests {
		for _, value := range tt.good {
			if !valid(t, map[string]cty.Value{tt.name: value}) {
				t.Errorf("%s refuses %#v", tt.name, value)
			}
		}
		for _, value := range tt.bad {
			if valid(t, map[string]cty.Value{tt.name: value}) {
				t.Errorf("%s takes %#v", tt.name, value)
			}
		}
	}
	if valid(t, map[string]cty.Value{"spot": cty.True, "fis_enabled": cty.True}) {
		t.Error("Spot instances cannot be stopped by an experiment, and that is accepted")
	}
	if !valid(t, nil) {
		t.Error("the defaults are not valid")
	}
}

func texts(all ...string) (values []cty.Value) {
	for _, s := range all {
		values = append(values, cty.StringVal(s))
	}
	return values
}

func valid(t *testing.T, settings map[string]cty.Value) bool {
	t.Helper()
	w := plain(t, settings)
	for _, block := range w.m.variables {
		for _, validation := range block.Body.Blocks {
			if w.value(validation.Body.Attributes["condition"].Expr, nil).False() {
				return false
			}
		}
	}
	return true
}

// TestTopologyIsTheBuiltIn: the map in topology.tf is the topology of the same name,
// host by host and in the same order; only agents and latency are AWS's.
func TestTopologyIsTheBuiltIn(t *testing.T) {
	builtin, err := topology.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range builtin {
		if len(want.Zones) == 1 {
			continue // a single host is for ceilings on a laptop, not for AWS
		}
		t.Run(want.Name, func(t *testing.T) {
			w := plain(t, map[string]cty.Value{"topology": cty.StringVal(want.Name)})
			got, err := topology.Parse("topology.yaml", []byte(w.all("aws_s3_object.topology")[""].text(t, "content")))
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.Hosts {
				if address := "http://" + w.addr(got.Hosts[i].Name) + ":7500"; got.Hosts[i].Agent != address {
					t.Errorf("the agent of %s is %s, want %s", got.Hosts[i].Name, got.Hosts[i].Agent, address)
				}
				got.Hosts[i].Agent = ""
			}
			if got.Latency.Inside.RTT != 0 || got.Latency.Between.RTT != 0 {
				t.Errorf("real zones have their own latency, and %+v is added", got.Latency)
			}
			got.Latency = want.Latency
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if hosts := w.all("aws_instance.host"); len(hosts) != len(want.Hosts) {
				t.Errorf("%d instances for %d hosts", len(hosts), len(want.Hosts))
			}
			for name, host := range w.all("aws_instance.host") {
				placed, _ := want.Host(name)
				zone, _ := want.Zone(placed.Zone)
				subnet := w.all("aws_subnet.zone")[placed.Zone]
				if subnet.text(t, "availability_zone") != zone.Name {
					t.Errorf("%s is not in %s", name, zone.Name)
				}
				if id := host.text(t, "subnet_id"); id != "aws_subnet-zone-"+placed.Zone+"-id" {
					t.Errorf("%s is in %s", name, id)
				}
			}
		})
	}
}

func TestHostCounts(t *testing.T) {
	w := plain(t, map[string]cty.Value{"host_counts": cty.ObjectVal(map[string]cty.Value{
		"worker": cty.ObjectVal(map[string]cty.Value{"a": cty.NumberIntVal(1), "c": cty.NumberIntVal(2)}),
		"raft":   cty.ObjectVal(map[string]cty.Value{"a": cty.NumberIntVal(0), "c": cty.NumberIntVal(0)}),
	})})
	got, err := topology.Parse("topology.yaml", []byte(w.all("aws_s3_object.topology")[""].text(t, "content")))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range got.Hosts {
		names = append(names, h.Name)
	}
	want := []string{"master-a", "master-c", "worker-a", "worker-c-1", "worker-c-2", "redis-a-1", "redis-a-2", "redis-a-3", "redis-c-1", "redis-c-2"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// TestDependencies: depends_on names what exists, which Terraform would say only
// with the providers.
func TestDependencies(t *testing.T) {
	m := loadModule(t)
	for address, block := range m.resources {
		attr := block.Body.Attributes["depends_on"]
		if attr == nil {
			continue
		}
		for _, item := range attr.Expr.(*hclsyntax.TupleConsExpr).Exprs {
			traversal, diags := hcl.AbsTraversalForExpr(item)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if to, _ := split(traversal); m.resources[to] == nil {
				t.Errorf("%s depends on %s, which is not there", address, to)
			}
		}
	}
}

// TestMockedTests: the files for terraform test name variables, outputs and
// resources that exist.
func TestMockedTests(t *testing.T) {
	m := loadModule(t)
	for _, file := range glob(t, "tests/*.tftest.hcl") {
		runs := 0
		for _, block := range parse(t, file).Blocks {
			switch block.Type {
			case "mock_provider":
			case "run":
				runs++
				checkRun(t, m, block)
			case "variables":
				checkVariables(t, m, block)
			default:
				t.Errorf("%s: what is a %s block?", block.Range(), block.Type)
			}
		}
		if runs == 0 {
			t.Errorf("%s runs nothing", file)
		}
	}
}

func checkVariables(t *testing.T, m *module, block *hclsyntax.Block) {
	t.Helper()
	for name := range block.Body.Attributes {
		if m.variables[name] == nil {
			t.Errorf("%s: there is no variable %s", block.Range(), name)
		}
	}
}

func checkRun(t *testing.T, m *module, run *hclsyntax.Block) {
	t.Helper()
	for _, block := range run.Body.Blocks {
		if block.Type == "variables" {
			checkVariables(t, m, block)
		}
	}
	walk(run.Body, func(expr hclsyntax.Expression) {
		for _, traversal := range expr.Variables() {
			address, rest := split(traversal)
			kind, name, _ := strings.Cut(address, ".")
			known := false
			switch kind {
			case "var":
				known = m.variables[name] != nil
			case "local":
				known = m.locals[name] != nil
			case "output":
				known = m.outputs[name] != nil
			case "plan", "apply":
				known = len(rest) == 0
			default:
				known = m.resources[address] != nil
			}
			if !known {
				t.Errorf("%s: there is no %s", traversal.SourceRange(), address)
			}
		}
	})
}

func TestReadmeNamesEveryVariable(t *testing.T) {
	readme := string(read(t, "README.md"))
	for name := range loadModule(t).variables {
		if !strings.Contains(readme, fmt.Sprintf("| `%s` |", name)) {
			t.Errorf("README.md has no row for the variable %s", name)
		}
	}
}
