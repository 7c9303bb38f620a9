package terraform_test

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// cloud is an AWS with one lab, as far as make sees it: what Run Command is told runs
// here, with the real programs of the driver, and as AWS hands it out, 24,000 characters
// of it. Time passes when somebody sleeps; FAIL, STATE and the like are files below it.
var cloud = map[string]string{
	"terraform": `
case "$*" in
init*) touch .terraform.lock.hcl ;;
*destroy*) rm -f "$ROOT/outputs" "$ROOT/resources" ;;
*"state list"*) [ ! -e "$ROOT/resources" ] && { echo "No state file was found!" >&2; exit 1; } || cat "$ROOT/resources" ;;
*-json*) [ -e "$ROOT/outputs" ] && echo '{ "region": {} }' || echo '{}' ;;
*output*) # as Terraform does: without outputs a warning in their place, and success
  [ -e "$ROOT/outputs" ] || { echo "Warning: No outputs found"; exit; }
  sed -n "s#^${@: -1}=##p" "$ROOT/outputs" | tr -d '\n' | grep . ;;
esac`,
	"aws": `
[ "${AWS_PAGER-unset}" = "" ] || echo "aws stopped in a pager" >>"$ROOT/pager"
if [ -e "$ROOT/FAIL" ] && [[ $* == *$(cat "$ROOT/FAIL")* ]]; then echo "An error occurred (ExpiredTokenException)" >&2; exit 254; fi
case "$*" in
*"Reservations[].Instances[].InstanceId"*) echo "i-0driver i-0redis" ;;
*send-command*)
  left=$(cat "$ROOT/unregistered" 2>/dev/null || echo 0)
  if [ "$left" -gt 0 ]; then echo $((left - 1)) >"$ROOT/unregistered"; echo InvalidInstanceId >&2; exit 254; fi
  command=$(sed -E 's/.*\{"commands":\["(.*)"\],"executionTimeout".*/\1/' <<<"$*")
  command=$(sed "s#/etc/locklab\|/var/l\|/opt/locklab/bin#$ROOT&#g" <<<"$command")
  bash -c "$command" >"$ROOT/stdout" 2>"$ROOT/stderr"
  echo $? >"$ROOT/code"; echo CMD1 ;;
*ResponseCode*) [ -e "$ROOT/silent" ] && printf 'InProgress\t-1\n' || printf 'Success\t%s\n' "$(cat "$ROOT/code")" ;;
*StandardOutputContent*) head -c 24000 "$ROOT/stdout" ;;
*StandardErrorContent*) cat "$ROOT/stderr" ;;
*State.Name\ *) cat "$ROOT/STATE" 2>/dev/null || echo running ;;
*InstanceId\ *) [[ $* == *Values=redis-a-1* ]] && echo i-0redis || echo None ;;
*describe-instances*) printf 'driver\trunning\ti-0driver\t10.75.0.9\tap-northeast-2a\n' ;;
*get-console-output*) echo "console: Amazon Linux 2023" ;;
*run.log*) cp "$ROOT/var/lib/locklab/runs/"*/run.log "${@: -1}" ;;
esac`,
	"sleep": `
n=$(grep -c ^sleep "$ROOT/calls")
[ ! -e "$ROOT/running" ] || { seq -f "run 1/20: %.0f, and what a run says while it is under way" $((n * 80)) $((n * 80 + 79)) >>"$ROOT/journal"; }
if [ -e "$ROOT/running" ] && [ "$n" -ge 12 ]; then
  printf 'lock table\nfindings\nreport in runs\n' >>"$ROOT/journal"
  run=$(sed -n s/^RUN=//p "$ROOT/run/locklab/run.env"); rm "$ROOT/running"
  mkdir -p "$ROOT/var/lib/locklab/runs/$run"; cp "$ROOT/journal" "$ROOT/var/lib/locklab/runs/$run/run.log"; echo 3 >"$ROOT/var/lib/locklab/runs/$run/exit"
fi`,
	"systemctl": `
case "$*" in
*is-active*) [ -e "$ROOT/running" ] && echo active || echo inactive ;;
*"start --no-block"*) touch "$ROOT/running" ;;
*stop*) rm -f "$ROOT/running" ;;
*show*) echo ID1 ;;
esac`,
	"journalctl": `cat "$ROOT/journal" 2>/dev/null`,
	"cloud-init": ``, "install": `mkdir -p "${@: -1}"`, "tail": `[[ $* == *cloud-init-output.log ]] && echo "bootstrap: gave up: dnf install" || exec /usr/bin/tail "$@"`,
}

