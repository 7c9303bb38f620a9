package terraform_test

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	json "github.com/go-json-experiment/json/v1"

	"locklab/internal/must"
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

// blocks are the blocks of a kind in all .tf files, by their labels: resource, data, variable.
func blocks(t *testing.T, kind string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, file := range glob(t, "*.tf") {
		for _, match := range regexp.MustCompile(`(?ms)^`+kind+` "([^\n]*)" \{\n(.*?)^\}`).FindAllStringSubmatch(read(t, file), -1) {
			found[strings.ReplaceAll(match[1], `" "`, ".")] = match[2]
		}
	}
	return found
}

// TestVariables: the README has a row for each, and the example names only those there
// are, with their defaults.
func TestVariables(t *testing.T) {
	readme, variables := read(t, "README.md"), blocks(t, "variable")
	for name := range variables {
		if !strings.Contains(readme, "| `"+name+"` |") {
			t.Errorf("README.md has no row for the variable %s", name)
		}
	}
	for _, set := range regexp.MustCompile(`(?m)^(\w+) *= (.*)$`).FindAllStringSubmatch(read(t, "terraform.tfvars.example"), -1) {
		if !regexp.MustCompile(`(?m)^  default +=  *` + regexp.QuoteMeta(set[2]) + `$`).MatchString(variables[set[1]]) {
			t.Errorf("terraform.tfvars.example: %s is not the default of a variable, so copying the example would change it", set[0])
		}
	}
}

