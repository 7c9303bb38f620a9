package redisnode

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

const sentinel = `{"announce":"127.1.0.3:2","primary":"127.1.0.1:2","replicas":["127.1.0.2:2"],"others":["127.1.0.4:2","127.1.0.5:2"],"down_after_ms":500}`

func TestSentinelSettings(t *testing.T) {
	for raw, want := range map[string]error{
		sentinel:                                 nil,
		strings.Replace(sentinel, "500", "5", 1): ErrInvalid,
		strings.Replace(sentinel, "127.1.0.4:2", "127.1.0.1:2", 1):    ErrInvalid, // twice
		strings.Replace(sentinel, "127.1.0.4:2", "redis-a-1:2", 1):    ErrInvalid,
		strings.Replace(sentinel, "down_after_ms", "down_after", 1):   process.ErrInvalid,
		strings.Replace(sentinel, "127.1.0.1:2", "127.1.0.1:2\\n", 1): ErrInvalid,
	} {
		if _, err := parseSentinel([]byte(raw)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", raw, err, want)
		}
	}
}

// TestSentinelKeepsWhatItLearned: its file is written once.
func TestSentinelKeepsWhatItLearned(t *testing.T) {
	n := role.Node{Name: "s", Dir: t.TempDir(), Addrs: map[string]string{SentinelName: "127.0.0.1:7"}, Settings: []byte(sentinel)}
	command, err := SentinelRole().Command(n)
	must.Do(t, err)
	file := filepath.Join(n.Dir, "sentinel.conf")
	text, err := os.ReadFile(file)
	if err != nil || len(command.Args) != 2 || command.Args[0] != file || command.Args[1] != "--sentinel" {
		t.Fatalf("%v, %v", command.Args, err)
	}
	for _, line := range []string{
		"port 7", "bind 127.0.0.1", "bind-source-addr 127.1.0.3", "sentinel announce-ip 127.1.0.3", "sentinel announce-port 2", "sentinel monitor lock 127.1.0.1 2 2",
		"sentinel down-after-milliseconds lock 500", "sentinel known-replica lock 127.1.0.2 2", "sentinel known-sentinel lock 127.1.0.5 2 " + sentinelID("127.1.0.5:2"),
	} {
		if !strings.Contains("\n"+string(text), "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	testfile.Write(t, file, "what it learned")
	if _, err := SentinelRole().Command(n); err != nil {
		t.Fatal(err)
	}
	if text, _ = os.ReadFile(file); string(text) != "what it learned" {
		t.Errorf("it is written again:\n%s", text)
	}
}

func TestReplicationSettings(t *testing.T) {
	for raw, want := range map[string]error{
		`{"persistence":"none","replication":{"announce":"127.1.0.1:2"}}`:                         nil,
		`{"persistence":"none","replication":{"announce":"127.1.0.1:2","primary":"127.1.0.2:2"}}`: nil,
		`{"persistence":"none","replication":{"announce":"127.1.0.1:2","primary":"127.1.0.1:2"}}`: ErrInvalid,
		`{"persistence":"none","replication":{"primary":"127.1.0.1:2"}}`:                          ErrInvalid,
	} {
		s, err := ParseSettings([]byte(raw))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", raw, err, want)
		}
		if err == nil {
			text, err := serverConfig(s, "/a", "127.0.0.1:7")
			if err != nil || strings.Contains(text, "\nreplicaof 127.1.0.2 2\n") != (s.Replication.Primary != "") || !strings.Contains(text, "\nreplica-announce-ip 127.1.0.1\n") {
				t.Errorf("%v:\n%s", err, text)
			}
		}
	}
}

func TestDialsFrom(t *testing.T) {
	for version, want := range map[string]bool{
		"redis-server 6.2.14": false, "redis-server 7.0.15": true, "redis-server 10.1": true, "valkey-server 8.0.1": true, "": false,
	} {
		if dialsFrom(version) != want {
			t.Errorf("%q: want %v", version, want)
		}
	}
}
