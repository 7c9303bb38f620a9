package scenario

import (
	"embed"
	"errors"
	"fmt"
	"slices"

	"locklab/internal/strictyaml"
)

// ErrInvalid is wrapped by every error about a scenario that cannot be used.
var ErrInvalid = errors.New("scenario: invalid")

//go:embed builtin/*.yaml
var builtin embed.FS

func files() strictyaml.Files {
	return strictyaml.Files{What: "scenario", Builtin: builtin, Invalid: ErrInvalid}
}

// Load reads and checks a scenario: a built-in one by its name, or a file by its
// path. firstZone is the zone that first-zone means, "" where there is no topology yet. Errors
// wrap [ErrInvalid] and name the file, the line and what would be right.
func Load(nameOrPath, firstZone string) (Scenario, error) {
	file, text, err := files().Read(nameOrPath)
	if err != nil {
		return Scenario{}, err
	}
	s, err := Parse(file, text, firstZone)
	if err == nil && s.Name != nameOrPath && slices.Contains(Names(), s.Name) {
		err = fmt.Errorf("%s:%d: name: %q is a built-in scenario: want another name, such as my-%s: %w",
			s.File, s.nameLine, s.Name, s.Name, ErrInvalid)
	}
	return s, err
}

// Names are the names of the built-in scenarios, in the order in which one would read them:
// nothing broken first, then slow, cut, failing and stopped.
func Names() []string { return files().Names() }