// lab is a copy of what make needs, beside an AWS with a lab that stands, and a driver
// that has booted.
func lab(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t, boots(t, nil, "driver"), cloud)
	for _, file := range []string{"Makefile", "scripts/lab", "versions.tf"} {
		write(t, m.root+"/terraform/"+file, read(t, file))
	}
	m.env = append(m.env, "TF_CLI_ARGS_destroy=-auto-approve")
	write(t, m.root+"/etc/locklab/ready", "")
	write(t, m.root+"/resources", "aws_vpc.lab\naws_instance.lab[\"redis-a-1\"]\n")
	write(t, m.root+"/outputs", "region=ap-northeast-2\nname=locklab\nreport_uri=s3://lab/runs/\ndriver_id=i-0driver\nhosts=redis-a-1=i-0redis\ndeadline=2099-01-02T03:04:05Z\nfis_enabled=true\n")
	return m
}

func (m *machine) make(args ...string) (string, int) {
	m.t.Helper()
	out, code := m.run(m.root+"/terraform", "make", append([]string{"--no-print-directory"}, args...)...)
	if _, err := os.Stat(m.root + "/pager"); err == nil {
		m.t.Errorf("make %q stops in a pager", args)
	}
	return out, code
}

// asked are the calls to AWS so far, but for whose credentials they are.
func (m *machine) asked() []string {
	return slices.DeleteFunc(m.calls(), func(call string) bool { return !strings.HasPrefix(call, "aws ") || strings.HasPrefix(call, "aws sts ") })
}

var oneRun = regexp.MustCompile(`^RUN=[0-9T-]{19}\nARGS=(.*)\n$`)

// TestRun: a comparison of which Run Command could not hand out half is shown while it
// goes on, to its table, and ends with its exit code; what is in ARGS reaches the
// program as it is.
func TestRun(t *testing.T) {
	m := lab(t)
	out, _ := m.make("run", "SCENARIOS=baseline,zone-failure", "ARGS=--quick --locks none,redlock:ttl=1s --fail-on duplicates>0")
	if len(out) < 40000 || !strings.Contains(out, "Error 3") {
		t.Errorf("%d characters and not the run's exit code, 3:\n%s", len(out), out)
	}
	lines := strings.Split(out, "\n")
	for n := 80; n < 13*80; n++ {
		if line := fmt.Sprintf("run 1/20: %d, and", n); !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, line) }) {
			t.Fatalf("%q is not shown:\n%s", line, out)
		}
	}
	if !strings.Contains(out, "\nlock table\nfindings\nreport in runs\nwhole log: reports/runs/2") || !strings.Contains(out, "\nreport: s3://lab/runs/2") {
		t.Errorf("the end is not that of a run:\n%s", out[len(out)-500:])
	}
	settings := oneRun.FindStringSubmatch(m.file("/run/locklab/run.env"))
	if want := "--scenarios baseline,zone-failure --quick --locks none,redlock:ttl=1s --fail-on duplicates>0"; settings == nil || settings[1] != want {
		t.Errorf("the unit gets %q, want %q", m.file("/run/locklab/run.env"), want)
	}
	for _, file := range []string{"/terraform/0", "/0"} {
		if _, err := os.Stat(m.root + file); err == nil {
			t.Error("a shell took ARGS for a redirection")
		}
	}
	if matches := regexp.MustCompile(`whole log: (\S+)`).FindStringSubmatch(out); matches == nil || !strings.Contains(m.file("/"+matches[1]), "lock table") {
		t.Error("the whole log is not there")
	}

	// Whoever comes later sees how it ended.
	if out, _ := m.make("attach"); !strings.Contains(out, "\nlock table\n") || !strings.Contains(out, "Error 3") || len(out) > 20000 {
		t.Errorf("make attach: %s", out)
	}
	if out, code := m.make("status"); code != 0 || !strings.Contains(out, "has ended with exit code 3") || !strings.Contains(out, "2099-01-02T03:04:05Z") || !strings.Contains(out, "i-0driver") {
		t.Errorf("make status: exit code %d: %s", code, out)
	}
}

