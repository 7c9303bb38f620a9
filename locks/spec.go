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

	reader **Reader // set by Describe, to get the Reader
}

// ParseSpec reads a spec. It accepts all names and options; the lock that is built from the
// spec refuses unknown ones (see Reader).
func ParseSpec(text string) (Spec, error) {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("lock %q: %s: %w", text, fmt.Sprintf(format, args...), ErrInvalid)
	}
	name, rest, hasOptions := strings.Cut(text, ":")
	spec := Spec{Name: name, Options: map[string]string{}}
	switch {
	case text == "":
		return Spec{}, wrong("want a name, such as redlock, or one with options, such as redlock:ttl=1s")
	case name == "" || strings.Contains(name, "="):
		return Spec{}, wrong("options stand behind the lock that they are of, as in LOCK:%s", strings.TrimPrefix(text, ":"))
	case !validWord(name):
		return Spec{}, wrong("a name is lower-case letters, digits and dashes")
	case !hasOptions:
		return spec, nil
	case rest == "":
		return Spec{}, wrong("nothing is behind the colon: want %s alone, or options as in %s:KEY=VALUE", name, name)
	case strings.Contains(rest, ":"):
		return Spec{}, wrong("more than one colon: want commas behind the first, as in %s:VARIANT,KEY=VALUE", name)
	}
	for field := range strings.SplitSeq(rest, ",") {
		key, value, isPair := strings.Cut(field, "=")
		_, twice := spec.Options[key]
		switch {
		case !validWord(key) || (isPair && value == ""):
			return Spec{}, wrong("option %q should read key=value", field)
		case !isPair && spec.Variant != "":
			return Spec{}, wrong("two variants, %q and %q, where one is allowed", spec.Variant, key)
		case !isPair:
			spec.Variant = key
		case twice:
			return Spec{}, wrong("option %q is given twice", key)
		default:
			spec.Options[key] = value
		}
	}
	return spec, nil
}

func validWord(s string) bool {
	other := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' }
	return s != "" && !strings.ContainsFunc(s, other)
}

// String returns the canonical form: the variant first, options sorted by key.
// ParseSpec(s.String()) returns s again.
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

// Option is one option of a lock.
type Option struct {
	Key     string
	Does    string   // what it is or changes, for lists of options
	Values  []string // the choices, or if Open a placeholder such as TIME
	Open    bool     // Values is a placeholder
	Default string   // as a user writes it; "" if Does explains it
	// Least and Most bound a whole number, inclusively; both are 0 for other options.
	Least, Most int
}

// String returns the option as a user writes it, such as order=parallel|sequential or ttl=TIME.
func (o Option) String() string { return o.Key + "=" + strings.Join(o.Values, "|") }

// Variant is a variant of a lock: another algorithm, or another way to acquire.
type Variant struct{ Name, Does string }

// Describe returns the options that a lock reads from specs with this name and variant, and
// all its variants. It calls parse to learn them.
func Describe[O any](spec Spec, parse func(Spec) (O, error)) (options []Option, variants []Variant, err error) {
	var r *Reader
	spec.reader = &r
	if _, err = parse(spec); r != nil {
		options, variants = r.asked, r.variants
	}
	return options, variants, err
}

// Reader reads a spec's options one by one, with defaults. Call Err at the end: it returns
// the first wrong value, or an option that was never read.
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

// fail records the first error.
func (r *Reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("lock %q: %s: %w", r.spec, fmt.Sprintf(format, args...), ErrInvalid)
	}
}

// read reads an option with parse, which reports whether the value is valid; wanted describes valid values.
func read[T any](r *Reader, o Option, wanted string, byDefault T, parse func(text string) (T, bool)) T {
	r.asked = append(r.asked, o)
	text, given := r.spec.Options[o.Key]
	if !given {
		return byDefault
	}
	value, ok := parse(text)
	if !ok {
		r.fail("%s=%s: want %s", o.Key, text, wanted)
		return byDefault
	}
	return value
}

// Choice reads an option that is one of the choices; the first is the default. does describes
// the option, here and in the methods below.
func (r *Reader) Choice(key, does string, choices ...string) string {
	return r.choice(key, does, choices[0], choices, "one of "+strings.Join(choices, ", "))
}

func (r *Reader) choice(key, does, byDefault string, choices []string, wanted string) string {
	o := Option{Key: key, Does: does, Values: choices, Default: byDefault}
	return read(r, o, wanted, byDefault, func(text string) (string, bool) {
		return text, slices.Contains(choices, text)
	})
}

