//go:build e2e

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/locks/locktest"
	"locklab/workloads/result"
)

func pythonLock(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../locks/program/examples/python/redis_lock.py")
	must.Do(t, err)
	return "python3 '" + path + "'"
}

// talker says hello, and to whatever it is asked for then a line of 10 MB.
func talker(t *testing.T) string {
	t.Helper()
	return "sh '" + write(t, "talker", `read line; echo '{"op":"hello","version":1}'; read line || exit; head -c 10000000 /dev/zero | tr '\0' x; sleep 1000`) + "'"
}

// TestE2EBringYourOwnLock: a lock in Python works beside one of the lab's, and beside one
// that says lines of 10 MB, which nobody else notices.
func TestE2EBringYourOwnLock(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	got := run(t, nil, "run", "--locks", "redis", "--lock-cmd", "talker="+talker(t), "--lock-cmd", "py-redis="+pythonLock(t),
		"--workload", "mutex", "--scenarios", "baseline", "--duration", "3s", "--out", out)
	if got.code != 2 && got.code != 4 { // the talker's row, or the machine is too busy
		t.Fatalf("exit code %d, want 2 or 4\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	file := read(t, out)
	for _, lock := range []string{"redis", "py-redis"} {
		// How much of it is served is for the machine to say.
		if r := row(t, file, lock, "baseline"); r.Figures["achieved_per_s"] == 0 || r.Figures["overlaps"] != 0 {
			t.Errorf("%s: %v, %+v", lock, r.Figures, r.Verdict)
		}
	}
	if r := row(t, file, "py-redis", "baseline"); r.Expected.Safety != result.Safe || len(r.Expected.Liveness) != 1 {
		t.Errorf("py-redis is expected to be %+v, want safe and live", r.Expected)
	}
	if r := row(t, file, "talker", "baseline"); r.Figures["achieved_per_s"] != 0 || r.Verdict.As == result.AsExpected {
		t.Errorf("the talker: %v, %+v", r.Figures, r.Verdict)
	}
	nothingLeft(t)
}

// TestE2EConform: what is wrong with a program is said. One that is right, with servers that are cut off, is looked at by
// TestE2ELibraries.
func TestE2EConform(t *testing.T) {
	t.Parallel()
	if out := mustRun(t, 2, "conform", talker(t)); !strings.Contains(out.stdout, "a line of more than 65536 bytes") {
		t.Errorf("the talker:\n%s", out.stdout)
	}
	for command, wants := range map[string][]string{
		"redis=sh": {"redis is a lock of locklab: want another name"}, "mine=cat /dev/null": {"--lock-cmd mine", "its output has ended"},
	} {
		out := mustRun(t, 1, "run", "--lock-cmd", command)
		for _, want := range wants {
			if !strings.Contains(out.stderr, want) {
				t.Errorf("%s: it does not say %q: %s", command, want, out.stderr)
			}
		}
	}
	nothingLeft(t)
}

// TestE2EBringYourOwnLockElsewhere: agents of other machines run the programs that they were
// started with, and no others; a suite may name them.
func TestE2EBringYourOwnLockElsewhere(t *testing.T) {
	t.Parallel()
	suite := write(t, "mine.yaml", "name: mine\nparts:\n  - {workload: mutex, locks: none, lock-cmd: \"py-redis="+pythonLock(t)+"\", scenarios: baseline, duration: 1s, warmup: 100ms}\n"+
		"claims:\n  - claim: It locks.\n    source: me\n    cells: [{lock: py-redis, scenario: baseline, workload: mutex, shows: safe}]\n")
	for name, tt := range map[string]struct {
		flags []string
		want  string
	}{
		"none":           {nil, "this agent runs no program for the lock py-redis: want --lock-cmd py-redis=COMMAND where it is started"},
		"that of theirs": {[]string{"--lock-cmd", "py-redis=" + pythonLock(t)}, ""},
	} {
		addr := locktest.FreeAddr(t)
		agent := begin(t, bearer, append([]string{"agent", "--host", "host-a", "--zone", "a", "--listen", addr}, tt.flags...)...)
		agent.said.awaitLine(t, "listening on")
		topology := write(t, "here.yaml", "name: here\nzones: [{name: ap-northeast-2a, short: a}]\nlatency: {inside: {rtt: 0s}, between: {rtt: 0s}}\nhosts:\n  - name: host-a\n    zone: a\n    agent: \"http://"+addr+"\"\n"+
			"    nodes: [{name: master-a, role: master}, {name: worker-a, role: worker}, {name: redis-a, role: redis}]\n")
		out := run(t, bearer, "run", "--suite", suite, "--topology", topology, "--out", filepath.Join(t.TempDir(), "out"))
		if tt.want != "" {
			if out.code == 0 || !strings.Contains(strings.Join(strings.Fields(out.stdout+out.stderr), " "), tt.want) {
				t.Errorf("%s: exit code %d, want %q\n%s\n%s", name, out.code, tt.want, out.stdout, out.stderr)
			}
		} else if out.code != 0 && out.code != 4 || !strings.Contains(out.stdout, "It locks. (me)") {
			t.Errorf("%s: exit code %d\n%s\n%s", name, out.code, out.stdout, out.stderr)
		}
		agent.signal(t, os.Interrupt)
		agent.end()
	}
}

// ownSession is a lock program, without exclusion, that leaves its master's process group. It notes in a
// file each time that it stood still for more than half a second.
const ownSession = `import json, os, sys, threading, time
os.setsid()
def watch():
    last = time.monotonic()
    while True:
        time.sleep(0.01)
        now = time.monotonic()
        if now - last > 0.5:
            with open(sys.argv[1], "a") as f: f.write("stood still for %.1f s\n" % (now - last))
        last = now
threading.Thread(target=watch, daemon=True).start()
for line in sys.stdin:
    ask = json.loads(line)
    said = {"op": "hello", "version": 1} if ask["op"] == "hello" else {"op": ask["op"], "id": ask["id"], "outcome": "ok"}
    print(json.dumps(said), flush=True)
`

// TestE2EAPauseReachesTheProgram, also one that began a session of its own.
func TestE2EAPauseReachesTheProgram(t *testing.T) {
	stood := filepath.Join(t.TempDir(), "stood")
	pause := write(t, "pause.yaml", "name: pause\ntimeline:\n  - {at: 30%, for: 50%, fault: pause, target: role:master}\n")
	run(t, nil, "run", "--workload", "mutex", "--lock-cmd", "mine=python3 '"+write(t, "own_session.py", ownSession)+"' '"+stood+"'",
		"--locks", "mine", "--topology", "one-host", "--scenarios", pause, "--duration", "3s", "--out", filepath.Join(t.TempDir(), "out"))
	if noted := testfile.Read(t, stood); !strings.Contains(string(noted), "stood still") {
		t.Errorf("the program ran on while its master stood still: %q", noted)
	}
	nothingLeft(t)
}

// TestE2EALockThatStaysTaken: a key without an expiry stays taken when its holder was killed.
func TestE2EALockThatStaysTaken(t *testing.T) {
	source := string(testfile.Read(t, "../../locks/program/examples/python/redis_lock.py"))
	forever := strings.ReplaceAll(source, `"NX", "PX", self.client.ttl_ms)`, `"NX")`)
	if forever == source {
		t.Fatal("the example does not set a key with an expiry as this test knows it")
	}
	out := filepath.Join(t.TempDir(), "out")
	got := run(t, nil, "run", "--workload", "mutex", "--hold", "50ms", "--lock-cmd", "setnx=python3 '"+write(t, "setnx.py", forever)+"'",
		"--locks", "setnx", "--scenarios", "holder-kill", "--out", out)
	if v := row(t, read(t, out), "setnx", "holder-kill").Verdict; v.Sound.Code == result.Unproven {
		t.Logf("no holder was hit, so that nothing stays taken: %+v", v)
	} else if v.As != result.NotAsExpected && v.As != result.Unsound || v.Word != result.Dead {
		t.Errorf("%+v", v)
	}
	if got.code != 2 && got.code != 4 { // the machine is too busy
		t.Errorf("exit code %d, want 2 or 4\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	nothingLeft(t)
}
