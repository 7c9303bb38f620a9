package catalog

import (
	"fmt"
	"slices"
	"strings"

	"locklab/locks"
)

// ParsePeers reads the spec of a peer-to-peer lock, which has a Core.
func ParsePeers(text string) (Lock, error) {
	spec, err := locks.ParseSpec(text)
	if err != nil {
		return Lock{}, err
	}
	l, err := Bind(spec)
	if err != nil {
		return Lock{}, err
	}
	return l, l.CheckCore()
}

// CheckCore refuses locks without a core.
func (l Lock) CheckCore() error {
	if l.Core == nil {
		names := strings.Join(PeerNames(), ", ")
		return fmt.Errorf("lock %q is no peer-to-peer lock with a pure core: want one of %s", l, names)
	}
	return nil
}

// ParseList reads the values of a flag. A value holds one spec or several behind
// each other: "redlock:order=sequential,retry=fixed,raft" are two, because what
// reads key=value belongs to the spec before it. It may name those that the user brings.
func ParseList(flag string, values []string, own ...Lock) (all []Lock, err error) {
	for _, value := range values {
		for _, text := range splitSpecs(value) {
			spec, err := locks.ParseSpec(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", flag, err)
			}
			i := slices.IndexFunc(own, func(o Lock) bool { return o.String() == spec.String() })
			var l Lock
			if i >= 0 {
				l = own[i]
			} else if l, err = Bind(spec); err != nil {
				return nil, fmt.Errorf("%s: %w%s", flag, err, meant(all, spec))
			}
			if slices.ContainsFunc(all, func(o Lock) bool { return o.String() == l.String() }) {
				return nil, fmt.Errorf("%s: %q is named twice", flag, spec)
			}
			all = append(all, l)
		}
	}
	return all, nil
}

// meant says, of a name that is no lock's, that the lock before it has a variant or an option of
// that name.
func meant(before []Lock, spec locks.Spec) string {
	if _, known := find(spec.Name); known || len(before) == 0 {
		return ""
	}
	last := before[len(before)-1]
	if last.Describe == nil { // one of the user's
		return ""
	}
	options, variants := last.Describe(last.Spec.Variant)
	switch {
	case slices.ContainsFunc(variants, func(v locks.Variant) bool { return v.Name == spec.Name }):
		return fmt.Sprintf("; a variant stands behind a colon: %s:%s", last.Name, spec.Name)
	case slices.ContainsFunc(options, func(o locks.Option) bool { return o.Key == spec.Name }):
		return fmt.Sprintf("; an option has a value: %s:%s=VALUE", last.Name, spec.Name)
	}
	return ""
}

// splitSpecs cuts a list where a new spec begins. Blanks behind a comma count for nothing.
func splitSpecs(list string) (texts []string) {
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

// Complete continues the list of specs that was typed so far: with one of the names behind
// a comma, with a variant or an option behind a colon and what follows it.
func Complete(typed string, names []string) (offers []string) {
	at := strings.LastIndex(typed, ",") + 1
	before, last := typed[:at], typed[at:]
	begun := splitSpecs(strings.TrimSuffix(before, ","))
	if name, _, inside := strings.Cut(last, ":"); inside {
		begun, before = []string{name + ":"}, before+name+":"
	} else {
		for _, name := range names {
			if !slices.Contains(begun, name) {
				offers = append(offers, before+name)
			}
		}
	}
	name, rest, hasOptions := strings.Cut(begun[len(begun)-1], ":")
	if e, known := find(name); hasOptions && known {
		for _, word := range e.continuations(rest) {
			offers = append(offers, before+word)
		}
	}
	return offers
}

// continuations are the variants and options that may follow those that are there.
func (e Entry) continuations(have string) (words []string) {
	variant, _, _ := strings.Cut(have, ",")
	if strings.Contains(variant, "=") {
		variant = ""
	}
	options, variants := e.Describe(variant)
	for _, v := range variants {
		if have == "" {
			words = append(words, v.Name)
		}
	}
	for _, o := range options {
		used := strings.HasPrefix(have, o.Key+"=") || strings.Contains(have, ","+o.Key+"=")
		switch {
		case used:
		case o.Open:
			words = append(words, o.Key+"=")
		default:
			for _, v := range o.Values {
				words = append(words, o.Key+"="+v)
			}
		}
	}
	return words
}