// TestArgsThatAreRefused never reach a shell, neither here nor on the driver.
func TestArgsThatAreRefused(t *testing.T) {
	m := lab(t)
	for _, arg := range []string{"--out=$(shell touch made)", "--out=$$(touch made)", "x;touch made", "`touch made`", "'a b'", "%d\"", "a\\b"} {
		out, code := m.make("run", "ARGS="+arg)
		if code == 0 || !strings.Contains(out, "want flags of letters") || calledWith(m.calls(), "send-command") {
			t.Errorf("%s: exit code %d: %s", arg, code, out)
		}
		if _, err := os.Stat(m.root + "/terraform/made"); err == nil {
			t.Fatalf("%s was executed", arg)
		}
	}
	// The driver looks too, as others may start a comparison there.
	for _, arg := range []string{"$(reboot)", "a b", "x;y", "a\nTOKEN=b"} {
		if out, code := m.program("lab-run", arg); code != 1 || !strings.Contains(out, "want flags of") {
			t.Errorf("lab-run %q: exit code %d: %s", arg, code, out)
		}
	}
}

// TestFaultScenarios go by their names on a driver that may break zones, and one
// comparison runs at a time.
func TestFaultScenarios(t *testing.T) {
	m := newMachine(t, boots(t, nil, "driver", "fis"), cloud)
	if out, code := m.program("lab-run", "--scenarios", "fis-partition,baseline,fis-stop", "--duration=6m", "--locks", "fis-stop"); code != 0 {
		t.Fatal(out)
	}
	where := m.root + "/etc/locklab/scenarios/fis-"
	want := "--external fis=" + m.root + "/opt/locklab/bin/fis-start," + m.root + "/opt/locklab/bin/fis-stop --scenarios " + where + "partition.yaml,baseline," + where + "stop.yaml --duration=6m --locks fis-stop"
	if got := oneRun.FindStringSubmatch(m.file("/run/locklab/run.env")); got == nil || got[1] != want {
		t.Errorf("the unit gets %q, want %q", m.file("/run/locklab/run.env"), want)
	}
	if out, code := m.program("lab-run"); code != 1 || !strings.Contains(out, "a comparison is under way: make attach") {
		t.Errorf("a second one: exit code %d: %s", code, out)
	}
}

