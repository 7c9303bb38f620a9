package strictyaml

import (
	"errors"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

const (
	maxBytes = 1 << 20 // a topology or a scenario is a page of text
	maxDepth = 32      // they nest eight deep
)

func checkSize(file string, text []byte) error {
	if len(text) > maxBytes {
		return fmt.Errorf("%s: want at most %d bytes", file, maxBytes)
	}
	return nil
}

// Parse reads the one document of a YAML text; file is what errors call it, and every
// error wraps invalid.
func Parse(file string, text []byte, invalid error) (*Document, error) {
	if err := checkSize(file, text); err != nil {
		return nil, fmt.Errorf("%w: %w", err, invalid)
	}
	d := &Document{file: file, invalid: invalid}
	if root := d.load(text); root != nil {
		d.plain(root)
		d.Root = Node{doc: d, yaml: root, line: root.Line}
	}
	if d.err != nil {
		return nil, d.err
	}
	return d, nil
}

// load is nil if the text cannot be read.
func (d *Document) load(text []byte) *yaml.Node {
	text = version.ReplaceAll(text, []byte("${1}1.1"))
	var all []yaml.Node
	err := d.guarded(func() error {
		return yaml.Load(text, &all, yaml.WithAllDocuments(), yaml.WithUniqueKeys(false), yaml.WithPlugin(limits()))
	})
	switch at := (*yaml.LoadError)(nil); {
	case errors.As(err, &at):
		d.failAt(max(at.Mark.Line, 1), "%s", syntax(at))
	case err != nil:
		d.failAt(1, "%v", err)
	case len(all) != 1 || len(all[0].Content) != 1:
		d.failAt(1, "want exactly one YAML document")
	default:
		return all[0].Content[0]
	}
	return nil
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

// guarded turns a panic of the library into an error: the text is a stranger's, and a
// panic ends the program.
func (d *Document) guarded(load func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errLibrary, v)
		}
	}()
	return load()
}

// errLibrary is a panic of the library.
var errLibrary = errors.New("this text breaks the YAML library; write it more simply")

func limits() *loaderlimits.Plugin {
	return loaderlimits.New(loaderlimits.DepthFunc(func(depth int, _ *yaml.DepthContext) error {
		if depth > maxDepth {
			return fmt.Errorf("nested more than %d deep", maxDepth)
		}
		return nil
	}))
}

// plain refuses what this package does not read, so that every node below is a
// mapping with words as keys, a list or a scalar.
func (d *Document) plain(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.failAt(n.Line, "anchors and aliases are not supported: write the value out")
		return
	case n.Style&yaml.TaggedStyle != 0:
		d.failAt(n.Line, "tags such as %s are not supported: write the value alone", n.Tag)
		return
	case n.Kind == yaml.MappingNode:
		d.plainKeys(n)
	}
	for _, child := range n.Content {
		if d.err == nil { // an alias may lead back to where it stands
			d.plain(child)
		}
	}
}

func (d *Document) plainKeys(n *yaml.Node) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line, twice := first[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			d.failAt(key.Line, "want a word as the name of a field")
		case key.Value == "<<" && key.Style == 0:
			d.failAt(key.Line, "merge keys are not supported: write the fields out")
		case twice:
			d.failAt(key.Line, "field %q is there twice: it is on line %d too", key.Value, line)
		}
		first[key.Value] = key.Line
	}
}