// calls are those that Terraform makes for each kind of resource and of data source: to
// make it, to read it, to change what can be changed here, to remove it. The source is
// the provider's own, github.com/hashicorp/terraform-provider-aws, and what else is named;
// with what AWS checks besides (the column "Dependent actions" of
// docs.aws.amazon.com/service-authorization).
var calls = map[string]struct{ source, actions string }{
	"aws_caller_identity":             {"internal/service/sts/caller_identity_data_source.go", "sts:GetCallerIdentity"},
	"data.aws_ssm_parameter":          {"internal/service/ssm/parameter_data_source.go", "ssm:GetParameter"},
	"aws_ec2_instance_type":           {"internal/service/ec2/ec2_instance_type_data_source.go", "ec2:DescribeInstanceTypes"},
	"aws_ec2_instance_type_offerings": {"internal/service/ec2/ec2_instance_type_offerings_data_source.go", "ec2:DescribeInstanceTypeOfferings"},
	"aws_servicequotas_service_quota": {"internal/service/servicequotas/service_quota_data_source.go", "servicequotas:GetAWSDefaultServiceQuota servicequotas:GetServiceQuota"},

	"aws_vpc":                             {"internal/service/ec2/vpc_.go", "ec2:CreateVpc ec2:CreateTags ec2:DeleteTags ec2:ModifyVpcAttribute ec2:DescribeVpcs ec2:DescribeVpcAttribute ec2:DescribeNetworkAcls ec2:DescribeRouteTables ec2:DescribeSecurityGroups ec2:DeleteVpc"},
	"aws_subnet":                          {"internal/service/ec2/vpc_subnet.go", "ec2:CreateSubnet ec2:DescribeSubnets ec2:ModifySubnetAttribute ec2:DescribeNetworkInterfaces ec2:DeleteSubnet"},
	"aws_route_table":                     {"internal/service/ec2/vpc_route_table.go", "ec2:CreateRouteTable ec2:DescribeRouteTables ec2:DeleteRouteTable"},
	"aws_route_table_association":         {"internal/service/ec2/vpc_route_table_association.go", "ec2:AssociateRouteTable ec2:DisassociateRouteTable"},
	"aws_security_group":                  {"internal/service/ec2/vpc_security_group.go", "ec2:CreateSecurityGroup ec2:RevokeSecurityGroupEgress ec2:DescribeNetworkInterfaces ec2:DeleteSecurityGroup"},
	"aws_vpc_security_group_ingress_rule": {"internal/service/ec2/vpc_security_group_ingress_rule.go", "ec2:AuthorizeSecurityGroupIngress ec2:DescribeSecurityGroupRules ec2:ModifySecurityGroupRules ec2:RevokeSecurityGroupIngress"},
	"aws_vpc_security_group_egress_rule":  {"internal/service/ec2/vpc_security_group_egress_rule.go", "ec2:AuthorizeSecurityGroupEgress ec2:DescribeSecurityGroupRules ec2:ModifySecurityGroupRules ec2:RevokeSecurityGroupEgress"},
	"aws_vpc_endpoint":                    {"internal/service/ec2/vpc_endpoint.go; list_amazonec2.html, CreateVpcEndpoint: private names take the last one", "ec2:CreateVpcEndpoint ec2:DescribeVpcEndpoints ec2:DescribePrefixLists ec2:DescribeNetworkInterfaces ec2:ModifyVpcEndpoint ec2:DeleteVpcEndpoints route53:AssociateVPCWithHostedZone"},
	"aws_ec2_managed_prefix_list":         {"internal/service/ec2/vpc_managed_prefix_list.go", "ec2:CreateManagedPrefixList ec2:DescribeManagedPrefixLists ec2:GetManagedPrefixListEntries ec2:ModifyManagedPrefixList ec2:DeleteManagedPrefixList"},
	"aws_instance": {
		"internal/service/ec2/ec2_instance.go; list_amazonec2.html, RunInstances; a default key of the account's own: docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html; Spot: docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html",
		"ec2:RunInstances iam:PassRole iam:CreateServiceLinkedRole ec2:DescribeImages ec2:DescribeInstances ec2:DescribeInstanceAttribute ec2:DescribeInstanceTypes ec2:DescribeInstanceCreditSpecifications ec2:DescribeVolumes ec2:DescribeTags " +
			"ec2:ModifyInstanceAttribute ec2:ModifyInstanceMetadataOptions ec2:ModifyInstanceCreditSpecification ec2:ModifyVolume ec2:StopInstances ec2:StartInstances ec2:TerminateInstances " +
			"kms:CreateGrant kms:Decrypt kms:DescribeKey kms:GenerateDataKeyWithoutPlaintext kms:ReEncryptFrom kms:ReEncryptTo",
	},

	"aws_iam_role":                   {"internal/service/iam/role.go", "iam:CreateRole iam:TagRole iam:UntagRole iam:GetRole iam:ListRolePolicies iam:ListAttachedRolePolicies iam:UpdateRole iam:UpdateAssumeRolePolicy iam:ListInstanceProfilesForRole iam:DeleteRole"},
	"aws_iam_role_policy":            {"internal/service/iam/role_policy.go", "iam:PutRolePolicy iam:GetRolePolicy iam:DeleteRolePolicy"},
	"aws_iam_role_policy_attachment": {"internal/service/iam/role_policy_attachment.go", "iam:AttachRolePolicy iam:ListAttachedRolePolicies iam:DetachRolePolicy"},
	"aws_iam_instance_profile":       {"internal/service/iam/instance_profile.go; list_awsidentityandaccessmanagementiam.html, AddRoleToInstanceProfile", "iam:CreateInstanceProfile iam:TagInstanceProfile iam:UntagInstanceProfile iam:GetInstanceProfile iam:GetRole iam:AddRoleToInstanceProfile iam:PassRole iam:RemoveRoleFromInstanceProfile iam:DeleteInstanceProfile"},

	"aws_s3_bucket":        {"internal/service/s3/bucket.go, which reads every part of a bucket, and with force_destroy all versions", "s3:CreateBucket s3:PutBucketTagging s3:ListBucket s3:GetBucketTagging s3:GetBucketPolicy s3:GetBucketAcl s3:GetBucketCORS s3:GetBucketWebsite s3:GetBucketVersioning s3:GetAccelerateConfiguration s3:GetBucketRequestPayment s3:GetBucketLogging s3:GetLifecycleConfiguration s3:GetReplicationConfiguration s3:GetEncryptionConfiguration s3:GetBucketObjectLockConfiguration s3:ListBucketVersions s3:DeleteObject s3:DeleteObjectVersion s3:DeleteBucket"},
	"aws_s3_bucket_policy": {"internal/service/s3/bucket_policy.go", "s3:PutBucketPolicy s3:GetBucketPolicy s3:DeleteBucketPolicy"},
	"aws_s3_object":        {"internal/service/s3/object.go", "s3:PutObject s3:PutObjectTagging s3:GetObject s3:GetObjectTagging s3:DeleteObject"},

	"aws_ssm_parameter":           {"internal/service/ssm/parameter.go", "ssm:PutParameter ssm:AddTagsToResource ssm:RemoveTagsFromResource ssm:GetParameter ssm:DescribeParameters ssm:ListTagsForResource ssm:DeleteParameter"},
	"aws_ssm_document":            {"internal/service/ssm/document.go", "ssm:CreateDocument ssm:DescribeDocument ssm:GetDocument ssm:DescribeDocumentPermission ssm:ListTagsForResource ssm:UpdateDocument ssm:UpdateDocumentDefaultVersion ssm:DeleteDocument"},
	"aws_scheduler_schedule":      {"internal/service/scheduler/schedule.go; list_amazoneventbridgescheduler.html, CreateSchedule", "scheduler:CreateSchedule iam:PassRole scheduler:GetSchedule scheduler:UpdateSchedule scheduler:DeleteSchedule"},
	"aws_fis_experiment_template": {"internal/service/fis/experiment_template.go; list_awsfaultinjectionservice.html, CreateExperimentTemplate", "fis:CreateExperimentTemplate iam:PassRole fis:TagResource fis:UntagResource fis:ListTagsForResource fis:GetExperimentTemplate fis:UpdateExperimentTemplate fis:DeleteExperimentTemplate"},

	// The AWS CLI's own: a shell on an instance takes these.
	"session": {"docs.aws.amazon.com/systems-manager/latest/userguide/getting-started-restrict-access-quickstart.html", "ssm:StartSession ssm:ResumeSession ssm:TerminateSession ssmmessages:OpenDataChannel"},
}

