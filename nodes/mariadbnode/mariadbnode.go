// Package mariadbnode runs a MariaDB server as a node of the lab, for locks of its function
// GET_LOCK, which writes nothing. There are no users and no passwords: it has no tables of rights.
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

// Name is the role's, and Port its one port's.
const (
	Name = "mariadb"
	Port = "mariadb"
)

// program is Debian's, where PATH may lack its directory.
func program() (string, error) {
	for _, path := range []string{"mariadbd", "/usr/sbin/mariadbd", "/usr/libexec/mariadbd"} {
		if found, err := exec.LookPath(path); err == nil {
			return found, nil
		}
	}
	return "", role.NotInstalled("MariaDB", "mariadb-server")
}

// Role is what an agent must know to run a server.
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
		args = append(args, "--user=root") // it wants to be told
	}
	cmd := exec.Command(path, args...) //nolint:noctx // Serve ends it
	return node.Serve(ctx, cmd, syscall.SIGTERM, func(ctx context.Context) error {
		return role.Greets(ctx, node.Addrs[Port])
	})
}
