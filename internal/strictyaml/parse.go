// Package strictyaml reads the YAML files that users write: topologies, scenarios and suites.
//
// It reads the plain part of YAML and refuses the rest where it stands: tags, anchors,
// aliases, fields that are there twice, more than one document.
//
// [Parse] makes a [Document] of [Node]s, which are read and checked in one pass. The
// document keeps the first thing that is wrong, with file, line, the way to the field, and
// what would be right:
//
//	doc, err := strictyaml.Parse(path, text, ErrInvalid)
//	f := doc.Root.Fields("name", "hosts")
//	name := f.Get("name").Name(63)
//	for _, h := range f.Get("hosts").Some("at least one host") {
//		...
//	}
//	return doc.Err()
package strictyaml

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

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
	info, err := os.Stat(nameOrPath)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("%s %q: neither built in nor a file: want one of %s, or the path of a YAML file%s",
			f.What, nameOrPath, strings.Join(f.Names(), ", "), nearest.Hint(nameOrPath, f.Names()))
	case err == nil && (!info.Mode().IsRegular() || info.Size() > maxBytes): // opening a pipe would wait for a writer
		err = fmt.Errorf("%s: want a regular YAML file of at most %d bytes", nameOrPath, maxBytes)
	case err == nil:
		text, err = os.ReadFile(nameOrPath) //nolint:gosec // the user names the file to read
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", err, f.Invalid)
	}
	return nameOrPath, text, err
}

// maxBytes is the size of a file: a topology or a scenario is a page of text.
const maxBytes = 1 << 20

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

// Document is a parsed text. It keeps the first thing that is wrong; what its nodes return
// after that is of no use.
type Document struct {
	Root Node

	file    string
	invalid error
	err     error
}

// Err is the first thing that was wrong, nil if nothing was.
func (d *Document) Err() error { return d.err }

func (d *Document) failAt(line int, format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%s:%d: %s: %w", d.file, line, fmt.Sprintf(format, args...), d.invalid)
	}
}

// Parse reads the one document of a YAML text; file is what errors call it, and every
// error wraps invalid.
func Parse(file string, text []byte, invalid error) (*Document, error) {
	d := &Document{file: file, invalid: invalid}
	var all []yaml.Node
	err := yaml.Load(version.ReplaceAll(text, []byte("${1}1.1")), &all, yaml.WithAllDocuments(),
		yaml.WithUniqueKeys(false))
	switch at := (*yaml.LoadError)(nil); {
	case errors.As(err, &at):
		d.failAt(max(at.Mark.Line, 1), "%s", syntax(at))
	case err != nil:
		d.failAt(1, "%v", err)
	case len(all) != 1 || len(all[0].Content) != 1:
		d.failAt(1, "want exactly one YAML document")
	default:
		root := all[0].Content[0]
		d.plain(root)
		d.Root = Node{doc: d, yaml: root, line: root.Line}
	}
	return d, d.err
}

// version is the directive %YAML 1.2. The library reads such files, but refuses to be told so.
var version = regexp.MustCompile(`\A((?:[ \t]*(?:#.*)?\r?\n)*%YAML[ \t]+)1\.2\b`)

// syntax says what is wrong, and where that began: the end of the text is where one
// notices that a bracket is open.
func syntax(e *yaml.LoadError) string {
	if e.ContextMsg == "" || e.ContextMark.Line == e.Mark.Line {
		return e.Message
	}
	return fmt.Sprintf("%s (%s that begins on line %d)", e.Message, e.ContextMsg, max(e.ContextMark.Line, 1))
}

// plain refuses what this package does not read, so that every node below is a mapping without
// doubles, a list or a scalar.
func (d *Document) plain(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.failAt(n.Line, "anchors and aliases are not supported: write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		d.failAt(n.Line, "tags such as %s are not supported: write the value alone", n.Tag)
	case n.Kind == yaml.MappingNode:
		first := map[string]int{}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if line, twice := first[key.Value]; twice {
				d.failAt(key.Line, "field %q is there twice: it is on line %d too", key.Value, line)
			}
			first[key.Value] = key.Line
		}
	}
	for _, child := range n.Content {
		if d.err == nil { // an alias may lead back to where it stands
			d.plain(child)
		}
	}
}