// TestMakeSaysWhatToDo, and ends, wherever a lab or AWS is not as it should be.
func TestMakeSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name, target string
		files        map[string]string // "-" is a file that is not there
		says         []string
		nothing      bool // AWS is not asked
	}{
		{"no lab", "run", map[string]string{"outputs": "-"}, []string{"there is no lab here yet: make apply makes one"}, true},
		{"no lab", "status", map[string]string{"outputs": "-"}, []string{"make apply"}, true},
		{"no lab", "extend", map[string]string{"outputs": "-"}, []string{"make extend: there is no lab here yet: make apply makes one"}, true},
		{"no lab", "fetch", map[string]string{"outputs": "-"}, []string{"make apply"}, true},
		{"half an apply", "run", map[string]string{"outputs": "region=ap-northeast-2\n"}, []string{"the last apply did not get far enough", "make destroy"}, true},
		{"no driver", "attach", map[string]string{"outputs": "region=ap-northeast-2\nname=locklab\nreport_uri=s3://lab/runs/\n"}, []string{"has no driver yet"}, true},
		{"a host failed", "run", map[string]string{"outputs": "region=ap-northeast-2\nname=locklab\nreport_uri=s3://lab/runs/\ndriver_id=i-0driver\n"}, []string{"make run: not all hosts are there", "make apply goes on with it"}, true},
		{"a host is gone", "run", map[string]string{"outputs": "region=ap-northeast-2\nname=locklab\nreport_uri=s3://lab/runs/\ndriver_id=i-0driver\nhosts=raft-c=i-0raft redis-a-1=i-0redis\n"}, []string{"make run: the host raft-c is gone: make apply makes it again"}, false},
		{"bootstrap failed", "run", map[string]string{"etc/locklab/ready": "-"}, []string{"bootstrap: gave up: dnf install", `did not boot as it should: above is its log. make apply REPLACE='aws_instance.lab["driver"]' makes another one`}, false},
		{"not registered", "run", map[string]string{"unregistered": "99"}, []string{"waiting for i-0driver", "InvalidInstanceId", "after 30 attempts"}, false},
		{"credentials at the start", "run", map[string]string{"FAIL": "send-command"}, []string{"ExpiredTokenException", "after 3 attempts"}, false},
		{"credentials on the way", "run", map[string]string{"FAIL": "ResponseCode"}, []string{"ExpiredTokenException", "5 times in a row", "a comparison that is under way there goes on: make attach"}, false},
		{"a dead driver", "run", map[string]string{"silent": "", "STATE": "terminated"}, []string{"no answer to the command CMD1; the instance i-0driver is terminated", "make fetch", "make apply"}, false},
		{"a silent driver", "attach", map[string]string{"silent": ""}, []string{"no answer", "for half an hour"}, false},
		{"nothing to follow", "attach", nil, []string{"no comparison since the driver booted: make run"}, false},
		{"no such host", "logs", map[string]string{}, []string{"HOST=nowhere: no such instance: make status"}, false},
	} {
		t.Run(c.name+" "+c.target, func(t *testing.T) {
			m := lab(t)
			for name, content := range c.files {
				if content == "-" {
					_ = os.Remove(m.root + "/" + name) // it may not be there
					continue
				}
				write(t, m.root+"/"+name, content)
			}
			out, code := m.make(c.target, "HOST=nowhere")
			if code == 0 || !strings.Contains(out, "Error 1") {
				t.Errorf("want exit code 1:\n%s", out)
			}
			for _, text := range c.says {
				if !strings.Contains(out, text) {
					t.Errorf("it does not say %q:\n%s", text, out)
				}
			}
			if calls := m.asked(); c.nothing && len(calls) > 0 {
				t.Errorf("AWS is asked for nothing: %q", calls)
			}
		})
	}
}

