package postgresnode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"locklab/locks/clock"
	"locklab/nodes/fakeclock"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

// The names of the role and its port.
const (
	Name = "postgres"
	Port = "postgres"
)

// Settings is what the controller sends to a server, as JSON.
type Settings struct {
	SynchronousCommit string `json:"synchronous_commit"` // on or off
}

// Superuser is the only user; it needs no password.
const Superuser = "locklab"

// Role describes the role to an agent.
func Role() role.Role {
	find := func(name string) role.Find { return func() (string, error) { return program(name) } }
	return role.Role{
		Name: Name, Ports: []string{Port}, ClientPort: Port, Main: run, FakeClock: true, Starts: 2500 * time.Millisecond,
		Missing: find("initdb").Missing, Version: find("postgres").Version("PostgreSQL", ") ", "--version"),
	}
}

// URL returns the URL for clients of the server.
func URL(addr string) string {
	return "postgres://" + Superuser + "@" + addr + "/postgres?sslmode=disable"
}

// program finds one of the server's programs.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.EvalSymlinks(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name) // the pattern is right
	if len(found) == 0 {
		return "", role.NotInstalled("PostgreSQL", "postgresql")
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4]) // not a number: old
		return n
	}
	return slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }), nil
}

// account is a user and a group.
type account struct{ uid, gid uint32 }

// owner returns the account that must run the server; nil is the agent's own.
func owner() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is the agent's own account
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		return &account{uint32(uid), uint32(gid)}, errors.Join(err1, err2)
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")
}

// run runs a server.
func run(ctx context.Context, node *process.Node) error {
	settings := Settings{SynchronousCommit: "on"}
	if err := node.Decode(&settings); err != nil {
		return err
	}
	host, port, err := node.Listens(Port)
	if err != nil {
		return err
	}
	as, err := owner()
	if err != nil {
		return err
	}
	initdb, err1 := program("initdb")
	postgres, err2 := program("postgres")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	data := filepath.Join(node.Dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	if as != nil {
		if err := os.Chown(data, int(as.uid), int(as.gid)); err != nil {
			return err
		}
	}
	dir, err := os.Open(data)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	prepare := func(path string, args ...string) *exec.Cmd {
		cmd := exec.Command(path, args...) //nolint:noctx // Serve ends it
		cmd.Dir, cmd.Env = "/", append(os.Environ(), "LC_ALL=C")
		cmd.ExtraFiles = []*os.File{dir} // file descriptor 3
		if as != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: as.uid, Gid: as.gid}}
		}
		return cmd
	}
	where := data
	if as != nil {
		where = "/proc/self/fd/3"
	}
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); err != nil {
		args := []string{"-D", where, "-U", Superuser, "--auth=trust", "--no-sync", "--no-locale", "-E", "UTF8"}
		out, err := prepare(initdb, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("initdb: %w: %s", err, out)
		}
		// Other hosts connect without a password; the network around them is private.
		access, rule := filepath.Join(data, "pg_hba.conf"), []byte("host all all all trust\n")
		if err := os.WriteFile(access, rule, 0o644); err != nil { //nolint:gosec // its user must read it
			return err
		}
	}
	endLeftovers(ctx, data)
	answers := func(ctx context.Context) error { return ping(ctx, node.Addrs[Port]) }
	cmd := prepare(postgres, arguments(settings, where, host, port)...)
	if node.FakeClock {
		file, seen := filepath.Join(data, "clock"), filepath.Join(where, "clock")
		err := fakeclock.Give(node, cmd, file, seen, func() (time.Time, error) { return serverTime(ctx, node.Addrs[Port]) })
		if err != nil {
			return err
		}
	}
	return node.Serve(ctx, cmd, syscall.SIGINT, answers)
}

func arguments(settings Settings, dir, host, port string) (args []string) {
	args = []string{"-D", dir}
	for _, s := range []string{
		"listen_addresses=" + host, "port=" + port, "unix_socket_directories=", "max_connections=200",
		"shared_buffers=16MB", "max_wal_size=64MB", "min_wal_size=32MB", "jit=off", "logging_collector=off",
		"log_min_messages=fatal", "max_worker_processes=0", "max_logical_replication_workers=0",
		"wal_level=minimal", "max_wal_senders=0", "synchronous_commit=" + settings.SynchronousCommit,
	} {
		args = append(args, "-c", s)
	}
	if runtime.GOOS == "linux" { // after a crash one call syncs all files
		args = append(args, "-c", "recovery_init_sync_method=syncfs")
	}
	return args
}

// endLeftovers kills the remaining processes of a killed server, and waits for their end. They would end by
// themselves, but later, and no new server starts before. It also removes the lock file, which prevents a start
// while its process is not reaped.
func endLeftovers(ctx context.Context, data string) {
	if real, err := filepath.EvalSymlinks(data); err == nil {
		data = real
	}
	for left := true; left; {
		left = false
		cwds, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is right
		for _, cwd := range cwds {
			exe, _ := os.Readlink(filepath.Join(filepath.Dir(cwd), "exe")) // "" if it has ended
			if in, err := os.Readlink(cwd); err != nil || in != data || filepath.Base(exe) != "postgres" {
				continue
			}
			pid, _ := strconv.Atoi(strings.Split(cwd, "/")[2]) // digits
			_ = syscall.Kill(pid, syscall.SIGKILL)             // fails if it has ended
			left = true
		}
		if left && clock.Sleep(ctx, 5*time.Millisecond) != nil {
			return
		}
	}
	_ = os.Remove(filepath.Join(data, "postmaster.pid")) // all processes have ended
}

// serverTime asks the server for the time.
func serverTime(ctx context.Context, addr string) (now time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, URL(addr))
	if err != nil {
		return now, err
	}
	err = c.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now)
	return now, errors.Join(err, c.Close(ctx))
}

// ping connects to the server. It also fails during recovery.
func ping(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, URL(addr))
	if err != nil {
		return err
	}
	return c.Close(ctx)
}
