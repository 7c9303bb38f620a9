package topology

import (
	"embed"
	"errors"

	"locklab/internal/strictyaml"
)

// ErrInvalid is wrapped by every error about a topology that cannot be used.
var ErrInvalid = errors.New("topology: invalid")

//go:embed builtin/*.yaml
var builtin embed.FS

func files() strictyaml.Files {
	return strictyaml.Files{What: "topology", Builtin: builtin, Invalid: ErrInvalid}
}

// Names lists the names of the built-in topologies, sorted.
func Names() []string { return files().Names() }

// Load reads and checks a topology: a built-in one by its name, or a file by its
// path. Its nodes have the roles that are given, or any if none are. Errors wrap
// [ErrInvalid] and name the file, the line and the field.
func Load(nameOrPath string, roles ...string) (*Topology, error) {
	file, text, err := files().Read(nameOrPath)
	if err != nil {
		return nil, err
	}
	return Parse(file, text, roles...)
}

// List returns the built-in topologies, sorted by name.
func List() ([]*Topology, error) {
	var all []*Topology
	for _, name := range Names() {
		t, err := Load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
