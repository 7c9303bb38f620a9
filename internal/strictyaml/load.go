package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"locklab/internal/nearest"
)

// Files are those that the program has built in, beside those of users.
type Files struct {
	What    string // topology or scenario
	Builtin fs.FS  // builtin/NAME.yaml; numbers before the names, as in 07-NAME, order them
	Invalid error  // what errors wrap
}

// Read reads a built-in file by its name, or a user's by its path. file is what errors
// should call it.
func (f Files) Read(nameOrPath string) (file string, text []byte, err error) {
	if i := slices.Index(f.Names(), nameOrPath); i >= 0 {
		text, err = fs.ReadFile(f.Builtin, f.paths()[i])
		return nameOrPath + ".yaml (built in)", text, err
	}
	text, err = readFile(nameOrPath)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("%s %q: neither built in nor a file: want one of %s, or the path of a YAML file%s: %w",
			f.What, Cut(nameOrPath), strings.Join(f.Names(), ", "), nearest.Hint(nameOrPath, f.Names()), f.Invalid)
	case err != nil:
		err = fmt.Errorf("read %s: %w: %w", f.What, err, f.Invalid)
	}
	return nameOrPath, text, err
}

// Names are those of the built-in files, in their order.
func (f Files) Names() (names []string) {
	for _, p := range f.paths() {
		names = append(names, strings.TrimSuffix(strings.TrimLeft(path.Base(p), "0123456789-"), ".yaml"))
	}
	return names
}

func (f Files) paths() []string {
	found, _ := fs.Glob(f.Builtin, "builtin/*.yaml") // the pattern is right
	return found
}

// readFile reads a regular file that is small enough to be a configuration.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	// Opening a pipe would wait for a writer.
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: want a regular YAML file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil {
		err = checkSize(path, text)
	}
	return text, err
}
