package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"locklab/chaos/fault"
)

// ErrInvalid is wrapped by errors about programs that cannot be used.
var ErrInvalid = errors.New("external: invalid")

const (
	// limit is how long a program may take, and grace how long it may take to end after SIGTERM.
	limit = 5 * time.Minute
	grace = 20 * time.Second
	// maxSaid is how many bytes are kept of the end of a program's stderr.
	maxSaid = 2048
)

// Programs are the pairs that the user allowed, by name. The zero value allows none.
type Programs map[string]pair

// pair begins a fault and ends it.
type pair struct{ start, stop string }

// Parse reads NAME=START,STOP as the user typed it, once for each pair: absolute
// paths of executable files. Errors wrap [ErrInvalid].
func Parse(flags []string) (Programs, error) {
	p := Programs{}
	for _, text := range flags {
		name, paths, _ := strings.Cut(text, "=")
		start, stop, both := strings.Cut(paths, ",")
		if err := fault.CheckRun([]string{name}); err != nil || !both || strings.Contains(stop, ",") {
			return nil, fmt.Errorf("%q: want NAME=START,STOP, such as fis=/opt/lab/fis-start,/opt/lab/fis-stop: %w", text,
				ErrInvalid)
		}
		if _, twice := p[name]; twice {
			return nil, fmt.Errorf("%q: %s is there already: want another name: %w", text, name, ErrInvalid)
		}
		for _, path := range []string{start, stop} {
			if err := checkProgram(path); err != nil {
				return nil, fmt.Errorf("%q: %w", text, err)
			}
		}
		p[name] = pair{start, stop}
	}
	return p, nil
}

func checkProgram(path string) error {
	info, err := os.Stat(path)
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("program %q: want an absolute path: %w", path, ErrInvalid)
	case err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("program %s: want an executable file: %w", path, ErrInvalid)
	}
	return nil
}

// Check returns an error unless the words name an allowed pair.
func (p Programs) Check(run []string) error {
	if _, known := p[run[0]]; known {
		return nil
	}
	allowed := "none is allowed"
	if len(p) > 0 {
		allowed = "allowed are " + strings.Join(slices.Sorted(maps.Keys(p)), ", ")
	}
	return fmt.Errorf("programs %q: %s: want --external %s=START,STOP: %w", run[0], allowed, run[0], ErrInvalid)
}

// Start begins the fault that the words name. Its error shows the program's stderr; the fault may be there
// nevertheless.
func (p Programs) Start(ctx context.Context, run []string) error {
	return execute(ctx, p[run[0]].start, run[1:])
}

// Stop ends the fault and returns when everything is restored.
func (p Programs) Stop(ctx context.Context, run []string) error {
	return execute(ctx, p[run[0]].stop, run[1:])
}

// execute runs a program in a process group of its own: Ctrl-C reaches only the controller, which then ends
// the fault.
func execute(ctx context.Context, path string, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LOCKLAB_TOKEN=") })
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	_, err := cmd.Output()
	if err == nil {
		return nil
	}
	why := err
	if ctx.Err() != nil {
		if cmd.Process != nil { // and its children
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		why = fmt.Errorf("ended before it was done: %w", ctx.Err())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		said := bytes.ToValidUTF8(exit.Stderr[max(len(exit.Stderr)-maxSaid, 0):], []byte("?"))
		if words := strings.Join(strings.Fields(string(said)), " "); words != "" { // on one line
			why = fmt.Errorf("%w: %s", why, words)
		}
	}
	return fmt.Errorf("run %s: %w", strings.Join(append([]string{path}, args...), " "), why)
}
