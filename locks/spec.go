package locks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/internal/nearest"
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

	reader **Reader // where Describe wants it
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

// Option is one option of a lock, as its Reader asks for it.
type Option struct {
	Key    string
	Values []string // to choose from; of others there is what stands for one, such as TIME
	Open   bool     // Values is no list to choose from
}

// String is the option as a user writes it, such as order=parallel|sequential or ttl=TIME.
func (o Option) String() string { return o.Key + "=" + strings.Join(o.Values, "|") }

// Describe says which options a lock reads from specs with the name and the variant of
// this one, by having them read, and which variants there are.
func Describe[O any](spec Spec, parse func(Spec) (O, error)) (options []Option, variants []string, err error) {
	var r *Reader
	spec.reader = &r
	if _, err = parse(spec); r != nil {
		options, variants = r.asked, r.variants
	}
	return options, variants, err
}

// Reader reads a spec's options one by one with defaults and remembers what was
// wrong and what was never asked for. Call Err at the end.
type Reader struct {
	spec     Spec
	asked    []Option
	variants []string
	err      error
}

// Reader starts to read the options of the spec.
func (s Spec) Reader() *Reader {
	r := &Reader{spec: s}
	if s.reader != nil {
		*s.reader = r
	}
	return r
}

// read reads an option with parse, which says whether its value is right: what is wanted.
func read[T any](r *Reader, o Option, wanted string, byDefault T, parse func(text string) (T, bool)) T {
	r.asked = append(r.asked, o)
	text, ok := r.spec.Options[o.Key]
	if !ok {
		return byDefault
	}
	value, ok := parse(text)
	if !ok {
		if r.err == nil {
			r.err = fmt.Errorf("lock %q: %s=%s: want %s: %w", r.spec, o.Key, text, wanted, ErrInvalid)
		}
		return byDefault
	}
	return value
}

// Choice reads an option that is one of the choices; the first is the default.
func (r *Reader) Choice(key string, choices ...string) string {
	return read(r, Option{Key: key, Values: choices}, "one of "+strings.Join(choices, ", "), choices[0], func(text string) (string, bool) {
		return text, slices.Contains(choices, text)
	})
}

// Bool reads on or off.
func (r *Reader) Bool(key string, byDefault bool) bool {
	return read(r, Option{Key: key, Values: []string{"on", "off"}}, "on or off", byDefault, func(text string) (bool, bool) {
		return text == "on", text == "on" || text == "off"
	})
}

// Duration reads a positive duration such as 250ms.
func (r *Reader) Duration(key string, byDefault time.Duration) time.Duration {
	return read(r, Option{Key: key, Values: []string{"TIME"}, Open: true}, "a positive duration such as 250ms", byDefault, func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && d > 0
	})
}

// Int reads a whole number within the bounds, both inclusive.
func (r *Reader) Int(key string, byDefault, low, high int) int {
	wanted := fmt.Sprintf("a whole number from %d to %d", low, high)
	return read(r, Option{Key: key, Values: []string{"N"}, Open: true}, wanted, byDefault, func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= low && n <= high
	})
}

// Variant checks the bare word against the variants that the lock has.
func (r *Reader) Variant(known ...string) string {
	r.variants = known
	if r.spec.Variant != "" && !slices.Contains(known, r.spec.Variant) && r.err == nil {
		want, hint := "it has none", ""
		if len(known) > 0 {
			want, hint = "want one of "+strings.Join(known, ", "), nearest.Hint(r.spec.Variant, known)
		}
		r.err = fmt.Errorf("lock %q: unknown variant %q: %s%s: %w", r.spec, r.spec.Variant, want, hint, ErrInvalid)
	}
	return r.spec.Variant
}

// Err is the first thing that was wrong, an option that nobody asked for included.
func (r *Reader) Err() error {
	if r.err != nil {
		return r.err
	}
	var known []string
	for _, o := range r.asked {
		known = append(known, o.Key)
	}
	slices.Sort(known)
	for _, key := range slices.Sorted(maps.Keys(r.spec.Options)) {
		if !slices.Contains(known, key) {
			return fmt.Errorf("lock %q: unknown option %q (known: %s)%s: %w", r.spec, key, cmp.Or(strings.Join(known, ", "), "none"), nearest.Hint(key, known), ErrInvalid)
		}
	}
	return nil
}