// TestCredentials that are missing or over are named before anything is tried.
func TestCredentials(t *testing.T) {
	for target, given := range map[string][2]string{
		"plan": {"AWS_PROFILE=lab", "of the profile lab"}, "apply": {"AWS_ACCESS_KEY_ID=AKIA0", "of AWS_ACCESS_KEY_ID in the environment"},
		"extend": {}, "run": {}, "attach": {}, "status": {}, "stop": {}, "logs": {}, "fetch": {}, "destroy": {},
	} {
		m := lab(t)
		m.env = append(m.env, "AWS_PROFILE=", "AWS_ACCESS_KEY_ID=", given[0])
		write(t, m.root+"/FAIL", " ")
		out, code := m.make(target)
		if want := "make " + target + ": AWS does not take the credentials " + cmp.Or(given[1], "in use") + ":"; code == 0 || !strings.Contains(out, "ExpiredTokenException") || !strings.Contains(out, want) {
			t.Errorf("make %s: exit code %d: %s", target, code, out)
		}
		calls := slices.DeleteFunc(m.calls(), func(call string) bool { return call == "terraform init -input=false" })
		if len(calls) != 1 || !strings.HasPrefix(calls[0], "aws sts get-caller-identity") {
			t.Errorf("make %s goes on: %q", target, calls)
		}
	}
	for _, tool := range []string{"aws", "terraform"} {
		out, code := lab(t).run("", "bash", "-c", "cd $ROOT/bin; rm "+tool+"; for i in bash dirname mktemp rm; do ln -s $(command -v $i) .; done; PATH=$PWD ../terraform/scripts/lab run")
		if want := "make run: " + tool + " is not installed"; code != 1 || !strings.HasPrefix(out, want) {
			t.Errorf("exit code %d, want %q: %s", code, want, out)
		}
	}
}

// TestPatience: a driver that was just made is waited for.
func TestPatience(t *testing.T) {
	m := lab(t)
	write(t, m.root+"/unregistered", "4")
	write(t, m.root+"/STATE", "running")
	if out, _ := m.make("run"); !strings.Contains(out, "lock table") {
		t.Error(out)
	}

	// Nor does an answer that AWS owes now and then end anything.
	m = lab(t)
	aws := m.file("/bin/aws")
	write(t, m.root+"/bin/aws", strings.Replace(aws, "\ncase", "\nif [[ $* == *get-command* ]] && [ $(($(grep -c get-command \"$ROOT/calls\") % 3)) -ne 0 ]; then exit 255; fi\ncase", 1))
	if out, _ := m.make("run"); !strings.Contains(out, "lock table") {
		t.Error(out)
	}
}

// TestLogs shows a host's console, and its logs where it answers.
func TestLogs(t *testing.T) {
	m := lab(t)
	if out, code := m.make("logs", "HOST=redis-a-1"); code != 0 || !strings.Contains(out, "console: Amazon Linux 2023") || !strings.Contains(out, "bootstrap: gave up: dnf install") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if calls := m.calls(); !calledWith(calls, "send-command", "i-0redis") {
		t.Errorf("calls: %q", calls)
	}
	write(t, m.root+"/unregistered", "9")
	if out, code := m.make("logs", "HOST=redis-a-1"); code == 0 || !strings.Contains(out, "console: Amazon Linux 2023") {
		t.Errorf("a host that does not answer has no console: exit code %d: %s", code, out)
	}
}