// called are the actions that a script calls by the AWS CLI.
func called(script string) (actions []string) {
	for _, call := range regexp.MustCompile(`\b(?:aws|call|answer|remove) ([a-z0-9]+) ([a-z]+-[a-z-]+)`).FindAllStringSubmatch(script, -1) {
		action := ""
		for word := range strings.SplitSeq(call[2], "-") {
			action += strings.ToUpper(word[:1]) + word[1:]
		}
		actions = append(actions, strings.Replace(call[1], "resourcegroupstaggingapi", "tag", 1)+":"+action)
	}
	return actions
}

// TestDeployerPolicy allows exactly what make, Terraform and scripts/lost call.
func TestDeployerPolicy(t *testing.T) {
	var policy struct {
		Statement []struct{ Action any }
	}
	must.Do(t, json.Unmarshal([]byte(read(t, "deployer-policy.json")), &policy))
	unused := map[string]bool{}
	for _, s := range policy.Statement {
		switch action := s.Action.(type) {
		case string:
			unused[action] = true
		case []any:
			for _, a := range action {
				unused[a.(string)] = true
			}
		}
	}
	allowed := slices.Collect(maps.Keys(unused))
	check := func(action, why string) {
		found := false
		for _, pattern := range allowed {
			if ok, _ := path.Match(pattern, action); ok {
				delete(unused, pattern)
				found = true
			}
		}
		if !found {
			t.Errorf("deployer-policy.json does not allow %s, for %s", action, why)
		}
	}
	for _, script := range glob(t, "scripts/*") {
		for _, action := range called(read(t, script)) {
			check(action, script)
		}
	}
	for kind, prefix := range map[string]string{"resource": "", "data": "data."} {
		for name := range blocks(t, kind) {
			of, known := calls[prefix+strings.Split(name, ".")[0]]
			if !known {
				of, known = calls[strings.Split(name, ".")[0]]
			}
			if !known && !strings.HasPrefix(name, "terraform_data.") {
				t.Errorf("calls has no row for %s: what does the provider call for it?", name)
			}
			for action := range strings.FieldsSeq(of.actions) {
				check(action, name+" ("+of.source+")")
			}
		}
	}
	for action := range strings.FieldsSeq(calls["session"].actions) {
		check(action, "make logs, and terraform output session")
	}
	if len(unused) > 0 {
		t.Errorf("deployer-policy.json allows what nothing calls: %q", slices.Sorted(maps.Keys(unused)))
	}
}

// TestLost: what removes a lab whose state is lost removes every kind of resource.
func TestLost(t *testing.T) {
	removed := called(read(t, "scripts/lost"))
	removed = append(removed, "s3:DeleteBucket", "s3:DeleteObject") // rb --force
	for name := range blocks(t, "resource") {
		kind, _, _ := strings.Cut(name, ".")
		if kind == "aws_route_table_association" || kind == "aws_s3_bucket_policy" {
			continue // they go with the subnet and the bucket
		}
		for action := range strings.FieldsSeq(calls[kind].actions) {
			if verb := strings.Split(action, ":")[1]; (strings.HasPrefix(verb, "Delete") && verb != "DeleteTags" && !strings.HasSuffix(verb, "Version") || strings.HasPrefix(verb, "Terminate")) && !slices.Contains(removed, action) {
				t.Errorf("scripts/lost does not call %s, and leaves %s", action, name)
			}
		}
	}
}

// TestTheEndComesFirst: what costs by the hour waits for the schedule that ends it, and
// that waits for none of it.
func TestTheEndComesFirst(t *testing.T) {
	resources := blocks(t, "resource")
	for _, name := range []string{"aws_instance.lab", "aws_vpc_endpoint.api"} {
		if !regexp.MustCompile(`(?s)depends_on = \[[^\]]*aws_scheduler_schedule\.stop`).MatchString(resources[name]) {
			t.Errorf("%s may be there before anything would end it", name)
		}
	}
	if end := read(t, "stop.tf"); resources["aws_scheduler_schedule.stop"] == "" || strings.Contains(end, "aws_instance.") || strings.Contains(end, "aws_vpc_endpoint.") {
		t.Error("the end waits for what it ends")
	}
}
