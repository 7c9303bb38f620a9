package strictyaml

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Node is a mapping, a list or a scalar, and the way to it. One that is not there reads as
// nothing: an empty text, no entries.
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

// blank says that a field has no value, as where all below it is commented out: a list or a
// mapping without entries.
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

// Fields are those of a mapping, by name.
type Fields struct {
	node  Node
	pairs []*yaml.Node // key, value, key, value
}

// Fields are those of a node that must be a mapping with the known fields; without any, all
// are right.
func (n Node) Fields(known ...string) Fields {
	want := cmp.Or(strings.Join(known, ", "), "any")
	f := Fields{n, n.entries(yaml.MappingNode, "want fields ("+want+")")}
	for i := 0; i < len(f.pairs); i += 2 {
		if key := f.pairs[i]; len(known) > 0 && !slices.Contains(known, key.Value) {
			n.line = key.Line
			n.Fail("unknown field %q: want %s", key.Value, want)
		}
	}
	return f
}

// entries are those of a node that must be of a kind; none of one that is not there or blank.
func (n Node) entries(kind yaml.Kind, want string) []*yaml.Node {
	switch {
	case n.is(kind):
		return n.yaml.Content
	case n.yaml != nil && !n.blank():
		n.Fail("%s", want)
	}
	return nil
}

// Get is the field of that name.
func (f Fields) Get(name string) Node {
	n := f.node
	n.path = strings.TrimPrefix(n.path+"."+name, ".")
	n.yaml = nil
	for i := 0; i < len(f.pairs); i += 2 {
		if f.pairs[i].Value == name {
			n.yaml, n.line = f.pairs[i+1], f.pairs[i].Line
		}
	}
	return n
}

// Names are the fields' names, in the order of the file.
func (f Fields) Names() (names []string) {
	for i := 0; i < len(f.pairs); i += 2 {
		names = append(names, f.pairs[i].Value)
	}
	return names
}

// List are the entries of a node that must be a list.
func (n Node) List() (all []Node) {
	for i, v := range n.entries(yaml.SequenceNode, "want a list") {
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
	if n.yaml == nil {
		return ""
	}
	if n.yaml.Kind != yaml.ScalarNode || n.yaml.ShortTag() == "!!null" {
		n.Fail("want a word or a number")
		return ""
	}
	return n.yaml.Value
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
	text := n.Text()
	if n.yaml == nil {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		from := fmt.Sprintf("of at least %v", least)
		if least == 1 {
			from = "above 0"
		}
		n.Fail("%q: want a duration %s, up to %v, such as %s", text, from, most, example)
	}
	return d
}

// Int is a whole number within bounds.
func (n Node) Int(least, most int) int {
	text := n.Text()
	if n.yaml == nil {
		return 0
	}
	i, err := strconv.Atoi(text)
	if err != nil || i < least || i > most {
		n.Fail("%q: want a whole number from %d to %d", text, least, most)
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
