package catalog

import (
	"slices"
	"strings"
)

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
