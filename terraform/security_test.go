package terraform_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestInstances: no public address, metadata by token only, encrypted, ended by
// their own shutdown.
func TestInstances(t *testing.T) {
	w := plain(t, everything())
	instances := w.all("aws_instance.host")
	instances["driver"] = w.all("aws_instance.driver")[""]
	for name, c := range instances {
		if got := c.text(t, "metadata_options", "http_tokens"); got != "required" {
			t.Errorf("%s: IMDSv2 is %s", name, got)
		}
		if c.at(t, "metadata_options", "http_put_response_hop_limit").RawEquals(cty.NumberIntVal(1)) == false {
			t.Errorf("%s: the metadata can be read from more than the instance itself", name)
		}
		if c.at(t, "root_block_device", "encrypted").False() {
			t.Errorf("%s: the volume is not encrypted", name)
		}
		if c.at(t, "associate_public_ip_address").True() {
			t.Errorf("%s has a public address", name)
		}
		if got := c.text(t, "instance_initiated_shutdown_behavior"); got != "terminate" {
			t.Errorf("%s: a shutdown would only %s it", name, got)
		}
		if _, ok := c.attrs["key_name"]; ok {
			t.Errorf("%s has a key for SSH; people come by Session Manager", name)
		}
	}
	for key, c := range w.all("aws_subnet.zone") {
		if c.at(t, "map_public_ip_on_launch").True() {
			t.Errorf("the subnet of %s gives public addresses", key)
		}
	}
}

func TestSpot(t *testing.T) {
	w := plain(t, map[string]cty.Value{"spot": cty.True})
	for name, c := range w.all("aws_instance.host") {
		if len(c.blocks["instance_market_options"]) != 1 || c.text(t, "instance_market_options", "market_type") != "spot" {
			t.Errorf("%s is not on Spot", name)
		}
	}
	if driver := w.all("aws_instance.driver")[""]; len(driver.blocks["instance_market_options"]) != 0 {
		t.Error("the driver is on Spot: it would take the report with it")
	}
}

// TestNoWayIn: no gateway, no address range in any rule, and agents hear the driver
// alone.
func TestNoWayIn(t *testing.T) {
	w := plain(t, everything())
	for address := range w.m.resources {
		for _, kind := range []string{"aws_internet_gateway", "aws_nat_gateway", "aws_egress_only_internet_gateway", "aws_eip", "aws_route.", "aws_security_group_rule", "aws_lb", "aws_key_pair"} {
			if strings.HasPrefix(address, kind) {
				t.Errorf("%s is a way in or out", address)
			}
		}
	}
	for _, file := range slices.Concat(glob(t, "*.tf"), glob(t, "templates/*"), glob(t, "files/*")) {
		for _, anywhere := range []string{"0.0.0.0/0", "::/0"} {
			if strings.Contains(string(read(t, file)), anywhere) {
				t.Errorf("%s has %s", file, anywhere)
			}
		}
	}
	for _, address := range []string{"aws_vpc_security_group_ingress_rule.flow", "aws_vpc_security_group_egress_rule.flow", "aws_vpc_security_group_egress_rule.s3"} {
		for key, c := range w.all(address) {
			if c.attrs["cidr_ipv4"] != cty.NilVal || c.attrs["cidr_ipv6"] != cty.NilVal {
				t.Errorf("%s[%s] names addresses instead of a group", address, key)
			}
		}
	}
	group := func(name string) string { return "aws_security_group-lab-" + name + "-id" }
	for key, c := range w.all("aws_vpc_security_group_ingress_rule.flow") {
		to, from := c.text(t, "security_group_id"), c.text(t, "referenced_security_group_id")
		if to == group("driver") {
			t.Errorf("%s lets something into the driver", key)
		}
		low, _ := c.at(t, "from_port").AsBigFloat().Int64()
		high, _ := c.at(t, "to_port").AsBigFloat().Int64()
		if low <= 7500 && 7500 <= high && from != group("driver") {
			t.Errorf("%s lets %s talk to agents", key, from)
		}
	}
	for name, c := range w.all("aws_security_group.lab") {
		if len(c.blocks["ingress"])+len(c.blocks["egress"]) != 0 {
			t.Errorf("the group %s has rules of its own", name)
		}
	}
}

