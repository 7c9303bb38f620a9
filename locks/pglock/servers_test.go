package pglock_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/locks/locktest"
)

// server is a real one of a test's own.
type server struct {
	addr string
	bin  string // the folder of its programs
	dir  string // its data
	args []string
	cmd  *exec.Cmd

	uid, gid uint32 // of who runs it, in place of root; 0 for this process's own
}

// startServer starts one, and returns its address.
func startServer(tb testing.TB) string { tb.Helper(); return newServer(tb).addr }

// newServer starts a server with these settings.
func newServer(tb testing.TB, settings ...string) *server {
	tb.Helper()
	bin, err := exec.LookPath("initdb")
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); err != nil && len(found) > 0 {
		bin, err = found[len(found)-1], nil
	}
	if err != nil {
		tb.Skip("PostgreSQL is not installed here: apt-get install postgresql")
	}
	bin, _ = filepath.EvalSymlinks(bin)
	s := &server{bin: filepath.Dir(bin), addr: locktest.FreeAddr(tb)}
	s.dir, err = os.MkdirTemp("", "pglock-") //nolint:usetesting // tb.TempDir is root's only
	must.Do(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	if os.Geteuid() == 0 {
		u, err := user.Lookup("nobody")
		must.Do(tb, err)
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		must.Do(tb, os.Chown(s.dir, uid, gid))
		s.uid, s.gid = uint32(uid), uint32(gid)
	}
	initdb := s.program(tb, bin, "-D", s.dir, "-U", "locklab", "--auth=trust", "--no-sync", "--no-locale", "-E", "UTF8")
	must.Do(tb, initdb.Wait())
	_, port, _ := net.SplitHostPort(s.addr)
	for _, set := range append([]string{"listen_addresses=127.0.0.1", "port=" + port, "unix_socket_directories=", "max_connections=200", "fsync=off"}, settings...) {
		s.args = append(s.args, "-c", set)
	}
	s.start(tb)
	tb.Cleanup(func() { s.end(syscall.SIGINT) })
	return s
}

// program starts one that does not run as root.
func (s *server) program(tb testing.TB, path string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir = "/"
	if s.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: s.uid, Gid: s.gid}}
	}
	must.Do(tb, cmd.Start())
	return cmd
}

// start starts the server, and waits until it answers.
func (s *server) start(tb testing.TB) {
	tb.Helper()
	s.cmd = s.program(tb, filepath.Join(s.bin, "postgres"), append([]string{"-D", s.dir}, s.args...)...)
	answers(tb, s.addr)
}

func answers(tb testing.TB, addr string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, url(addr))
		if err == nil {
			_ = c.Close(ctx)
			return
		}
		if clock.Sleep(ctx, 10*time.Millisecond) != nil {
			tb.Fatal(err)
		}
	}
}

func (s *server) end(by syscall.Signal) { _, _ = s.cmd.Process.Signal(by), s.cmd.Wait() }

// crash has the server forget what it has not written, and starts it again.
func (s *server) crash(tb testing.TB) {
	tb.Helper()
	s.end(syscall.SIGQUIT)
	s.start(tb)
}

// ask has the server answer, as its superuser.
func ask[T any](tb testing.TB, addr, sql string) (answer T) {
	tb.Helper()
	c, err := pgx.Connect(tb.Context(), url(addr))
	must.Do(tb, err)
	defer func() { _ = c.Close(tb.Context()) }()
	must.Do(tb, c.QueryRow(tb.Context(), sql).Scan(&answer))
	return answer
}

// do has the server run a statement, as its superuser.
func do(tb testing.TB, addr, sql string) {
	tb.Helper()
	c, err := pgx.Connect(tb.Context(), url(addr))
	must.Do(tb, err)
	defer func() { _ = c.Close(tb.Context()) }()
	_, err = c.Exec(tb.Context(), sql)
	must.Do(tb, err)
}

// endSessions has the server end all others.
func endSessions(tb testing.TB, addr string) {
	tb.Helper()
	do(tb, addr, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
}
