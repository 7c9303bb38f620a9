// Package strictyaml reads the YAML files that users write: topologies, scenarios and suites.
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
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"locklab/internal/nearest"
)

// Files are those that the program has built in, beside those of users.
type Files struct {
	What    string // topology or scenario
	Builtin fs.FS  // builtin/NAME.yaml; numbers before the names, as in 07-NAME, order them
	Invalid error  // what errors wrap
}

// maxBytes is the size of a file: a topology or a scenario is a page of text.
const maxBytes = 1 << 20

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

// Parse reads the one document of a YAML text; file is what errors call it, and every
// error wraps invalid.
func Parse(file string, text []byte, invalid error) (*Document, error) {
	d := &Document{file: file, invalid: invalid}
	var top yaml.Node
	err := yaml.Load(text, &top)
	switch at := (*yaml.LoadError)(nil); {
	case errors.As(err, &at) && at.ContextMsg != "":
		// The end of the text is where one notices that a bracket is open: say where it began.
		d.failAt(at.Mark.Line, "%s (%s that begins on line %d)", at.Message, at.ContextMsg, max(at.ContextMark.Line, 1))
	case errors.As(err, &at) && at.Mark.Line > 0:
		d.failAt(at.Mark.Line, "%s", at.Message)
	case err != nil:
		d.failAt(1, "want exactly one YAML document: %v", err)
	default:
		d.Root = Node{doc: d, yaml: top.Content[0], line: top.Content[0].Line}
	}
	return d, d.err
}

// Err is the first thing that was wrong, nil if nothing was.
func (d *Document) Err() error { return d.err }

func (d *Document) failAt(line int, format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%s:%d: %s: %w", d.file, max(line, 1), fmt.Sprintf(format, args...), d.invalid)
	}
}

// Node is a mapping, a list or a scalar, and the way to it. One that is not there reads as
// nothing: an empty text, no entries. So does a field without a value, as where all below it is
// commented out. Anchors, tags and aliases are not read.
type Node struct {
	doc  *Document
	yaml *yaml.Node // nil if it is not there
	path string     // such as hosts[3].zone; "" for the root
	line int
}

// Line is where the node begins: its field's name, if it has one; or where it is missing.
func (n Node) Line() int { return n.line }

// Given says whether the file has the node.
func (n Node) Given() bool { return n.yaml != nil }

// IsList tells a list, where other kinds are right too; IsMapping is the same for mappings.
func (n Node) IsList() bool { return n.is(yaml.SequenceNode) }

// IsMapping is beside IsList.
func (n Node) IsMapping() bool { return n.is(yaml.MappingNode) }

func (n Node) is(kind yaml.Kind) bool { return n.yaml != nil && n.yaml.Kind == kind }

// blank says that a field has no value.
func (n Node) blank() bool {
	return n.yaml.ShortTag() == "!!null" && n.yaml.Value == "" && n.path != "" && !strings.HasSuffix(n.path, "]")
}

// Fail says what is wrong with the node.
func (n Node) Fail(format string, args ...any) {
	if n.path != "" {
		format, args = "%s: "+format, append([]any{n.path}, args...)
	}
	n.doc.failAt(n.line, format, args...)
}

// Need is the node, which must be there.
func (n Node) Need(want string) Node {
	if n.yaml == nil || n.blank() {
		n.Fail("missing: want %s", want)
	}
	return n
}

// entries are those of a node that must be of a kind; none of one that is not there or blank.
func (n Node) entries(kind yaml.Kind, want string) []*yaml.Node {
	switch {
	case n.is(kind):
		return n.yaml.Content
	case n.yaml != nil && !n.blank():
		n.Fail("want %s", want)
	}
	return nil
}

// Fields is the node, which must be a mapping with the known fields, each once; without any known
// ones, all are right.
func (n Node) Fields(known ...string) Node {
	want := cmp.Or(strings.Join(known, ", "), "any")
	first := map[string]int{} // lines
	for key := range slices.Chunk(n.entries(yaml.MappingNode, "fields ("+want+")"), 2) {
		name, at := key[0].Value, Node{n.doc, key[0], n.path, key[0].Line}
		if line, twice := first[name]; twice {
			at.Fail("field %q is there twice: it is on line %d too", name, line)
		} else if len(known) > 0 && !slices.Contains(known, name) {
			at.Fail("unknown field %q: want %s", name, want)
		}
		first[name] = at.line
	}
	return n
}

