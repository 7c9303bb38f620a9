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
	switch {
	case text == "":
		return Spec{}, fmt.Errorf("lock %q: want a name, such as redlock, or one with options, such as redlock:ttl=1s: %w", text, ErrInvalid)
	case name == "" || strings.Contains(name, "="):
		return Spec{}, fmt.Errorf("lock %q: options stand behind the lock that they are of, as in LOCK:%s: %w", text, strings.TrimPrefix(text, ":"), ErrInvalid)
	case !validWord(name):
		return Spec{}, fmt.Errorf("lock %q: a name is lower-case letters, digits and dashes: %w", text, ErrInvalid)
	case !hasOptions:
		return spec, nil
	case rest == "":
		return Spec{}, fmt.Errorf("lock %q: nothing is behind the colon: want %s alone, or options as in %s:KEY=VALUE: %w", text, name, name, ErrInvalid)
	case strings.Contains(rest, ":"):
		return Spec{}, fmt.Errorf("lock %q: more than one colon: want commas behind the first, as in %s:VARIANT,KEY=VALUE: %w", text, name, ErrInvalid)
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
	Key     string
	Does    string   // what it is or changes, for who reads a list of options
	Values  []string // to choose from; of others there is what stands for one, such as TIME
	Open    bool     // Values is no list to choose from
	Default string   // as a user writes it; "" where Does says what it depends on
	// Least and Most bound a whole number, both inclusive; both 0 for any other option.
	Least, Most int
}

// String is the option as a user writes it, such as order=parallel|sequential or ttl=TIME.
func (o Option) String() string { return o.Key + "=" + strings.Join(o.Values, "|") }

// Variant is another algorithm, or another way to ask, under the name of a lock.
type Variant struct{ Name, Does string }

// Describe says which options a lock reads from specs with the name and the variant of
// this one, by having them read, and which variants there are.
func Describe[O any](spec Spec, parse func(Spec) (O, error)) (options []Option, variants []Variant, err error) {
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
	variants []Variant
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

// Choice reads an option that is one of the choices; the first is the default. Here as below,
// does is what the option is or changes.
func (r *Reader) Choice(key, does string, choices ...string) string {
	o := Option{Key: key, Does: does, Values: choices, Default: choices[0]}
	return read(r, o, "one of "+strings.Join(choices, ", "), choices[0], func(text string) (string, bool) {
		return text, slices.Contains(choices, text)
	})
}

// Bool reads on or off.
func (r *Reader) Bool(key, does string, byDefault bool) bool {
	o := Option{Key: key, Does: does, Values: []string{"on", "off"}, Default: "off"}
	if byDefault {
		o.Default = "on"
	}
	return read(r, o, "on or off", byDefault, func(text string) (bool, bool) {
		return text == "on", text == "on" || text == "off"
	})
}

// DurationMax is the longest duration of an option, a year. Sums and multiples of such
// durations stay far below what a time.Duration can hold.
const DurationMax = 365 * 24 * time.Hour

// Duration reads a positive duration such as 250ms, up to DurationMax. A default of 0 is one
// that does explains.
func (r *Reader) Duration(key, does string, byDefault time.Duration) time.Duration {
	o := Option{Key: key, Does: does, Values: []string{"TIME"}, Open: true}
	if byDefault != 0 {
		o.Default = byDefault.String()
	}
	return read(r, o, "a positive duration such as 250ms, at most 8760h", byDefault, func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && d > 0 && d <= DurationMax
	})
}

// Int reads a whole number within the bounds, both inclusive.
func (r *Reader) Int(key, does string, byDefault, low, high int) int {
	o := Option{Key: key, Does: does, Values: []string{"N"}, Open: true, Default: strconv.Itoa(byDefault), Least: low, Most: high}
	return read(r, o, fmt.Sprintf("a whole number from %d to %d", low, high), byDefault, func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= low && n <= high
	})
}

// Variant is the bare word, which Err checks against the variants that the lock has.
func (r *Reader) Variant(known ...Variant) string {
	r.variants = known
	return r.spec.Variant
}

// Err is the first thing that was wrong, an option that nobody asked for included.
func (r *Reader) Err() error {
	var known []string
	for _, o := range r.asked {
		known = append(known, o.Key)
	}
	slices.Sort(known)
	if err := r.checkVariant(known); err != nil {
		return err
	}
	if r.err != nil {
		return r.err
	}
	for _, key := range slices.Sorted(maps.Keys(r.spec.Options)) {
		if !slices.Contains(known, key) {
			return fmt.Errorf("lock %q: unknown option %q (known: %s)%s: %w", r.spec, key, cmp.Or(strings.Join(known, ", "), "none"), nearest.Hint(key, known), ErrInvalid)
		}
	}
	return nil
}

// checkVariant refuses a bare word that is none of the variants, and says so if it is the key of
// an option that was given no value.
func (r *Reader) checkVariant(keys []string) error {
	word := r.spec.Variant
	var names []string
	for _, v := range r.variants {
		names = append(names, v.Name)
	}
	switch {
	case word == "" || slices.Contains(names, word):
		return nil
	case slices.Contains(keys, word):
		return fmt.Errorf("lock %q: option %q has no value: want %s=VALUE: %w", r.spec, word, word, ErrInvalid)
	case len(names) == 0:
		return fmt.Errorf("lock %q: unknown variant %q: it has none: %w", r.spec, word, ErrInvalid)
	}
	return fmt.Errorf("lock %q: unknown variant %q: want one of %s%s: %w", r.spec, word, strings.Join(names, ", "), nearest.Hint(word, names), ErrInvalid)
}
