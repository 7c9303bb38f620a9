package terraform_test

import (
	"errors"
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
	"locklab/internal/must"
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

// TestSecrets: token and address end in files of root's, one request each.
func TestSecrets(t *testing.T) {
	m := newMachine(t, boots(t, host("master-a", "a"), "host"), map[string]string{
		"curl": `[[ $* == *local-ipv4 ]] && echo 10.75.1.10 || echo session`,
		"aws":  `echo secret-token`,
	})
	if out, code := m.program("lab-secrets"); code != 0 {
		t.Fatal(out)
	}
	for path, want := range map[string]string{"/run/locklab/token": "secret-token\n", "/run/locklab/host.env": "LOCKLAB_IP=10.75.1.10\n"} {
		if got := m.file(path); got != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
		if info, err := os.Stat(m.root + path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s can be read by others: %v", path, err)
		}
	}
	if calls := m.calls(); !calledWith(calls, "X-aws-ec2-metadata-token: session") || !calledWith(calls, "--name /lab/token --with-decryption") {
		t.Errorf("calls: %q", calls)
	}
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
	for name, broken := range map[string]map[string]string{
		"another binary": {"aws": `case "$*" in *deadline*) echo 2099-01-02T03:04:05Z ;; *) echo other >"${@: -1}" ;; esac`},
		"no deadline":    {"aws": `[[ $* != *deadline* ]]`},
		"no such server": {"valkey-server": ""},
	} {
		all := map[string]string{}
		for program, script := range programs {
			if program != "valkey-server" || name != "no such server" {
				all[program] = script
			}
		}
		if name != "no such server" {
			all["aws"] = broken["aws"]
		}
		m := newMachine(t, b, all)
		if out, code := m.program("bootstrap"); code == 0 {
			t.Errorf("%s: it went on:\n%s", name, out)
		}
		if calls := m.calls(); !calledWith(calls, "enable --now locklab-deadline.timer") || calledWith(calls, "locklab-agent.service") {
			t.Errorf("%s: calls: %q", name, calls)
		}
		if _, err := os.Stat(m.root + "/etc/locklab/ready"); err == nil {
			t.Errorf("%s: the instance counts as ready", name)
		}
	}
}

// TestDeadline: an instance ends when its time is over, goes on if that was extended,
// and is not left running because nobody can say.
func TestDeadline(t *testing.T) {
	for _, c := range []struct {
		deadline, arg string
		ends          bool
		armed         string
		code          int
	}{
		{"2099-01-02T03:04:05Z", "--or-end", false, "2099-01-02 03:04:05 UTC", 0},
		{"2020-01-02T03:04:05Z", "", true, "", 0},
		{"", "", false, "", 1}, // bootstrap tries again
		{"", "--or-end", true, "", 0},
		{"None", "--or-end", true, "", 0},
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
		if out, err := analyze(t, "calendar", c.armed); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestFaultScripts: fis-start finds the template, waits for the action and tells
// what went wrong; fis-stop ends what there is and nothing else.
func TestFaultScripts(t *testing.T) {
	b := boots(t, nil, "driver", "fis")
	b["/etc/locklab/fis.txt"] = "a partition EXTa\na stop EXTb\n"
	for _, c := range []struct {
		program string
		args    []string
		running string
		states  string // one for each question
		code    int
		says    string
		stopped string
	}{
		{"fis-start", []string{"a", "partition"}, "", "initiating/pending,running/initiating,running/running", 0, "EXP1\n", ""},
		{"fis-start", []string{"a", "stop"}, "", "running/failed", 1, "EXP1", ""},
		{"fis-start", []string{"d", "stop"}, "", "", 1, "no template for stop of zone d", ""},
		{"fis-stop", []string{"a", "partition"}, "EXP1 EXP2", "stopping,stopped,completed", 0, "", "EXP1 EXP2"},
		{"fis-stop", []string{"a", "partition"}, "", "", 0, "", ""}, // it has ended by itself
		{"fis-stop", []string{"d", "stop"}, "EXP1", "", 0, "", ""},
		{"fis-stop", []string{"EXP7"}, "", "completed", 0, "", "EXP7"},
		{"fis-stop", []string{"EXP7"}, "", "failed", 1, "EXP7 failed", "EXP7"},
		{"fis-stop", nil, "", "", 1, "usage", ""},
	} {
		m := newMachine(t, b, map[string]string{"sleep": "", "aws": `
case "$*" in
*start-experiment*) echo EXP1 ;;
*list-experiments*) echo ` + c.running + ` ;;
*stop-experiment*) exit 1 ;;
*get-experiment*) n=$(grep -c get-experiment "$ROOT/calls"); echo ` + c.states + ` | cut -d, -f"$n" | tr / '\t' ;;
esac`})
		out, code := m.program(c.program, c.args...)
		if code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%s %q: exit code %d, want %d: %s", c.program, c.args, code, c.code, out)
		}
		calls := strings.Join(m.calls(), "\n")
		var stopped []string
		for _, match := range regexp.MustCompile(`(?m)stop-experiment .*--id (\S+)$`).FindAllStringSubmatch(calls, -1) {
			stopped = append(stopped, match[1])
		}
		if strings.Join(stopped, " ") != c.stopped || c.running != "" && c.stopped != "" && !strings.Contains(calls, "experimentTemplateId=='EXTa'") {
			t.Errorf("%s %q stopped %q, want %s:\n%s", c.program, c.args, stopped, c.stopped, calls)
		}
	}
}

// TestScenariosOfAWS can be run: the words are those that fis-start knows, the
// programs are where lab-run says, lab-prepare fetches them, and the time is enough.
func TestScenariosOfAWS(t *testing.T) {
	files, err := filepath.Glob("scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		s, err := scenario.Parse(file, []byte(read(t, file)), "")
		must.Do(t, err)
		if file != "scenarios/"+s.Name+".yaml" || s.MinDuration < 3*time.Minute || !strings.Contains(read(t, "files/driver/opt/locklab/bin/lab-prepare"), file) {
			t.Errorf("%s: name %s, at least %v", file, s.Name, s.MinDuration)
		}
		for _, step := range s.Timeline {
			window := step.Window(s.MinDuration)
			if window.Until >= s.MinDuration || window.Until-window.From < time.Minute {
				t.Errorf("%s: an experiment within %+v, of %v", file, window, s.MinDuration)
			}
			run := step.Fault.Run
			if len(run) != 3 || run[0] != "fis" || step.Fault.Target != "zone:"+run[1]+" ("+strings.Join(run, " ")+")" || s.Name != "fis-"+run[2] {
				t.Errorf("%s: fis-start cannot do %+v", file, step.Fault)
			}
		}
	}
	root := boots(t, nil, "driver", "fis").install(t)
	pair := regexp.MustCompile(`--external "(\S+)"\)`).FindStringSubmatch(read(t, "files/driver/opt/locklab/bin/lab-run"))
	if _, err := external.Parse([]string{below(root, pair[1])}); err != nil {
		t.Error(err)
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
	write(t, m.root+"/bin/curl", "#!/bin/sh\nexit 7\n")
	if out, code := m.program("lab-prepare"); code != 1 || !strings.Contains(out, "no agent answers at http://10.0.0.1:7500: make status") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestUpload: the report goes to the bucket, with the log, and how the run ended.
func TestUpload(t *testing.T) {
	m := newMachine(t, boots(t, nil, "driver"), map[string]string{"journalctl": "echo a line", "aws": ""})
	const run = "2025-01-02T03-04-05"
	dir := "/var/lib/locklab/runs/" + run
	env := m.env
	for _, c := range []struct{ result, status, code string }{
		{"success", "0", "0"}, {"exit-code", "3", "3"}, {"signal", "KILL", "1"}, {"oom-kill", "0", "1"}, {"timeout", "", "1"},
	} {
		m.env = append(env, "SERVICE_RESULT="+c.result)
		if c.status != "" {
			m.env = append(m.env, "EXIT_STATUS="+c.status)
		}
		if out, code := m.program("lab-upload", run); code != 0 {
			t.Fatal(out)
		}
		if got := m.file(dir + "/exit"); got != c.code+"\n" || !strings.Contains(m.file(dir+"/run.log"), "a line\n") {
			t.Errorf("%+v: exit code %q", c, got)
		}
		if calls := m.calls(); !calledWith(calls, "--recursive "+m.root+dir+" s3://lab/runs/"+run+"/") {
			t.Errorf("calls: %q", calls)
		}
	}
	if out, code := m.program("lab-upload", "../../etc"); code == 0 {
		t.Errorf("any name is taken for a run: %s", out)
	}
}