// TestNodePorts: the range in the groups is what agents give out with the sysctl
// that the instances have.
func TestNodePorts(t *testing.T) {
	sysctl := regexp.MustCompile(`(?m)^net\.ipv4\.ip_local_port_range = ([0-9]+) 65535$`).FindSubmatch(read(t, "files/sysctl.conf"))
	if sysctl == nil {
		t.Fatal("files/sysctl.conf does not put the ephemeral ports at the top")
	}
	ephemeral, err := strconv.ParseInt(string(sysctl[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	w := plain(t, nil)
	for _, flow := range []string{"nodes", "players"} {
		c := w.all("aws_vpc_security_group_ingress_rule.flow")[flow]
		low, _ := c.at(t, "from_port").AsBigFloat().Int64()
		high, _ := c.at(t, "to_port").AsBigFloat().Int64()
		if low != 10000 || high != ephemeral-1 {
			t.Errorf("%s: ports %d to %d are let through, nodes listen on 10000 to %d", flow, low, high, ephemeral-1)
		}
	}
}

// statement is one of an IAM policy. Action and Resource are a string or several.
type statement struct {
	Effect           string
	Action, Resource any
	Condition        map[string]any
}

func statements(t *testing.T, policy string) []statement {
	t.Helper()
	var p struct{ Statement []statement }
	if err := json.Unmarshal([]byte(policy), &p); err != nil {
		t.Fatal(err)
	}
	return p.Statement
}

func list(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, s := range v {
			all = append(all, s.(string))
		}
	}
	return all
}

// TestRoles: no instance may do what it has no use for.
func TestRoles(t *testing.T) {
	w := plain(t, everything())
	withoutResource := []string{"ssm:", "ssmmessages:", "fis:ListExperiments"}
	for role, c := range w.all("aws_iam_role_policy.lab") {
		for _, s := range statements(t, c.text(t, "policy")) {
			for _, action := range list(s.Action) {
				if strings.Contains(action, "*") {
					t.Errorf("%s: %s is more than one action", role, action)
				}
				if slices.Contains(list(s.Resource), "*") && !slices.ContainsFunc(withoutResource, func(p string) bool { return strings.HasPrefix(action, p) }) {
					t.Errorf("%s: %s on everything", role, action)
				}
				if role == "host" && (strings.HasPrefix(action, "fis:") || strings.HasPrefix(action, "ec2:") || strings.HasPrefix(action, "iam:")) {
					t.Errorf("a host may %s", action)
				}
				if action == "ssm:GetParameter" && (len(list(s.Resource)) != 1 || slices.Contains(list(s.Resource), "*")) {
					t.Errorf("%s may read other parameters than the token: %v", role, s.Resource)
				}
			}
		}
	}
	off := plain(t, nil).all("aws_iam_role_policy.lab")["driver"].text(t, "policy")
	if strings.Contains(off, "fis:") {
		t.Error("the driver may start experiments although there are none")
	}
	for address, c := range map[string]configured{"stop": w.all("aws_iam_role_policy.stop")[""], "fis": w.all("aws_iam_role_policy.fis")["0"]} {
		for _, s := range statements(t, c.text(t, "policy")) {
			for _, action := range list(s.Action) {
				if !strings.HasPrefix(action, "ec2:Describe") && action != "tag:GetResources" && s.Condition == nil {
					t.Errorf("%s: %s on what is not the lab's", address, action)
				}
			}
		}
	}
}

// TestToken: it is in Parameter Store, encrypted, and in nothing that boots.
func TestToken(t *testing.T) {
	w := plain(t, everything())
	parameter := w.all("aws_ssm_parameter.token")[""]
	if got := parameter.text(t, "type"); got != "SecureString" {
		t.Errorf("the token is kept as %s", got)
	}
	token := parameter.text(t, "value")
	files := map[string]string{"driver": w.all("aws_instance.driver")[""].text(t, "user_data"), "topology": w.all("aws_s3_object.topology")[""].text(t, "content")}
	for name, c := range w.all("aws_instance.host") {
		files[name] = c.text(t, "user_data")
	}
	for name, text := range files {
		if strings.Contains(text, token) || strings.Contains(text, "random_password") {
			t.Errorf("the token is in what %s gets", name)
		}
	}
	for name, block := range w.m.outputs {
		if value := w.value(block.Body.Attributes["value"].Expr, nil); value.Type() == cty.String && strings.Contains(value.AsString(), token) {
			t.Errorf("output %s shows the token", name)
		}
	}
}

func TestBucketIsPrivate(t *testing.T) {
	w := plain(t, nil)
	for name, value := range w.all("aws_s3_bucket_public_access_block.lab")[""].attrs {
		if name != "bucket" && value.False() {
			t.Errorf("%s is off", name)
		}
	}
	policy := statements(t, w.all("aws_s3_bucket_policy.lab")[""].text(t, "policy"))
	if len(policy) != 1 || policy[0].Effect != "Deny" {
		t.Errorf("the bucket's policy gives something away: %+v", policy)
	}
}

// TestHardStop: whoever does not end itself is ended, and what costs by the hour too.
func TestHardStop(t *testing.T) {
	w := plain(t, everything())
	var want []string
	for name := range w.all("aws_instance.host") {
		want = append(want, name)
	}
	want = append(want, "driver")
	for service := range w.all("aws_vpc_endpoint.api") {
		want = append(want, "endpoint-"+service)
	}
	schedules := w.all("aws_scheduler_schedule.stop")
	if got := slices.Sorted(maps.Keys(schedules)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("%q are ended, want %q", got, want)
	}
	for name, c := range schedules {
		if got := c.text(t, "schedule_expression"); got != "at(2025-01-02T07:19:05)" { // made at 03:04:05, plus 4 h 15 min
			t.Errorf("%s is ended %s", name, got)
		}
		if call := c.text(t, "target", "arn"); !strings.HasPrefix(call, "arn:aws:scheduler:::aws-sdk:ec2:") {
			t.Errorf("%s is ended by %s", name, call)
		}
	}
}

// TestFaultInjection: off by default; a cut-off zone stays in reach of the driver.
func TestFaultInjection(t *testing.T) {
	off := plain(t, nil)
	for address := range off.m.resources {
		if strings.Contains(address, "fis") && len(off.all(address)) != 0 {
			t.Errorf("%s is there although fault injection is off", address)
		}
	}
	if _, there := boots(t, off)["driver"]["/opt/locklab/bin/fis-start"]; there { // lab-run looks for it
		t.Error("the driver can break a zone although fault injection is off")
	}
	w := plain(t, everything())
	control := w.all("aws_subnet.control")[""].text(t, "cidr_block")
	for zone, c := range w.all("aws_ec2_managed_prefix_list.others") {
		if len(c.blocks["entry"]) != 2 {
			t.Errorf("zone %s is cut off from %d zones, want 2", zone, len(c.blocks["entry"]))
		}
		for _, entry := range c.blocks["entry"] {
			if cidr := entry.text(t, "cidr"); cidr == control || cidr == w.all("aws_subnet.zone")[zone].text(t, "cidr_block") {
				t.Errorf("zone %s would be cut off from %s", zone, cidr)
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(w.all("aws_s3_object.fis")["0"].text(t, "content")), "\n")
	if len(lines) != 6 {
		t.Errorf("%d templates for three zones: %q", len(lines), lines)
	}
	for _, line := range lines {
		if !regexp.MustCompile(`^[abc] (partition|stop) \S+$`).MatchString(line) {
			t.Errorf("fis-start cannot read %q", line)
		}
	}
	for kind, address := range map[string]string{"partition": "aws_fis_experiment_template.partition", "stop": "aws_fis_experiment_template.stop"} {
		for zone, c := range w.all(address) {
			if c.text(t, "action", "name") != kind {
				t.Errorf("zone %s: fis-start waits for the action %s", zone, kind)
			}
			if c.text(t, "action", "target", "value") != c.text(t, "target", "name") {
				t.Errorf("zone %s: the action of %s has no target", zone, kind)
			}
		}
	}
}