// Get is the field of that name.
func (n Node) Get(name string) Node {
	field := Node{n.doc, nil, strings.TrimPrefix(n.path+"."+name, "."), n.line}
	if n.IsMapping() {
		for pair := range slices.Chunk(n.yaml.Content, 2) {
			if pair[0].Value == name {
				field.yaml, field.line = pair[1], pair[0].Line
			}
		}
	}
	return field
}

// Names are the fields' names, in the order of the file.
func (n Node) Names() (names []string) {
	if n.IsMapping() {
		for pair := range slices.Chunk(n.yaml.Content, 2) {
			names = append(names, pair[0].Value)
		}
	}
	return names
}

// List are the entries of a node that must be a list.
func (n Node) List() (all []Node) {
	for i, v := range n.entries(yaml.SequenceNode, "a list") {
		all = append(all, Node{n.doc, v, fmt.Sprintf("%s[%d]", n.path, i), v.Line})
	}
	return all
}

// Some are the entries of a list that must have one.
func (n Node) Some(want string) []Node {
	all := n.List()
	if len(all) == 0 {
		n.Fail("missing: want %s", want)
	}
	return all
}

// Text is a scalar as it was written, without quotes.
func (n Node) Text() string {
	switch {
	case n.yaml == nil:
		return ""
	case n.yaml.Kind != yaml.ScalarNode || n.yaml.ShortTag() == "!!null":
		n.Fail("want a word or a number")
		return ""
	default:
		return n.yaml.Value
	}
}

// Words are all keys and scalars of a node, without comments and layout.
func (n Node) Words() (all []string) {
	if n.yaml == nil {
		return nil
	}
	for _, below := range n.yaml.Content {
		all = append(all, Node{yaml: below}.Words()...)
	}
	return append(all, strings.Fields(n.yaml.Value)...)
}

// Texts are the scalars of a list.
func (n Node) Texts() (all []string) {
	for _, v := range n.List() {
		all = append(all, v.Text())
	}
	return all
}

// OneOf is one of the words.
func (n Node) OneOf(words ...string) string {
	text := n.Text()
	if n.yaml != nil && !slices.Contains(words, text) {
		n.Fail("%q: want one of %s", text, strings.Join(words, ", "))
	}
	return text
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// Name is a word that must be there, of at most so many lower-case letters, digits and
// dashes.
func (n Node) Name(most int) string {
	want := fmt.Sprintf("1 to %d lower-case letters, digits and dashes, such as worker-a-1", most)
	text := n.Need(want).Text()
	if !namePattern.MatchString(text) || len(text) > most {
		n.Fail("%q is not a name: want %s", text, want)
	}
	return text
}

// Duration is a duration within bounds; at least 1 is any above 0.
func (n Node) Duration(least, most time.Duration, example string) time.Duration {
	d, err := time.ParseDuration(n.Text())
	if n.yaml != nil && (err != nil || d < least || d > most) {
		from := fmt.Sprintf("of at least %v", least)
		if least == 1 {
			from = "above 0"
		}
		n.Fail("%q: want a duration %s, up to %v, such as %s", n.Text(), from, most, example)
	}
	return d
}

// Int is a whole number within bounds.
func (n Node) Int(least, most int) int {
	i, err := strconv.Atoi(n.Text())
	if n.yaml != nil && (err != nil || i < least || i > most) {
		n.Fail("%q: want a whole number from %d to %d", n.Text(), least, most)
	}
	return i
}

// Decimal is a number such as 0.05; other forms that computers know are none.
func Decimal(text string) (float64, bool) {
	if text == "" || strings.Trim(text, "0123456789.") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// Percent reads 99%.
func Percent(text string) (float64, bool) {
	digits, isShare := strings.CutSuffix(text, "%")
	p, ok := Decimal(digits)
	return p, isShare && ok && p <= 100
}
