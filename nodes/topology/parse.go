package topology

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// document is a topology as it is written. Durations stay text until they are
// checked, so that an error can say where they stand and what would be right.
type document struct {
	Name    string        `yaml:"name"`
	Summary string        `yaml:"summary"`
	Zones   []zoneEntry   `yaml:"zones"`
	Latency *latencyEntry `yaml:"latency"`
	Hosts   []hostEntry   `yaml:"hosts"`
}

type zoneEntry struct {
	Name  string `yaml:"name"`
	Short string `yaml:"short"`
}

type latencyEntry struct {
	Inside  *rttEntry   `yaml:"inside"`
	Between *rttEntry   `yaml:"between"`
	Pairs   []pairEntry `yaml:"pairs"`
}

type rttEntry struct {
	RTT    string `yaml:"rtt"`
	Jitter string `yaml:"jitter"`
}

type pairEntry struct {
	Zones  []string `yaml:"zones"`
	RTT    string   `yaml:"rtt"`
	Jitter string   `yaml:"jitter"`
}

type hostEntry struct {
	Name  string      `yaml:"name"`
	Zone  string      `yaml:"zone"`
	Agent string      `yaml:"agent"`
	Nodes []nodeEntry `yaml:"nodes"`
}

type nodeEntry struct {
	Name string `yaml:"name"`
	Role string `yaml:"role"`
}

// fieldsAt says which fields are right where, by path with the indexes left out.
func fieldsAt(place string) string {
	switch place {
	case "$":
		return "name, summary, zones, latency, hosts"
	case "$.zones[]":
		return "name, short"
	case "$.latency":
		return "inside, between, pairs"
	case "$.latency.inside", "$.latency.between":
		return "rtt, jitter"
	case "$.latency.pairs[]":
		return "zones, rtt, jitter"
	case "$.hosts[]":
		return "name, zone, agent, nodes"
	case "$.hosts[].nodes[]":
		return "name, role"
	default:
		return "none here"
	}
}

// Parse checks the YAML text of a topology; file is what errors call it. Errors
// wrap [ErrInvalid].
func Parse(file string, data []byte) (*Topology, error) {
	src := source{file: file}
	var err error
	if src.tree, err = parser.ParseBytes(data, 0); err != nil {
		return nil, src.decodeError(err)
	}
	if len(src.tree.Docs) != 1 || src.tree.Docs[0].Body == nil {
		return nil, fmt.Errorf("%s: want exactly one YAML document: %w", file, ErrInvalid)
	}
	var doc document
	if err := yaml.NodeToValue(src.tree.Docs[0].Body, &doc, yaml.DisallowUnknownField()); err != nil {
		return nil, src.decodeError(err)
	}
	return doc.check(src)
}

// source finds the line of a field.
type source struct {
	file string
	tree *ast.File
}

// errorf reports what is wrong with a field, given by its path such as
// "hosts[3].zone". A field that is absent is reported at its nearest parent.
func (s source) errorf(field, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s: %s: %w", s.file, s.line(field), field, fmt.Sprintf(format, args...), ErrInvalid)
}

func (s source) line(field string) int {
	for ; field != ""; field = parent(field) {
		p, err := yaml.PathString("$." + field)
		if err != nil {
			continue
		}
		if node, err := p.FilterFile(s.tree); err == nil && node != nil {
			return firstLine(node)
		}
	}
	return 1
}

func parent(field string) string {
	return field[:max(strings.LastIndexAny(field, ".["), 0)]
}

// firstLine is the line on which a node starts: a block's own token may be the
// colon after its first key.
func firstLine(node ast.Node) int {
	if m, ok := node.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		node = m.Values[0].Key
	}
	if v, ok := node.(*ast.MappingValueNode); ok {
		node = v.Key
	}
	return node.GetToken().Position.Line
}

func (s source) decodeError(err error) error {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil {
		return fmt.Errorf("%s: %w: %w", s.file, err, ErrInvalid)
	}
	line, message := at.GetToken().Position.Line, at.GetMessage()
	if unknown, ok := errors.AsType[*yaml.UnknownFieldError](err); ok {
		place := s.placeOf(unknown.Token.Value, line)
		return fmt.Errorf("%s:%d: unknown field %q: want %s: %w", s.file, line, unknown.Token.Value, fieldsAt(place), ErrInvalid)
	}
	return fmt.Errorf("%s:%d: %s: %w", s.file, line, message, ErrInvalid)
}

// placeOf is the path, without indexes, of the mapping that has the key on the line.
func (s source) placeOf(key string, line int) string {
	finder := &keyFinder{key: key, line: line}
	for _, doc := range s.tree.Docs {
		ast.Walk(finder, doc)
	}
	return finder.place
}

type keyFinder struct {
	key   string
	line  int
	place string
}

func (f *keyFinder) Visit(node ast.Node) ast.Visitor {
	v, ok := node.(*ast.MappingValueNode)
	if ok && f.place == "" && v.Key.GetToken().Value == f.key && v.Key.GetToken().Position.Line == f.line {
		whole := strings.TrimSuffix(regexp.MustCompile(`\[\d+\]`).ReplaceAllString(v.Key.GetPath(), "[]"), "."+f.key)
		f.place = whole
	}
	return f
}

// longest is the greatest latency that makes sense: it is the base of every run.
const longest = 10 * time.Second

func (s source) duration(field, text, example string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case text == "":
		return 0, s.errorf(field, "missing: want a duration such as %s", example)
	case err != nil:
		return 0, s.errorf(field, "%q is not a duration: want a number with a unit such as %s", text, example)
	case d < 0 || d > longest:
		return 0, s.errorf(field, "%s is out of range: want 0s to %s", text, longest)
	}
	return d, nil
}

func (s source) rtt(field, rtt, jitter string) (RTT, error) {
	r, err := s.duration(field+".rtt", rtt, "0.2ms")
	if err != nil {
		return RTT{}, err
	}
	if jitter == "" {
		return RTT{RTT: r}, nil
	}
	j, err := s.duration(field+".jitter", jitter, "0.04ms")
	if err != nil {
		return RTT{}, err
	}
	if j > r {
		return RTT{}, s.errorf(field+".jitter", "%s is more than the rtt: want at most %s", j, r)
	}
	return RTT{RTT: r, Jitter: j}, nil
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

const nameWanted = "want 1 to 63 lower-case letters, digits and dashes, such as worker-a-1"

func (s source) name(field, name string, seen map[string]bool, what string) error {
	switch {
	case name == "":
		return s.errorf(field, "missing: %s", nameWanted)
	case !namePattern.MatchString(name):
		return s.errorf(field, "%q is not a name: %s", name, nameWanted)
	case seen[name]:
		return s.errorf(field, "%s %q appears twice: want a name of its own for each", what, name)
	}
	seen[name] = true
	return nil
}

func oneOf(words []string) string { return strings.Join(words, ", ") }

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }
