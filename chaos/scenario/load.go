package scenario

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"strings"

	"locklab/locks/strictyaml"
)

// ErrInvalid is wrapped by every error about a scenario that cannot be used.
var ErrInvalid = errors.New("scenario: invalid")

//go:embed builtin/*.yaml
var builtin embed.FS

// Load reads and checks a scenario: a built-in one by its name, or a file by its
// path. Errors wrap [ErrInvalid] and name the file, the line and what would be right.
func Load(nameOrPath string) (Scenario, error) {
	if text, err := builtin.ReadFile("builtin/" + nameOrPath + ".yaml"); err == nil {
		return Parse(nameOrPath+".yaml (built in)", text)
	}
	text, err := strictyaml.ReadFile(nameOrPath)
	if errors.Is(err, os.ErrNotExist) {
		return Scenario{}, fmt.Errorf("scenario %q: neither built in nor a file: want one of %s, or the path of a YAML file: %w",
			nameOrPath, strings.Join(Names(), ", "), ErrInvalid)
	}
	if err != nil {
		return Scenario{}, fmt.Errorf("read scenario: %w: %w", err, ErrInvalid)
	}
	return Parse(nameOrPath, text)
}

// List returns the built-in scenarios, in the order in which one would read them:
// nothing broken first, then slow, cut, failing and stopped.
func List() ([]Scenario, error) {
	var all []Scenario
	for _, name := range Names() {
		s, err := Load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Names are the names of the built-in scenarios, in the order of [List].
func Names() []string {
	return []string{
		"baseline", "zone-latency", "zone-partition", "zone-partition-reset", "one-way-partition",
		"zone-failure", "holder-kill", "holder-pause", "leader-kill", "link-flap",
	}
}
