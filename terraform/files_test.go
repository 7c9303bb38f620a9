package terraform_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	json "github.com/go-json-experiment/json/v1"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func glob(t *testing.T, patterns ...string) (files []string) {
	t.Helper()
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no file is called %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	return files
}

// TestShell: bash can read every script, each ends at an error, and can be executed.
func TestShell(t *testing.T) {
	for _, file := range glob(t, "files/*/opt/locklab/bin/*", "scripts/*") {
		if out, err := exec.Command("bash", "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
		if text := read(t, file); !strings.HasPrefix(text, "#!") || !strings.Contains(text, "\nset -euo pipefail\n") {
			t.Errorf("%s goes on after an error", file)
		}
		if info, err := os.Stat(file); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s cannot be executed: %v", file, err)
		}
	}
}

// blocks are the blocks of a kind in files, by their labels.
func blocks(t *testing.T, kind string, files ...string) map[string]*hclsyntax.Body {
	t.Helper()
	found := map[string]*hclsyntax.Body{}
	for _, file := range files {
		parsed, diags := hclsyntax.ParseConfig([]byte(read(t, file)), file, hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, block := range parsed.Body.(*hclsyntax.Body).Blocks {
			if block.Type == kind {
				found[strings.Join(block.Labels, ".")] = block.Body
			}
		}
	}
	return found
}

// TestVariables: the README has a row for each, and the example names only those there
// are, with their defaults.
func TestVariables(t *testing.T) {
	readme, variables := read(t, "README.md"), blocks(t, "variable", "variables.tf")
	for name := range variables {
		if !strings.Contains(readme, "| `"+name+"` |") {
			t.Errorf("README.md has no row for the variable %s", name)
		}
	}
	parsed, diags := hclsyntax.ParseConfig([]byte(read(t, "terraform.tfvars.example")), "terraform.tfvars.example", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for name, attr := range parsed.Body.(*hclsyntax.Body).Attributes {
		if variables[name] == nil {
			t.Errorf("%s: there is no variable %s", attr.SrcRange, name)
			continue
		}
		value, _ := attr.Expr.Value(nil)
		standard, _ := variables[name].Attributes["default"].Expr.Value(nil)
		if !value.RawEquals(standard) {
			t.Errorf("%s: %#v is not the default %#v, so copying the example would change it", attr.SrcRange, value, standard)
		}
	}
	blocks(t, "terraform", "backend.tf.example") // it can be read
}

// TestDeployerPolicy allows what make calls, to make each kind of resource, and what the
// provider asks for each kind of data source.
func TestDeployerPolicy(t *testing.T) {
	var policy struct {
		Statement []struct{ Action any }
	}
	if err := json.Unmarshal([]byte(read(t, "deployer-policy.json")), &policy); err != nil {
		t.Fatal(err)
	}
	var allowed []string
	for _, s := range policy.Statement {
		switch action := s.Action.(type) {
		case string:
			allowed = append(allowed, action)
		case []any:
			for _, a := range action {
				allowed = append(allowed, a.(string))
			}
		}
	}
	check := func(action, why string) {
		if !slices.ContainsFunc(allowed, func(pattern string) bool { ok, _ := path.Match(pattern, action); return ok }) {
			t.Errorf("deployer-policy.json does not allow %s, for %s", action, why)
		}
	}
	for _, call := range regexp.MustCompile(`\b(?:aws|call) (ec2|ssm|fis|s3) ([a-z-]+)`).FindAllStringSubmatch(read(t, "scripts/lab"), -1) {
		action := ""
		for word := range strings.SplitSeq(call[2], "-") {
			action += strings.ToUpper(word[:1]) + word[1:]
		}
		check(call[1]+":"+action, "scripts/lab")
	}
	creates := map[string]string{
		"default_security_group": "ec2:RevokeSecurityGroupEgress", "instance": "ec2:RunInstances", "ec2_managed_prefix_list": "ec2:CreateManagedPrefixList",
		"route_table_association": "ec2:AssociateRouteTable", "vpc_security_group_ingress_rule": "ec2:AuthorizeSecurityGroupIngress",
		"vpc_security_group_egress_rule": "ec2:AuthorizeSecurityGroupEgress", "iam_role_policy": "iam:PutRolePolicy",
		"iam_role_policy_attachment": "iam:AttachRolePolicy", "ssm_parameter": "ssm:PutParameter",
	}
	services := map[string]string{"iam": "iam", "s3": "s3", "ssm": "ssm", "scheduler": "scheduler", "fis": "fis"}
	for name := range blocks(t, "resource", glob(t, "*.tf")...) {
		kind, aws := strings.CutPrefix(strings.Split(name, ".")[0], "aws_")
		if !aws {
			continue
		}
		action := creates[kind]
		if action == "" { // aws_fis_experiment_template: fis:CreateExperimentTemplate
			service, rest, _ := strings.Cut(kind, "_")
			if services[service] == "" {
				service, rest = "ec2", kind
			}
			action = service + ":Create"
			for word := range strings.SplitSeq(rest, "_") {
				action += strings.ToUpper(word[:1]) + word[1:]
			}
		}
		check(action, name)
	}
	reads := map[string][]string{
		"aws_caller_identity": {"sts:GetCallerIdentity"}, "aws_partition": nil, "aws_ssm_parameter": {"ssm:GetParameter"},
		"aws_ec2_instance_type": {"ec2:DescribeInstanceTypes"}, "aws_ec2_instance_type_offerings": {"ec2:DescribeInstanceTypeOfferings"},
		// The provider asks for the default first, and for the account's own if it has one.
		"aws_servicequotas_service_quota": {"servicequotas:GetAWSDefaultServiceQuota", "servicequotas:GetServiceQuota"},
	}
	for name := range blocks(t, "data", glob(t, "*.tf")...) {
		actions, known := reads[strings.Split(name, ".")[0]]
		if !known {
			t.Errorf("what does the provider ask AWS for data.%s?", name)
		}
		for _, action := range actions {
			check(action, "data."+name)
		}
	}
}

// TestTheEndComesFirst: what costs by the hour waits for the schedule that ends it, and
// that waits for none of it.
func TestTheEndComesFirst(t *testing.T) {
	end := blocks(t, "resource", "stop.tf")["aws_scheduler_schedule.stop"]
	resources := blocks(t, "resource", glob(t, "*.tf")...)
	for _, name := range []string{"aws_instance.host", "aws_instance.driver", "aws_vpc_endpoint.api"} {
		waits := map[string]bool{}
		if attr := resources[name].Attributes["depends_on"]; attr != nil {
			for _, to := range attr.Expr.Variables() {
				waits[to.RootName()+"."+to[1].(hcl.TraverseAttr).Name] = true
			}
		}
		if !waits["aws_scheduler_schedule.stop"] {
			t.Errorf("%s may be there before anything would end it", name)
		}
	}
	if end == nil || strings.Contains(read(t, "stop.tf"), "aws_instance.") || strings.Contains(read(t, "stop.tf"), "aws_vpc_endpoint.") {
		t.Error("the end waits for what it ends")
	}
}
