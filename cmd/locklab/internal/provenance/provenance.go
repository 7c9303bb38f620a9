// Package provenance collects what a report must say about where it was made: the
// machine, the commit, and the versions of what ran.
package provenance

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"locklab/workloads/result"
)

// Host describes this machine. What cannot be found out is left empty.
func Host() result.Host {
	return result.Host{
		OS:        runtime.GOOS,
		Arch:      runtime.GOARCH,
		Kernel:    kernel(),
		CPUs:      runtime.NumCPU(),
		CPUModel:  field("/proc/cpuinfo", "model name"),
		MemoryMiB: memoryMiB(),
		Go:        runtime.Version(),
	}
}

func memoryMiB() int64 {
	kib, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib / 1024
}

// field reads the first "key : value" line of a file of the proc file system.
func field(path, key string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Build is what the binary knows about itself.
type Build struct {
	Version string // of the module, "(devel)" for a build from a work tree
	Commit  string // with "+dirty" when the work tree had changes; "unknown" without one
	Go      string
}

// ReadBuild reads the build information of the binary.
func ReadBuild() Build {
	b := Build{Version: "(devel)", Commit: unknownCommit, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	dirty := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+dirty"
			}
		}
	}
	b.Commit += dirty
	return b
}

// Commit is the commit that the binary was built from. A build with -buildvcs=false does
// not put it into the binary; then it is what LOCKLAB_COMMIT says, for who passes it apart,
// or that of the work tree around the current directory, if that is a work tree of locklab.
func Commit(ctx context.Context) string {
	if commit := ReadBuild().Commit; commit != unknownCommit {
		return commit
	}
	if commit := os.Getenv("LOCKLAB_COMMIT"); commit != "" {
		return commit
	}
	if text, err := os.ReadFile("go.mod"); err != nil || !strings.HasPrefix(string(text), "module locklab\n") {
		return unknownCommit
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return unknownCommit
	}
	commit := strings.TrimSpace(string(head))
	if changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no").Output(); err != nil || len(changes) > 0 {
		commit += "+dirty"
	}
	return commit
}

const unknownCommit = "unknown"

// ModuleVersions are the versions of the named dependencies in this binary.
func ModuleVersions(paths ...string) map[string]string {
	versions := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, dep := range info.Deps {
		for _, path := range paths {
			if dep.Path == path {
				versions[path] = dep.Version
			}
		}
	}
	return versions
}