// TestUnattended: README's recipe for CI removes the lab under bash -e too, and ends with
// the exit code of the run.
func TestUnattended(t *testing.T) {
	m, recipe := lab(t), regexp.MustCompile("(?s)```sh\n(export TF_INPUT=0.*?)```").FindStringSubmatch(read(t, "README.md"))
	write(t, m.root+"/bin/go", "#!/bin/bash\n")
	if out, code := m.run(m.root, "bash", "-ec", recipe[1]); code != 2 || !strings.Contains(out, "Error 3") || !calledWith(m.calls(), "terraform destroy") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestDestroy: without a yes nothing ends. The comparison and AWS's own faults end first,
// then the reports are fetched; a second time, or before an apply, there is nothing to do.
func TestDestroy(t *testing.T) {
	m := lab(t)
	write(t, m.root+"/running", "")
	for _, answer := range []string{"", "no"} {
		out, code := m.run(m.root+"/terraform", "bash", "-c", "TF_CLI_ARGS_destroy= make destroy <<<'"+answer+"'")
		if code == 0 || !strings.Contains(out, "nothing was changed") || len(m.asked()) > 0 || m.file("/running") != "" {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
	if out, code := m.make("destroy"); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	order, calls := 0, m.calls()
	for _, want := range []string{"systemctl stop locklab-run.service", "sleep 90", "s3 sync", "terraform destroy"} {
		i := slices.IndexFunc(calls[order:], func(call string) bool { return strings.Contains(call, want) })
		if i < 0 {
			t.Fatalf("%s does not come in its turn: %q", want, calls)
		}
		order += i + 1
	}
	if out, code := m.make("destroy"); code != 0 || !strings.Contains(out, "there is nothing to destroy") || len(m.asked()) > 0 {
		t.Errorf("a second time: exit code %d: %s", code, out)
	}

	m = lab(t)
	write(t, m.root+"/outputs", "region=ap-northeast-2\n") // half an apply
	if out, code := m.make("destroy"); code != 0 || !calledWith(m.calls(), "terraform destroy") {
		t.Errorf("after half an apply: exit code %d: %s", code, out)
	}
	for target, want := range map[string]bool{"destroy": false, "destroy KEEP=no": true} {
		m = lab(t)
		write(t, m.root+"/FAIL", "s3 sync")
		if out, _ := m.make(strings.Fields(target)...); calledWith(m.calls(), "terraform destroy") != want || !want && !strings.Contains(out, "KEEP=no") {
			t.Errorf("reports that cannot be fetched, %s: %s", target, out)
		}
	}
}

// TestWhatMakePasses to Terraform: the commit apart from the binary, a token of its own
// each time, and no more than the deadline to extend.
func TestWhatMakePasses(t *testing.T) {
	m := lab(t)
	write(t, m.root+"/bin/git", "#!/bin/bash\n[ $1 = rev-parse ] && echo 0123456789abcdef || [ ! -e $ROOT/dirty ]\n")
	write(t, m.root+"/bin/lab-terraform", m.file("/bin/terraform"))
	write(t, m.root+"/bin/terraform", "#!/bin/bash\n[[ $* != *output* && $* != state* ]] || exec "+m.root+"/bin/lab-terraform \"$@\"\necho \"terraform $*\" token=$TF_VAR_token= commit=$TF_VAR_commit= arch=$TF_VAR_architecture=\n")
	tokens := map[string]bool{}
	for _, dirty := range []string{"", "+dirty"} {
		out, code := m.make("extend", "ARCH=x86_64")
		match := regexp.MustCompile(`(?m)^terraform apply (.*) token=([0-9a-f]{48})= commit=0123456789abcdef` + regexp.QuoteMeta(dirty) + `= arch=x86_64=$`).FindStringSubmatch(out)
		if code != 0 || match == nil || match[1] != "-replace=terraform_data.deadline -target=aws_scheduler_schedule.stop -target=aws_ssm_parameter.deadline" {
			t.Fatalf("exit code %d: %s", code, out)
		}
		tokens[match[2]] = true
		write(t, m.root+"/dirty", "")
	}
	if len(tokens) != 2 {
		t.Error("the token is not random")
	}
	write(t, m.root+"/bin/go", "#!/bin/bash\necho go \"$@\"\n")
	if out, code := m.make("apply", `REPLACE=aws_instance.lab["redis-a-1"]`); code != 0 || !strings.Contains(out, "terraform apply -replace=aws_instance.lab[\"redis-a-1\"] token=") || !strings.Contains(out, " -trimpath -buildvcs=false ") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := m.make("apply", `REPLACE=aws_instance.lab["nope"]`); code == 0 || !strings.Contains(out, `REPLACE=aws_instance.lab["nope"] is not in the state`) || strings.Contains(out, "terraform apply") {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, target := range []string{"build", "apply", "run"} {
		if out, code := m.make(target, "ARCH=amd64"); code == 0 || !strings.Contains(out, "ARCH=amd64: want arm64 or x86_64") || strings.Contains(out, "go build") {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
}

// TestInit: the providers are looked for once, and again when somebody cleaned up or named
// a backend.
func TestInit(t *testing.T) {
	m := lab(t)
	for i, c := range []struct {
		change string
		init   bool
	}{{"true", true}, {"true", false}, {"rm .terraform.lock.hcl", true}, {"true", false}, {"touch backend.tf", true}} {
		m.run(m.root+"/terraform", "bash", "-c", c.change)
		if out, code := m.make("init"); code != 0 || calledWith(m.calls(), "terraform init") != c.init {
			t.Errorf("%d: exit code %d, want a terraform init: %v\n%s", i, code, c.init, out)
		}
	}
}

// TestLostLab: what the tag finds is shown, and removed in an order that AWS takes: rules
// before the groups that they name, and again where something still hangs on it.
func TestLostLab(t *testing.T) {
	m := lab(t)
	write(t, m.root+"/terraform/scripts/lost", read(t, "scripts/lost"))
	write(t, m.root+"/bin/aws", "#!/bin/bash\necho aws \"$@\" >>$ROOT/calls\n"+`
case "$*" in
*get-resources*) for what in ec2:r:1:vpc/vpc-1 ec2:r:1:security-group/sg-1 ec2:r:1:instance/i-1 ec2:r:1:instance/i-gone ssm:r:1:parameter/lost/token s3:::lost-1; do printf 'arn:aws:%s\t' $what; done ;;
*"IsEgress"*) printf 'True\tsgr-1\nFalse\tsgr-2\n' ;;
*"list-roles"*) echo lost-host-1 lost-other-1 ;;
*"list-role-tags --role-name lost-host-1"*) echo lost ;;
*"list-role-tags"*) echo lost-other ;;
*i-gone*) echo InvalidInstanceID.NotFound >&2; exit 254 ;;
*delete-vpc*) [ "$(grep -c "aws ec2 delete-vpc" "$ROOT/calls")" -gt 2 ] || { echo DependencyViolation >&2; exit 254; } ;;
esac`)
	for _, mode := range []string{"show", "delete"} {
		out, code := m.run("", m.root+"/terraform/scripts/lost", "ap-northeast-2", "lost", mode)
		lines := slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return !strings.HasPrefix(line, "aws ") })
		want := []string{
			"aws ec2 terminate-instances --instance-ids i-1", "aws ec2 terminate-instances --instance-ids i-gone",
			"aws ec2 revoke-security-group-egress --group-id sg-1 --security-group-rule-ids sgr-1", "aws ec2 revoke-security-group-ingress --group-id sg-1 --security-group-rule-ids sgr-2",
			"aws ec2 delete-security-group --group-id sg-1", "aws ec2 delete-vpc --vpc-id vpc-1",
			"aws s3 rb --force s3://lost-1", "aws ssm delete-parameter --name /lost/token", "aws scheduler delete-schedule --name lost-stop", "aws iam delete-role --role-name lost-host-1",
		}
		if code != 0 || !slices.Equal(lines, want) {
			t.Errorf("%s: exit code %d: %s", mode, code, out)
		}
		if calls := m.calls(); calledWith(calls, "aws ec2 delete-vpc") != (mode == "delete") || mode == "delete" && !calledWith(calls, "sleep 10") {
			t.Errorf("%s calls %q", mode, calls)
		}
	}
	for _, says := range []string{"ExpiredToken", "AccessDenied", "UnauthorizedOperation"} {
		write(t, m.root+"/bin/aws", "#!/bin/bash\ncase $* in *get-resources*) echo arn:aws:ec2:r:1:vpc/vpc-1 ;; *delete-*) echo "+says+" >&2; exit 254 ;; esac\n")
		if out, code := m.run("", m.root+"/terraform/scripts/lost", "ap-northeast-2", "lost", "delete"); code != 1 || !strings.HasSuffix(out, "lost: "+says+"\n") || len(m.calls()) > 0 {
			t.Errorf("%s: exit code %d, or tried again: %s", says, code, out)
		}
	}
}
