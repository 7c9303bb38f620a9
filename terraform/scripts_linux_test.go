package terraform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/chaos/external"
	"locklab/chaos/scenario"
)

// TestShell: bash can read every script.
func TestShell(t *testing.T) {
	for _, file := range slices.Concat(glob(t, "files/*"), glob(t, "scripts/*")) {
		if !bytes.HasPrefix(read(t, file), []byte("#!")) {
			continue
		}
		if out, err := exec.Command("bash", "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
		if !bytes.Contains(read(t, file), []byte("\nset -euo pipefail\n")) {
			t.Errorf("%s goes on after an error", file)
		}
		if info, err := os.Stat(file); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s cannot be executed: %v", file, err)
		}
	}
}

// fakes puts programs on a PATH that write down how they were called.
func fakes(t *testing.T, programs map[string]string) (env []string, calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	for name, script := range programs {
		write(t, filepath.Join(dir, name), fmt.Sprintf("#!/bin/bash\necho %s \"$@\" >>%s\n%s\n", name, calls, script), 0o755)
	}
	return append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH")), calls
}

// script is a copy of a program that finds the instance's files below a directory.
func script(t *testing.T, root, name string) string {
	t.Helper()
	path := filepath.Join(root, name)
	content := regexp.MustCompile(`(/etc/(?:locklab|systemd)|/run/locklab|/var/lib/locklab|/opt/locklab/bin)`).
		ReplaceAllString(string(read(t, "files/"+name)), root+"$1")
	write(t, path, content, 0o755)
	for _, dir := range []string{"/run/locklab", "/opt/locklab/bin"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestSecrets: token and address end in files of root's, one request each.
func TestSecrets(t *testing.T) {
	root := install(t, boots(t, plain(t, nil))["master-a"])
	env, calls := fakes(t, map[string]string{
		"curl": `[[ $* == *local-ipv4 ]] && echo 10.75.1.10 || echo session`,
		"aws":  `echo secret-token`,
	})
	cmd := exec.Command(script(t, root, "lab-secrets"))
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for path, want := range map[string]string{"/run/locklab/token": "secret-token\n", "/run/locklab/host.env": "LOCKLAB_IP=10.75.1.10\n"} {
		if got := string(read(t, root+path)); got != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
		if info, err := os.Stat(root + path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s can be read by others: %v", path, err)
		}
	}
	text := string(read(t, calls))
	if !strings.Contains(text, "X-aws-ec2-metadata-token: session") || !strings.Contains(text, "--name /locklab/token --with-decryption") {
		t.Errorf("calls:\n%s", text)
	}
}

// TestBootstrap: the end comes first; the binary is checked; redis-server is there.
func TestBootstrap(t *testing.T) {
	w := plain(t, nil)
	root := install(t, boots(t, w)["redis-a-1"])
	programs := map[string]string{
		"systemctl": "", "sysctl": "", "dnf": "", "redis6-server": "", "sleep": "",
		"aws": `cp ` + w.file("./build/locklab-arm64") + ` "${@: -1}"`, // what is to be fetched
	}
	env, calls := fakes(t, programs)
	cmd := exec.Command(script(t, root, "bootstrap"))
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(read(t, calls))), "\n")
	if len(lines) < 3 || lines[1] != "systemctl enable --now locklab-deadline.timer" {
		t.Errorf("the hard stop is not the first thing that is done: %q", lines)
	}
	if last := lines[len(lines)-1]; last != "systemctl enable --now locklab-agent.service" {
		t.Errorf("the last thing is %s", last)
	}
	if !slices.Contains(lines, "dnf install -y redis6") {
		t.Errorf("Redis is not installed: %q", lines)
	}
	deadline := string(read(t, root+"/etc/systemd/system/locklab-deadline.timer.d/deadline.conf"))
	if !regexp.MustCompile(`^\[Timer\]\nOnCalendar=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\nPersistent=true\n$`).MatchString(deadline) {
		t.Errorf("the deadline is %q", deadline)
	}
	moment := regexp.MustCompile(`OnCalendar=(.*)`).FindStringSubmatch(deadline)[1]
	if out, err := analyze(t, "calendar", moment); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, program := range []string{"locklab", "redis-server"} {
		if info, err := os.Stat(root + "/opt/locklab/bin/" + program); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s is not installed: %v", program, err)
		}
	}

	// A binary that is another one is not run, and the end of the instance stands.
	programs["aws"] = `echo other >"${@: -1}"`
	root = install(t, boots(t, w)["redis-a-1"])
	env, calls = fakes(t, programs)
	cmd = exec.Command(script(t, root, "bootstrap"))
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("a wrong binary was taken:\n%s", out)
	}
	if text := string(read(t, calls)); !strings.Contains(text, "locklab-deadline.timer") || strings.Contains(text, "locklab-agent.service") {
		t.Errorf("calls:\n%s", text)
	}
}

