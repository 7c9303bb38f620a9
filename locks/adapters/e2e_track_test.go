//go:build e2e

package adapters_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"locklab/internal/must"
	"locklab/locks/adapters"
	"locklab/locks/etcdlock/etcdtest"
	"locklab/locks/locktest"
	"locklab/locks/redlock/redistest"
	"locklab/locks/zklock/zktest"
)

// TestE2ETrackAlone: the programs of the track record show their bugs with the library and no lab. With the
// version that has the bug no more, if that can be had, they do not.
func TestE2ETrackAlone(t *testing.T) {
	for id, start := range map[string]func(*testing.T) []string{
		"redis-py-4279": startRedis, "redsync-186": startRedis, "rueidis-602": startRedis, "symfony-combined": startRedis,
		"rueidislock": startRedis, "symfony-redis": startRedis,
		"kazoo-2": startZooKeeper, "kazoo-732": startZooKeeper, "curator-727": startZooKeeper,
		"python-etcd3-2149": startEtcd, "etcd-10811": startEtcd, "etcd-5603": startEtcd,
		"symfony-pdo": startPostgres, "psycopg2-311": startPostgres,
		"client-go-124588": func(*testing.T) []string { return nil },
	} {
		t.Run(id, func(t *testing.T) {
			found, _ := filepath.Glob("track/" + id + ".*") // the pattern is right
			if len(found) != 1 {
				t.Fatalf("programs: %v; want one", found)
			}
			addrs := start(t)
			shows := func(how ...string) bool {
				out, err := exec.CommandContext(t.Context(), how[0], slices.Concat(how[1:], addrs)...).CombinedOutput()
				if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				t.Logf("%v\n%.1000s", err, out)
				return err == nil
			}
			switch program := found[0]; filepath.Ext(program) {
			case ".py":
				shown(t, shows("/usr/bin/python3", program))
			case ".php":
				shown(t, shows("php", program))
			case ".java":
				shown(t, shows("java", "-cp", classPath(t), program))
			default:
				fixed := slices.Contains([]string{"rueidis-602", "client-go-124588"}, id)
				if !fixed {
					shown(t, shows(builtGo(t, program, "go.mod")))
					return
				}
				shown(t, shows(builtGo(t, program, "old.mod")))
				without := builtGo(t, program, "go.mod")
				tries := 3 // rueidislock 1.0.79 does it now and then
				for tries > 0 && shows(without) {
					tries--
				}
				if tries == 0 {
					t.Error("shown by the version of go.mod too")
				}
			}
		})
	}
}

func shown(t *testing.T, is bool) {
	t.Helper()
	if !is {
		t.Error("not shown")
	}
}

// builtGo builds a program with the versions that a file of modules has.
func builtGo(t *testing.T, source, modules string) string {
	t.Helper()
	made := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-modfile", modules, "-o", made, "../"+source)
	build.Dir = "go"
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return made
}

// classPath is that of Curator's adapter.
func classPath(t *testing.T) string {
	t.Helper()
	a, _ := adapters.Find("curator")
	words, err := a.Command()
	must.Do(t, err)
	return words[slices.Index(words, "-cp")+1]
}

func startRedis(t *testing.T) []string { return redistest.Addrs(redistest.Start(t, 3)) }

func startEtcd(t *testing.T) []string { return etcdtest.Start(t, 1).Addrs }

func startZooKeeper(t *testing.T) []string { return zktest.Start(t, 1).Addrs }

func startPostgres(t *testing.T) []string {
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is right
	if len(bins) == 0 {
		t.Fatal("PostgreSQL is not installed here: apt-get install postgresql")
	}
	dir, err := os.MkdirTemp("", "track-") //nolint:usetesting // t.TempDir is root's only
	must.Do(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bins[len(bins)-1], name), append([]string{"-D", dir}, args...)...)
		cmd.Dir = "/"
		if nobody, err := user.Lookup("nobody"); err == nil && os.Geteuid() == 0 { // it refuses root
			uid, _ := strconv.Atoi(nobody.Uid)
			gid, _ := strconv.Atoi(nobody.Gid)
			must.Do(t, os.Chown(dir, uid, gid))
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		}
		return cmd
	}
	must.Do(t, command("initdb", "-U", "locklab", "--auth=trust", "--no-sync").Run())
	addr := locktest.FreeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	serve(t, addr, command("postgres", "-p", port, "-c", "unix_socket_directories=", "-c", "fsync=off"))
	ready := exec.Command(filepath.Join(bins[len(bins)-1], "pg_isready"), "-h", "127.0.0.1", "-p", port)
	for exec.Command(ready.Path, ready.Args[1:]...).Run() != nil { // it is starting up
		time.Sleep(50 * time.Millisecond)
	}
	return []string{addr}
}

// serve runs a server until the end of the test, and waits until it listens.
func serve(t *testing.T, addr string, cmd *exec.Cmd) {
	t.Helper()
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
