package locks

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spec names a lock and its options as users write them:
//
//	redlock
//	redlock:order=sequential,retry=fixed
//	multiphase:quorum          (a bare word is a variant, see Variant)
type Spec struct {
	Name    string
	Variant string            // the bare word, "" if there is none
	Options map[string]string // key=value pairs
}

// ParseSpec reads a spec. It does not know which names and options exist: the
// lock that is built from the spec refuses what it does not know (see Reader).
func ParseSpec(text string) (Spec, error) {
	name, rest, hasOptions := strings.Cut(text, ":")
	spec := Spec{Name: name, Options: map[string]string{}}
	if !validWord(name) {
		return Spec{}, fmt.Errorf("lock %q: a name is lower-case letters, digits and dashes: %w", text, ErrInvalid)
	}
	if !hasOptions {
		return spec, nil
	}
	for field := range strings.SplitSeq(rest, ",") {
		key, value, isPair := strings.Cut(field, "=")
		switch {
		case !validWord(key) || (isPair && value == ""):
			return Spec{}, fmt.Errorf("lock %q: option %q should read key=value: %w", text, field, ErrInvalid)
		case !isPair && spec.Variant != "":
			return Spec{}, fmt.Errorf("lock %q: two variants, %q and %q, where one is allowed: %w", text, spec.Variant, key, ErrInvalid)
		case !isPair:
			spec.Variant = key
		default:
			if _, twice := spec.Options[key]; twice {
				return Spec{}, fmt.Errorf("lock %q: option %q is given twice: %w", text, key, ErrInvalid)
			}
			spec.Options[key] = value
		}
	}
	return spec, nil
}

func validWord(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return s != ""
}

// String is the canonical form: the variant first, options sorted by key.
// ParseSpec(s.String()) gives s again.
func (s Spec) String() string {
	var fields []string
	if s.Variant != "" {
		fields = append(fields, s.Variant)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Options)) {
		fields = append(fields, key+"="+s.Options[key])
	}
	if len(fields) == 0 {
		return s.Name
	}
	return s.Name + ":" + strings.Join(fields, ",")
}

// Reader reads a spec's options one by one with defaults and remembers what was
// wrong and what was never asked for. Call Err at the end.
type Reader struct {
	spec  Spec
	asked map[string]bool
	err   error
}

// Reader starts to read the options of the spec.
func (s Spec) Reader() *Reader { return &Reader{spec: s, asked: map[string]bool{}} }

func (r *Reader) take(key string) (string, bool) {
	r.asked[key] = true
	value, ok := r.spec.Options[key]
	return value, ok
}

func (r *Reader) fail(key, value, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("lock %q: %s=%s: want %s: %w", r.spec, key, value, want, ErrInvalid)
	}
}

// Choice reads an option that is one of the choices; the first is the default.
func (r *Reader) Choice(key string, choices ...string) string {
	value, ok := r.take(key)
	if !ok {
		return choices[0]
	}
	if !slices.Contains(choices, value) {
		r.fail(key, value, "one of "+strings.Join(choices, ", "))
		return choices[0]
	}
	return value
}

// Bool reads on or off.
func (r *Reader) Bool(key string, byDefault bool) bool {
	value, ok := r.take(key)
	if !ok {
		return byDefault
	}
	if value != "on" && value != "off" {
		r.fail(key, value, "on or off")
	}
	return value == "on"
}

// Duration reads a positive duration such as 250ms.
func (r *Reader) Duration(key string, byDefault time.Duration) time.Duration {
	value, ok := r.take(key)
	if !ok {
		return byDefault
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		r.fail(key, value, "a positive duration such as 250ms")
		return byDefault
	}
	return d
}

// Int reads a whole number within the bounds, both inclusive.
func (r *Reader) Int(key string, byDefault, low, high int) int {
	value, ok := r.take(key)
	if !ok {
		return byDefault
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		r.fail(key, value, fmt.Sprintf("a whole number from %d to %d", low, high))
		return byDefault
	}
	return n
}

// Variant checks the bare word against the variants that the lock has.
func (r *Reader) Variant(known ...string) string {
	if r.spec.Variant != "" && !slices.Contains(known, r.spec.Variant) && r.err == nil {
		want := "it has none"
		if len(known) > 0 {
			want = "want one of " + strings.Join(known, ", ")
		}
		r.err = fmt.Errorf("lock %q: unknown variant %q: %s: %w", r.spec, r.spec.Variant, want, ErrInvalid)
	}
	return r.spec.Variant
}

// Err is the first thing that was wrong, an option that nobody asked for included.
func (r *Reader) Err() error {
	if r.err != nil {
		return r.err
	}
	for _, key := range slices.Sorted(maps.Keys(r.spec.Options)) {
		if !r.asked[key] {
			known := strings.Join(slices.Sorted(maps.Keys(r.asked)), ", ")
			if known == "" {
				known = "none"
			}
			return fmt.Errorf("lock %q: unknown option %q (known: %s): %w", r.spec, key, known, ErrInvalid)
		}
	}
	return nil
}
