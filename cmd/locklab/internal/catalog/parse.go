package catalog

import (
	"fmt"
	"slices"
	"strings"

	"locklab/locks"
)

// ParsePeers reads the spec of a peer-to-peer lock.
func ParsePeers(text string) (Lock, error) {
	spec, err := locks.ParseSpec(text)
	if err != nil {
		return Lock{}, err
	}
	l, err := Bind(spec)
	if err != nil || l.Core != nil {
		return l, err
	}
	var names []string
	for _, e := range Entries() {
		if e.Peers {
			names = append(names, e.Name)
		}
	}
	return l, fmt.Errorf("lock %q is no peer-to-peer lock with a pure core: want one of %s", l, strings.Join(names, ", "))
}

// ParseList reads values, each one spec or several: "redlock:order=sequential,retry=fixed,raft" has two, as key=value
// belongs to the spec before it. Specs may name own, the user's locks.
func ParseList(values []string, own ...Lock) (all []Lock, err error) {
	for _, value := range values {
		for _, text := range Split(value) {
			spec, err := locks.ParseSpec(text)
			if err != nil {
				return nil, err
			}
			var l Lock
			if i := slices.Index(Texts(own), spec.String()); i >= 0 {
				l = own[i]
			} else if l, err = Bind(spec); err != nil {
				return nil, err
			}
			if slices.Contains(Texts(all), l.String()) {
				return nil, fmt.Errorf("%q is named twice", spec)
			}
			all = append(all, l)
		}
	}
	return all, nil
}

// Split cuts a list where a new spec begins, and drops blanks behind commas.
func Split(list string) (texts []string) {
	for field := range strings.SplitSeq(list, ",") {
		field = strings.TrimSpace(field)
		key, _, isPair := strings.Cut(field, "=")
		if !isPair || strings.Contains(key, ":") || len(texts) == 0 {
			texts = append(texts, field)
			continue
		}
		last := &texts[len(texts)-1]
		if strings.Contains(*last, ":") {
			*last += "," + field
		} else {
			*last += ":" + field
		}
	}
	return texts
}