// Bool reads on or off.
func (r *Reader) Bool(key, does string, byDefault bool) bool {
	usual := map[bool]string{true: "on", false: "off"}[byDefault]
	return r.choice(key, does, usual, []string{"on", "off"}, "on or off") == "on"
}

// DurationMax is the longest duration of an option, a year, so that sums and small multiples
// fit into a time.Duration.
const DurationMax = 365 * 24 * time.Hour

// Duration reads a positive duration such as 250ms, up to DurationMax. If byDefault is 0, does
// must explain the default.
func (r *Reader) Duration(key, does string, byDefault time.Duration) time.Duration {
	o := Option{Key: key, Does: does, Values: []string{"TIME"}, Open: true}
	if byDefault != 0 {
		o.Default = byDefault.String()
	}
	const wanted = "a positive duration such as 250ms, at most 8760h"
	return read(r, o, wanted, byDefault, func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && d > 0 && d <= DurationMax
	})
}

// Int reads a whole number from low to high.
func (r *Reader) Int(key, does string, byDefault, low, high int) int {
	o := Option{
		Key: key, Does: does, Values: []string{"N"}, Open: true, Default: strconv.Itoa(byDefault), Least: low, Most: high,
	}
	return read(r, o, fmt.Sprintf("a whole number from %d to %d", low, high), byDefault, func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= low && n <= high
	})
}

// Variant returns the bare word. Err checks that it is one of the known variants.
func (r *Reader) Variant(known ...Variant) string {
	r.variants = known
	return r.spec.Variant
}

// Err returns the first error: an unknown variant, a wrong value, or an option that was not read.
func (r *Reader) Err() error {
	var keys, variants []string
	for _, o := range r.asked {
		keys = append(keys, o.Key)
	}
	for _, v := range r.variants {
		variants = append(variants, v.Name)
	}
	slices.Sort(keys)
	if word := r.spec.Variant; word != "" && !slices.Contains(variants, word) {
		r.err = nil // another variant may have other options
		switch {
		case slices.Contains(keys, word):
			r.fail("option %q has no value: want %s=VALUE", word, word)
		case len(variants) == 0:
			r.fail("unknown variant %q: it has none", word)
		default:
			r.fail("unknown variant %q: want one of %s%s", word, strings.Join(variants, ", "), nearest.Hint(word, variants))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.spec.Options)) {
		if !slices.Contains(keys, key) {
			known := cmp.Or(strings.Join(keys, ", "), "none")
			r.fail("unknown option %q (known: %s)%s", key, known, nearest.Hint(key, keys))
		}
	}
	return r.err
}

// Traits are the properties of a lock that decide the effects of faults.
type Traits struct {
	Agree   string `json:"agree"`             // one of the Agree constants
	Lease   string `json:"lease,omitempty"`   // one of the Lease constants; "" if a hold ends with its session or peer
	Keeps   string `json:"keeps,omitempty"`   // one of the Keeps constants; "" without servers
	Replica string `json:"replica,omitempty"` // one of the Replica constants; "" if there is none
	Tokens  bool   `json:"tokens"`            // every grant has a higher token than the one before it
}

// The parties that must agree before a client holds.
const (
	AgreeUnknown   = "unknown" // the lock does not say
	AgreeNobody    = "nobody"
	AgreeServer    = "one-server"
	AgreeServers   = "majority-of-servers"
	AgreePeers     = "majority-of-peers"
	AgreeConnected = "connected-peers" // all peers that are not considered dead
	AgreeAll       = "all-peers"
)

// What ends a hold that nobody releases.
const (
	LeaseOwn     = "own-clock"     // a monotonic clock, which no step moves
	LeaseServer  = "server-clock"  // the wall clock of the servers
	LeaseClient  = "client-clock"  // the wall clock of the clients
	LeaseRelease = "until-release" // nothing
)

// The acknowledged data that survive a server's crash.
const (
	KeepsNothing     = "nothing"
	KeepsSyncedLater = "synced-later" // synced data; answers do not wait for the sync
	KeepsEverything  = "everything"
)

// The kinds of a replica that may replace the server.
const (
	ReplicaAsync = "asynchronous" // it may lack the last grants
	ReplicaAcked = "acknowledged" // it has every grant before the client does
)
