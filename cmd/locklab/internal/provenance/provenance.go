// Package provenance collects what a report must say about where it was made: the
// machine, the commit, and the versions of what ran.
package provenance

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"locklab/workloads/result"
)

// Host describes this machine, as far as it is known.
func Host() result.Host {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease") // there is none but on Linux
	kib, _ := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	return result.Host{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: strings.TrimSpace(string(release)), Go: runtime.Version(),
		CPUs: runtime.NumCPU(), CPUModel: field("/proc/cpuinfo", "model name"), MemoryMiB: kib / 1024,
	}
}

// field reads the first "key : value" line of a file of the proc file system.
func field(path, key string) string {
	text, _ := os.ReadFile(path) // likewise
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
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
	b.Version = cmp.Or(info.Main.Version, b.Version)
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	b.Commit += dirty
	return b
}

// Commit is the commit that the binary was built from. With -buildvcs=false it is LOCKLAB_COMMIT, or that of the work
// tree of locklab around the current directory.
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
	git := exec.CommandContext(ctx, "git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+dirty")
	out, err := git.Output()
	if err != nil {
		return unknownCommit
	}
	return strings.TrimSpace(string(out))
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
		if slices.Contains(paths, dep.Path) {
			versions[dep.Path] = dep.Version
		}
	}
	return versions
}
