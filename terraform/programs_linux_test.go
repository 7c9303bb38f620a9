package terraform_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// machine is an instance below a directory, with programs of the test's first on its
// PATH, which write down how they were called.
type machine struct {
	t    *testing.T
	root string
	env  []string
}

func newMachine(t *testing.T, b boot, programs map[string]string) *machine {
	t.Helper()
	m := &machine{t: t, root: b.install(t)}
	m.env = append(os.Environ(), "ROOT="+m.root, "PATH="+m.root+"/bin:"+os.Getenv("PATH"))
	for name, script := range programs {
		write(t, m.root+"/bin/"+name, fmt.Sprintf("#!/bin/bash\necho %s \"$@\" >>%s/calls\n%s\n", name, m.root, script))
	}
	return m
}

// run runs a program and gives what it said and its exit code.
func (m *machine) run(dir, name string, args ...string) (string, int) {
	m.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, m.env
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (m *machine) program(name string, args ...string) (string, int) {
	m.t.Helper()
	return m.run("", m.root+"/opt/locklab/bin/"+name, args...)
}

func (m *machine) file(path string) string {
	m.t.Helper()
	return read(m.t, m.root+path)
}

// calls are those to the test's programs so far, which are forgotten.
func (m *machine) calls() []string {
	m.t.Helper()
	text, err := os.ReadFile(m.root + "/calls")
	if err != nil {
		return nil
	}
	if err := os.Remove(m.root + "/calls"); err != nil {
		m.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// calledWith says whether a call has all these words.
func calledWith(calls []string, words ...string) bool {
	return slices.ContainsFunc(calls, func(call string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(call, word) })
	})
}

// TestBootstrap: the end comes first; servers get the names that agents look for; a
// binary that is another one is not run.
func TestBootstrap(t *testing.T) {
	redis := host("redis-a-1", "a")
	redis["PACKAGES"], redis["PROGRAMS"] = "redis6 more", "redis-server=redis6-server,valkey-server"
	redis["BINARY_SHA256"] = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" // of "hello\n"
	programs := map[string]string{
		"systemctl": "", "sysctl": "", "dnf": "", "valkey-server": "", "sleep": "",
		"aws": `case "$*" in *deadline*) echo 2099-01-02T03:04:05Z ;; *) echo hello >"${@: -1}" ;; esac`,
	}
	b := boots(t, redis, "host")
	m := newMachine(t, b, programs)
	if out, code := m.program("bootstrap"); code != 0 {
		t.Fatal(out)
	}
	calls := m.calls()
	if len(calls) < 3 || calls[1] != "systemctl enable --now locklab-deadline.timer" || !strings.HasSuffix(calls[len(calls)-1], "enable --now locklab-agent.service") {
		t.Errorf("the hard stop is not the first thing, or the agent not the last: %q", calls)
	}
	if !slices.Contains(calls, "dnf install -y redis6 more") {
		t.Errorf("what the role needs is not installed: %q", calls)
	}
	if target, err := os.Readlink(m.root + "/opt/locklab/bin/redis-server"); err != nil || filepath.Base(target) != "valkey-server" {
		t.Errorf("redis-server is %q, %v", target, err)
	}
	m.file("/etc/locklab/ready")
	programs["aws"] = `[[ $* != *deadline* ]]`
	m = newMachine(t, b, programs)
	if out, code := m.program("bootstrap"); code == 0 || calledWith(m.calls(), "locklab-agent.service") {
		t.Errorf("without a deadline it went on:\n%s", out)
	}
}

// TestDeadline: an instance ends when its time is over, goes on if that was extended,
// and is not left running because the deadline cannot be read.
func TestDeadline(t *testing.T) {
	for _, c := range []struct {
		deadline, arg string
		ends          bool
		armed         string
		code          int
	}{
		{"2099-01-02T03:04:05Z", "--or-end", false, "2099-01-02 03:04:05 UTC", 0},
		{"2020-01-02T03:04:05Z", "", true, "", 0},
		{"", "--or-end", true, "", 0},
	} {
		m := newMachine(t, boots(t, nil, "driver"), map[string]string{"systemctl": "", "sleep": "", "aws": `[ -n "` + c.deadline + `" ] && echo ` + c.deadline})
		args := slices.DeleteFunc([]string{c.arg}, func(s string) bool { return s == "" })
		out, code := m.program("lab-deadline", args...)
		calls := m.calls()
		if code != c.code || calledWith(calls, "systemctl poweroff") != c.ends {
			t.Errorf("%+v: exit code %d, calls %q\n%s", c, code, calls, out)
		}
		if c.armed == "" {
			continue
		}
		if got, want := m.file("/etc/systemd/system/locklab-deadline.timer.d/deadline.conf"), "[Timer]\nOnBootSec=\nOnCalendar="+c.armed+"\nPersistent=true\n"; got != want || !calledWith(calls, "restart locklab-deadline.timer") {
			t.Errorf("the timer has %q, want %q", got, want)
		}
	}
}

// TestPrepare: settings from the bucket, the commit apart, all agents answer.
func TestPrepare(t *testing.T) {
	m := newMachine(t, boots(t, nil, "driver", "fis"), map[string]string{
		"aws":  `case "$*" in *lab/commit*) echo 0123+dirty ;; *topology.yaml*) printf 'agent: "http://10.0.0.%d:7500"\n' 1 2 3 ;; *) echo x ;; esac >"${@: -1}"`,
		"curl": `[[ $* != *10.0.0.3* ]] || [ "$(grep -c 10.0.0.3 "$ROOT/calls")" -gt 1 ]`, "sleep": "",
	})
	out, code := m.program("lab-prepare")
	if code != 0 || out != "lab-prepare: waiting for the agent at http://10.0.0.3:7500\n" {
		t.Errorf("exit code %d: %s", code, out)
	}
	if got := m.file("/run/locklab/commit.env"); got != "LOCKLAB_COMMIT=0123+dirty\n" {
		t.Errorf("the unit gets %q", got)
	}
	m.file("/etc/locklab/scenarios/fis-stop.yaml")
}

// TestUpload: the report goes to the bucket, with the log, and how the run ended.
func TestUpload(t *testing.T) {
	m := newMachine(t, boots(t, nil, "driver"), map[string]string{"journalctl": "echo a line", "aws": ""})
	const run = "2025-01-02T03-04-05"
	dir := "/var/lib/locklab/runs/" + run
	env := m.env
	for status, code := range map[string]string{"3": "3", "KILL": "1"} {
		m.env = append(env, "SERVICE_RESULT=any", "EXIT_STATUS="+status)
		if out, code := m.program("lab-upload", run); code != 0 {
			t.Fatal(out)
		}
		if got := m.file(dir + "/exit"); got != code+"\n" || !strings.Contains(m.file(dir+"/run.log"), "a line\n") {
			t.Errorf("%s: exit code %q, want %s", status, got, code)
		}
		if calls := m.calls(); !calledWith(calls, "--recursive "+m.root+dir+" s3://lab/runs/"+run+"/") {
			t.Errorf("calls: %q", calls)
		}
	}
}

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
	// Whoever comes later sees how it ended.
	if out, _ := m.make("attach"); !strings.Contains(out, "\nlock table\n") || !strings.Contains(out, "Error 3") || len(out) > 20000 {
		t.Errorf("make attach: %s", out)
	}
	if out, code := m.make("status"); code != 0 || !strings.Contains(out, "has ended with exit code 3") || !strings.Contains(out, "2099-01-02T03:04:05Z") || !strings.Contains(out, "i-0driver") {
		t.Errorf("make status: exit code %d: %s", code, out)
	}
}

