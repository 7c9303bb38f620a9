package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"locklab/chaos/scenario"
	"locklab/locks/program"
	"locklab/nodes/topology"
	"locklab/workloads/result"
)

// inputs are the SHA-256 of the user's files that say what is run, by their paths: one result
// has rows of one version of them.
func (f *runFlags) inputs(programs map[string]program.Command) (map[string]string, error) {
	var paths []string
	add := func(builtin []string, names ...string) {
		for _, name := range names {
			if !slices.Contains(builtin, name) {
				paths = append(paths, name)
			}
		}
	}
	add(scenario.Names(), f.scenarios...)
	add(topology.Names(), f.topology)
	for _, command := range programs {
		add(nil, scriptOf(command))
	}
	for _, text := range f.external {
		_, files, _ := strings.Cut(text, "=")
		add(nil, strings.Split(files, ",")...)
	}
	all := map[string]string{}
	for _, path := range paths {
		sum, err := sumOf(path)
		if err != nil {
			return nil, err
		}
		all[path] = sum
	}
	return all, nil
}

// scriptOf is the file that the user may change of a program: itself, or what an interpreter
// from elsewhere is given first. Later arguments may be its data.
func scriptOf(c program.Command) string {
	if !strings.HasPrefix(c.Args[0], c.Dir+string(filepath.Separator)) {
		for _, word := range c.Args[1:] {
			if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() {
				return word
			}
		}
	}
	return c.Args[0]
}

func sumOf(path string) (sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// sameInputs refuses to go on with other files than those of then. Older results do not say
// which those were.
func (p plan) sameInputs(earlier result.File, dir string) error {
	for _, part := range p.parts {
		for _, path := range slices.Sorted(maps.Keys(part.Inputs)) {
			if was := earlier.Run.Inputs[path]; cmp.Or(was, part.Inputs[path]) != part.Inputs[path] {
				return fmt.Errorf("--resume %s: %s is not what it was when the run began: want it as it was then, or another run in a directory of its own", dir, path)
			}
		}
	}
	return nil
}
