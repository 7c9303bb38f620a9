package strictyaml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Document is a parsed text. Its methods keep the first thing that is wrong; what they
// return after that is of no use.
type Document struct {
	Root    *Node
	file    string
	invalid error
	err     error
}

// Err is the first thing that was wrong, nil if nothing was.
func (d *Document) Err() error { return d.err }

// Fail says what is wrong at a node.
func (d *Document) Fail(n *Node, format string, args ...any) { d.failAt(n.Line, format, args...) }

func (d *Document) failAt(line int, format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%s:%d: %s: %w", d.file, line, fmt.Sprintf(format, args...), d.invalid)
	}
}

// Field is one "key: value" of a mapping.
type Field struct {
	Key   string
	At    *Node // the key
	Value *Node
}

// Fields are those of a node that must be a mapping with the known keys; without any,
// all keys are right.
func (d *Document) Fields(n *Node, what string, known ...string) []Field {
	want := "any"
	if len(known) > 0 {
		want = strings.Join(known, ", ")
	}
	if n.Kind != yaml.MappingNode {
		d.Fail(n, "%s: want fields (%s)", what, want)
		return nil
	}
	var all []Field
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if len(known) > 0 && !slices.Contains(known, key.Value) {
			d.Fail(key, "%s: unknown field %q: want %s", what, key.Value, want)
		}
		all = append(all, Field{key.Value, key, n.Content[i+1]})
	}
	return all
}

// List are the entries of a node that must be a list.
func (d *Document) List(n *Node, what string) []*Node {
	if n.Kind != yaml.SequenceNode {
		d.Fail(n, "%s: want a list", what)
		return nil
	}
	return n.Content
}

// IsList and IsMapping tell what a node is, where more than one kind is right.
func IsList(n *Node) bool { return n.Kind == yaml.SequenceNode }

// IsMapping is beside IsList.
func IsMapping(n *Node) bool { return n.Kind == yaml.MappingNode }

// Text is a scalar as it was written, without quotes.
func (d *Document) Text(n *Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.Fail(n, "%s: want a word or a number", what)
		return ""
	}
	return n.Value
}

// Texts are the scalars of a list.
func (d *Document) Texts(n *Node, what string) (all []string) {
	for _, v := range d.List(n, what) {
		all = append(all, d.Text(v, what))
	}
	return all
}

// Find is the node at a path such as hosts[3].zone, or the nearest one around it.
func (d *Document) Find(path string) *Node {
	at := d.Root
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		next := child(at, part)
		if next == nil {
			break
		}
		at = next
	}
	return at
}

func child(n *Node, part string) *Node {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == part {
				return n.Content[i+1]
			}
		}
	}
	if i, err := strconv.Atoi(part); err == nil && n.Kind == yaml.SequenceNode && i >= 0 && i < len(n.Content) {
		return n.Content[i]
	}
	return nil
}