// TestFaultScripts: fis-start finds the template, waits for the action and tells
// what went wrong.
func TestFaultScripts(t *testing.T) {
	w := plain(t, everything())
	root := install(t, boots(t, w)["driver"])
	write(t, root+"/etc/locklab/fis.txt", w.all("aws_s3_object.fis")["0"].text(t, "content"), 0o644)
	start := func(states string, args ...string) (string, error) {
		env, _ := fakes(t, map[string]string{"sleep": "", "aws": `
case "$*" in
*start-experiment*) echo EXP1 ;;
*get-experiment*) n=$(grep -c get-experiment "$(dirname "$0")/calls"); echo ` + states + ` | cut -d, -f"$n" | tr / '\t' ;;
esac`})
		cmd := exec.Command(script(t, root, "fis-start"), args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := start("initiating/pending,running/initiating,running/running", "a", "partition"); err != nil || out != "EXP1" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := start("running/failed", "b", "stop"); err == nil || !strings.Contains(out, "EXP1") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := start("", "d", "stop"); err == nil || !strings.Contains(out, "no template for stop of zone d") {
		t.Errorf("%q, %v", out, err)
	}
	template := regexp.MustCompile(`(?m)^a partition (\S+)$`).FindStringSubmatch(w.all("aws_s3_object.fis")["0"].text(t, "content"))[1]
	for _, c := range []struct {
		args, running []string
		states        string // one for each question, of whichever experiment
		fails         string
		stopped       []string
	}{
		{[]string{"a", "partition"}, []string{"EXP1", "EXP2"}, "stopping,stopped,completed", "", []string{"EXP1", "EXP2"}},
		{[]string{"a", "partition"}, nil, "", "", nil}, // it has ended by itself
		{[]string{"d", "stop"}, []string{"EXP1"}, "", "", nil},
		{[]string{"EXP7"}, nil, "completed", "", []string{"EXP7"}},
		{[]string{"EXP7"}, nil, "failed", "EXP7 failed", []string{"EXP7"}},
		{nil, nil, "", "usage", nil},
	} {
		env, calls := fakes(t, map[string]string{"sleep": "", "aws": `
case "$*" in
*list-experiments*) echo ` + strings.Join(c.running, " ") + ` ;;
*stop-experiment*) exit 1 ;;
*get-experiment*) n=$(grep -c get-experiment "$(dirname "$0")/calls"); echo ` + c.states + ` | cut -d, -f"$n" ;;
esac`})
		cmd := exec.Command(script(t, root, "fis-stop"), c.args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if (err == nil) != (c.fails == "") || !strings.Contains(string(out), c.fails) {
			t.Errorf("fis-stop %q: %v: %s", c.args, err, out)
		}
		text := ""
		if made, err := os.ReadFile(calls); err == nil {
			text = string(made)
		}
		var stopped []string
		for _, match := range regexp.MustCompile(`(?m)stop-experiment .*--id (\S+)$`).FindAllStringSubmatch(text, -1) {
			stopped = append(stopped, match[1])
		}
		if !slices.Equal(stopped, c.stopped) {
			t.Errorf("fis-stop %q stopped %q, want %q", c.args, stopped, c.stopped)
		}
		if len(c.running) > 0 && len(c.stopped) > 0 && !strings.Contains(text, "experimentTemplateId=='"+template+"'") {
			t.Errorf("other experiments may be stopped too:\n%s", text)
		}
	}
}

// TestScenariosOfAWS can be run: the words are those that fis-start knows, the
// programs are where lab-run says, and the time is enough.
func TestScenariosOfAWS(t *testing.T) {
	w := plain(t, everything())
	templates := w.all("aws_s3_object.fis")["0"].text(t, "content")
	b := boots(t, w)["driver"]
	objects := w.all("aws_s3_object.scenario")
	if len(objects) != len(glob(t, "scenarios/*.yaml")) {
		t.Errorf("%d of %d scenarios reach the driver", len(objects), len(glob(t, "scenarios/*.yaml")))
	}
	for name, object := range objects {
		s, err := scenario.Parse(name+".yaml", []byte(object.text(t, "content")))
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != name || object.text(t, "key") != "lab/scenarios/"+name+".yaml" || s.MinDuration < 3*time.Minute {
			t.Errorf("%s: name %s, key %s, at least %v", name, s.Name, object.text(t, "key"), s.MinDuration)
		}
		for _, step := range s.Timeline {
			window := step.Window(s.MinDuration)
			if window.Until >= s.MinDuration || window.Until-window.From < time.Minute {
				t.Errorf("%s: an experiment within %+v, of %v", name, window, s.MinDuration)
			}
			run := step.Fault.Run
			if len(run) != 3 || run[0] != "fis" || !strings.Contains(templates, run[1]+" "+run[2]+" ") || run[2] != step.Fault.Effect || step.Fault.Target != "zone:"+run[1] {
				t.Errorf("%s: fis-start cannot do %+v", name, step.Fault)
			}
		}
	}
	root := install(t, b)
	pair := regexp.MustCompile(`--external (\S+=)(\S+),(\S+)\)`).FindStringSubmatch(string(read(t, "files/lab-run")))
	if _, err := external.Parse([]string{pair[1] + root + pair[2] + "," + root + pair[3]}); err != nil {
		t.Error(err)
	}
}

// TestLabRun: settings from the bucket, all agents answer, flags reach the unit, and
// the run's exit code is that of the program.
func TestLabRun(t *testing.T) {
	w := plain(t, everything())
	root := install(t, boots(t, w)["driver"])
	topology := filepath.Join(t.TempDir(), "topology.yaml")
	write(t, topology, w.all("aws_s3_object.topology")[""].text(t, "content"), 0o644)
	env, calls := fakes(t, map[string]string{
		"aws": `cp ` + topology + ` "${@: -1}"`, "curl": "", "sleep": "", "flock": "",
		"install": `mkdir -p "${@: -1}"`,
		"systemctl": `
case "$1" in
show) echo 3 ;;
start) RUN=$(sed -n s/^RUN=//p ` + root + `/run/locklab/run.env); mkdir -p ` + root + `/var/lib/locklab/runs/$RUN; echo the table >` + root + `/var/lib/locklab/runs/$RUN/run.log; exit 1 ;;
esac`,
	})
	run := func(args ...string) (string, int) {
		cmd := exec.Command(script(t, root, "lab-run"), args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := run("--quick", "--locks", "none,redlock:ttl=1s", "--fail-on", "duplicates>0")
	if code != 3 || !strings.Contains(out, "the table\nreport: s3://") {
		t.Errorf("exit code %d, want that of the run, 3\n%s", code, out)
	}
	settings := string(read(t, root+"/run/locklab/run.env"))
	if !regexp.MustCompile(`^RUN=[0-9T-]{19}\nARGS=--external fis=\S+/fis-start,\S+/fis-stop --quick --locks none,redlock:ttl=1s --fail-on duplicates>0\n$`).MatchString(settings) {
		t.Errorf("the unit gets %q", settings)
	}
	if _, code := run("--scenarios", "fis-partition,baseline,fis-stop", "--duration=6m", "--locks", "fis-stop"); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	where := root + "/etc/locklab/scenarios/fis-"
	if got, want := string(read(t, root+"/run/locklab/run.env")), " --scenarios "+where+"partition.yaml,baseline,"+where+"stop.yaml --duration=6m --locks fis-stop\n"; !strings.HasSuffix(got, want) {
		t.Errorf("the unit gets %q, want %q", got, want)
	}
	if asked := strings.Count(string(read(t, calls)), "/v1/health"); asked != 28 {
		t.Errorf("%d agents were asked, want 14 each time", asked)
	}
	for _, arg := range []string{"--out=$(reboot)", "a b", "x;y", "`x`", "a\nTOKEN=b", "%d'"} {
		if out, code := run(arg); code != 1 || !strings.Contains(out, "want flags of") {
			t.Errorf("%q: exit code %d: %s", arg, code, out)
		}
	}
}

// TestLabUpload: the report goes to the bucket, with the log.
func TestLabUpload(t *testing.T) {
	root := install(t, boots(t, plain(t, nil))["driver"])
	env, calls := fakes(t, map[string]string{"journalctl": "echo a line", "aws": ""})
	cmd := exec.Command(script(t, root, "lab-upload"), "2025-01-02T03-04-05")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := root + "/var/lib/locklab/runs/2025-01-02T03-04-05"
	if !strings.Contains(string(read(t, dir+"/run.log")), "a line\n") {
		t.Error("the log is missing")
	}
	if text := string(read(t, calls)); !strings.Contains(text, "--recursive "+dir+" s3://aws_s3_bucket-lab--id/runs/2025-01-02T03-04-05/") {
		t.Errorf("calls:\n%s", text)
	}
	cmd = exec.Command(script(t, root, "lab-upload"), "../../etc")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("any name is taken for a run: %s", out)
	}
}

// TestRunScript is make run, with AWS's answers made up: it waits for the end, shows
// what was said and ends with the exit code.
func TestRunScript(t *testing.T) {
	env, calls := fakes(t, map[string]string{
		"terraform": `echo "$3"`, "sleep": "",
		"aws": `
case "$*" in
*send-command*) echo CMD1 ;;
*Status*) n=$(grep -c Status "$(dirname "$0")/calls"); [ "$n" -lt 3 ] && printf 'InProgress\t-1\n' || printf 'Failed\t2\n' ;;
*StandardOutputContent*) echo the table ;;
esac`,
	})
	cmd := exec.Command("scripts/run", "--fail-on", "duplicates>0")
	cmd.Env = env
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), "the table") {
		t.Errorf("exit code %d, want 2\n%s", code, out)
	}
	parameters := regexp.MustCompile(`--parameters (\{.*\}) --query`).FindSubmatch(read(t, calls))
	var decoded struct {
		Commands []string `json:"commands"`
	}
	if parameters == nil || json.Unmarshal(parameters[1], &decoded) != nil || len(decoded.Commands) != 1 {
		t.Fatalf("the parameters are not JSON: %s", read(t, calls))
	}
	if want := "/opt/locklab/bin/lab-run '--fail-on' 'duplicates>0'"; decoded.Commands[0] != want {
		t.Errorf("the driver is told %s, want %s", decoded.Commands[0], want)
	}
}