// TestArgsThatAreRefused never reach a shell.
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
		{"half an apply", "run", map[string]string{"outputs": "region=ap-northeast-2\n"}, []string{"the last apply did not get far enough", "make destroy"}, true},
		{"a host is gone", "run", map[string]string{"outputs": "region=ap-northeast-2\nname=locklab\nreport_uri=s3://lab/runs/\ndriver_id=i-0driver\nhosts=raft-c=i-0raft redis-a-1=i-0redis\n"}, []string{"make run: the host raft-c is gone: make apply makes it again"}, false},
		{"bootstrap failed", "run", map[string]string{"etc/locklab/ready": "-"}, []string{"bootstrap: gave up: dnf install", `did not boot as it should: above is its log. make apply REPLACE='aws_instance.lab["driver"]' makes another one`}, false},
		{"credentials on the way", "run", map[string]string{"FAIL": "ResponseCode"}, []string{"ExpiredTokenException", "5 times in a row", "a comparison that is under way there goes on: make attach"}, false},
		{"a dead driver", "run", map[string]string{"silent": "", "STATE": "terminated"}, []string{"no answer to the command CMD1; the instance i-0driver is terminated", "make fetch", "make apply"}, false},
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
	m = lab(t)
	write(t, m.root+"/FAIL", "s3 sync")
	if out, _ := m.make("destroy"); calledWith(m.calls(), "terraform destroy") || !strings.Contains(out, "KEEP=no") {
		t.Errorf("reports that cannot be fetched: %s", out)
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
}
