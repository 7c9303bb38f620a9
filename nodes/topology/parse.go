package topology

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"locklab/locks/strictyaml"
)

// Parse checks the YAML text of a topology; file is what errors call it. Errors
// wrap [ErrInvalid].
func Parse(file string, data []byte) (*Topology, error) {
	text, err := strictyaml.Parse(file, data, ErrInvalid)
	if err != nil {
		return nil, err
	}
	src := source{text}
	doc := src.document()
	if err := src.Err(); err != nil {
		return nil, err
	}
	return doc.check(src)
}

// source is the text of a topology.
type source struct{ *strictyaml.Document }

// errorf reports what is wrong with a field, given by its path such as
// "hosts[3].zone". A field that is absent is reported at its nearest parent.
func (s source) errorf(field, format string, args ...any) error {
	s.Fail(s.Find(field), "%s: %s", field, fmt.Sprintf(format, args...))
	return s.Err()
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
