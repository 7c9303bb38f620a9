// Package mariadbnode runs a MariaDB server as a node of the lab, for locks with its function
// GET_LOCK, which writes nothing. It runs without users, passwords and grant tables.
package mariadbnode

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"locklab/nodes/process"
	"locklab/nodes/role"
)

// The names of the role and its port.
const (
	Name = "mariadb"
	Port = "mariadb"
)

// program finds mariadbd, also in Debian's directory outside PATH.
func program() (string, error) {
	for _, path := range []string{"mariadbd", "/usr/sbin/mariadbd", "/usr/libexec/mariadbd"} {
		if found, err := exec.LookPath(path); err == nil {
			return found, nil
		}
	}
	return "", role.NotInstalled("MariaDB", "mariadb-server")
}

// Role describes the role to an agent.
func Role() role.Role {
	find := role.Find(program)
	return role.Role{
		Name: Name, Ports: []string{Port}, ClientPort: Port, Main: run, Starts: time.Second,
		Missing: find.Missing, Version: find.Version("MariaDB", " Ver ", "--version"),
	}
}

func run(ctx context.Context, node *process.Node) error {
	path, err := program()
	if err != nil {
		return err
	}
	host, port, err := node.Listens(Port)
	if err != nil {
		return err
	}
	data := filepath.Join(node.Dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	args := []string{
		"--no-defaults", "--datadir=" + data, "--socket=" + filepath.Join(data, "socket"),
		"--pid-file=" + filepath.Join(data, "pid"), "--bind-address=" + host, "--port=" + port,
		"--skip-grant-tables", "--max-connections=400", "--performance-schema=off",
		"--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root") // MariaDB requires it to run as root
	}
	cmd := exec.Command(path, args...) //nolint:noctx // Serve ends it
	return node.Serve(ctx, cmd, syscall.SIGTERM, func(ctx context.Context) error {
		return role.Greets(ctx, node.Addrs[Port])
	})
}
