package topology

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"locklab/locks/strictyaml"
)

// ErrInvalid is wrapped by every error about a topology that cannot be used.
var ErrInvalid = errors.New("topology: invalid")

//go:embed builtin/*.yaml
var builtin embed.FS

// Load reads and checks a topology: a built-in one by its name, or a file by its
// path. Errors wrap [ErrInvalid] and name the file, the line and the field.
func Load(nameOrPath string) (*Topology, error) {
	if data, err := builtin.ReadFile("builtin/" + nameOrPath + ".yaml"); err == nil {
		return Parse(nameOrPath+".yaml (built in)", data)
	}
	data, err := strictyaml.ReadFile(nameOrPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("topology %q: no such file and not built in: want one of %s, or the path of a YAML file: %w",
			nameOrPath, strings.Join(builtinNames(), ", "), ErrInvalid)
	}
	if err != nil {
		return nil, fmt.Errorf("read topology: %w: %w", err, ErrInvalid)
	}
	return Parse(nameOrPath, data)
}

// List returns the built-in topologies, sorted by name.
func List() ([]*Topology, error) {
	var all []*Topology
	for _, name := range builtinNames() {
		t, err := Load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func builtinNames() []string {
	entries, err := builtin.ReadDir("builtin")
	if err != nil {
		return nil // cannot happen: the directory is embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return names
}
