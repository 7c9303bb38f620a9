package history

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AppendJSON appends e as one JSON object, without a line break, to dst. Bytes that are not UTF-8
// become U+FFFD.
func AppendJSON(dst []byte, e *Event) []byte {
	text, _ := json.Marshal(e, jsontext.AllowInvalidUTF8(true)) // names, whole numbers, and rates that were checked
	return append(dst, text...)
}

// Decoder decodes many lines and shares the strings that they repeat: nodes,
// resources, states. The memory it keeps for that is bounded. It is not safe for
// concurrent use; the zero value decodes without sharing.
type Decoder struct {
	seed  maphash.Seed
	known []knownString // by hash; a newcomer replaces whoever was there
	// The line that is read: compact JSON without escapes. From where it is not, nothing fits any more.
	line []byte
	at   int
}

// knownString has its hash beside it: a look at the text of another one would have to wait
// for the memory.
type knownString struct {
	hash uint64
	text string
}

// knownStrings is the size of the table: the strings of a large run that repeat
// (nodes, groups, clients, rooms that are open now) are a few thousand.
const knownStrings = 1 << 13

// NewDecoder returns a decoder that shares strings.
func NewDecoder() *Decoder {
	return &Decoder{seed: maphash.MakeSeed(), known: make([]knownString, knownStrings)}
}

// Decode reads one line into e, which it clears first. Fields that it does not know are
// skipped, so that newer files stay readable.
//
// Most lines that this package writes take a fast path, which gives up on
// whatever is unusual (white space, escapes, fields unknown, rare or in another order);
// package json then decides, so there is one definition of what a line means.
func (d *Decoder) Decode(line []byte, e *Event) error {
	*e = Event{}
	if d.fast(line, e) {
		return nil
	}
	*e = Event{}
	if err := json.Unmarshal(line, e, jsontext.AllowInvalidUTF8(true)); err != nil {
		*e = Event{}
		return fmt.Errorf("decode event: %w", err)
	}
	return nil
}

// fast reads the fields in the order in which [AppendJSON] writes them. Those that few lines
// have, from "unreachable" on, are left to package json.
func (d *Decoder) fast(line []byte, e *Event) bool {
	d.line, d.at = line, 0
	if !d.skip(`{"kind":"`) {
		return false
	}
	e.Kind = Kind(d.string())
	d.int(`,"at_ns":`, &e.AtNS)
	d.int(`,"from_ns":`, &e.FromNS)
	d.int(`,"sent_ns":`, &e.SentNS)
	d.int(`,"err_ns":`, &e.ErrNS)
	d.uint(`,"seq":`, &e.Seq)
	d.uint(`,"line":`, &e.Line)
	d.text(`,"host":"`, &e.Host)
	d.text(`,"node":"`, &e.Node)
	d.text(`,"state":"`, &e.State)
	d.text(`,"client":"`, &e.Client)
	d.text(`,"hold":"`, &e.Hold)
	d.text(`,"resource":"`, &e.Resource)
	d.text(`,"outcome":"`, &e.Outcome)
	d.text(`,"error":"`, &e.Error)
	d.uint(`,"token":`, &e.Token)
	d.uint(`,"messages":`, &e.Messages)
	d.uint(`,"wakeups":`, &e.Wakeups)
	d.uint(`,"count":`, &e.Count)
	d.uint(`,"version":`, &e.Version)
	d.uint(`,"base":`, &e.Base)
	d.text(`,"room":"`, &e.Room)
	d.text(`,"order":"`, &e.Order)
	d.text(`,"worker":"`, &e.Worker)
	return d.at > 0 && d.skip("}") && d.at == len(line)
}

func (d *Decoder) share(b []byte) string {
	if d.known == nil || len(b) == 0 {
		return string(b)
	}
	hash := maphash.Bytes(d.seed, b)
	slot := &d.known[hash%knownStrings]
	if slot.hash != hash || slot.text != string(b) {
		*slot = knownString{hash, string(b)}
	}
	return slot.text
}

// comes says whether a key is next, and steps over it. Most keys are not, as their third byte
// tells.
func (d *Decoder) comes(key string) bool {
	return d.at+2 < len(d.line) && d.line[d.at+2] == key[2] && d.skip(key)
}

func (d *Decoder) skip(written string) bool {
	comes := bytes.HasPrefix(d.line[d.at:], []byte(written))
	if comes {
		d.at += len(written)
	}
	return comes
}

func (d *Decoder) fail() { d.line, d.at = nil, 0 }

func (d *Decoder) text(key string, to *string) {
	if d.comes(key) {
		*to = d.string()
	}
}

func (d *Decoder) uint(key string, to *uint64) {
	if d.comes(key) {
		*to = d.number()
	}
}

func (d *Decoder) int(key string, to *int64) {
	if d.comes(key) {
		sign := int64(1)
		if d.skip("-") {
			sign = -1
		}
		*to = sign * int64(d.number()) //nolint:gosec // at most 18 digits
	}
}

// string reads what stands for itself, up to the quote: valid UTF-8, nothing escaped.
func (d *Decoder) string() string {
	rest, high := d.line[d.at:], byte(0)
	for i, c := range rest {
		if c == '"' && (high < utf8.RuneSelf || utf8.Valid(rest[:i])) {
			d.at += i + 1
			return d.share(rest[:i])
		}
		if c == '"' || c == '\\' || c < ' ' {
			break
		}
		high |= c
	}
	d.fail()
	return ""
}

// number reads up to 18 digits; longer ones are left to package json.
func (d *Decoder) number() (n uint64) {
	digits := d.line[d.at:]
	for i, c := range digits {
		if c < '0' || c > '9' {
			digits = digits[:i]
			break
		}
		n = n*10 + uint64(c-'0')
	}
	if d.at += len(digits); len(digits) == 0 || len(digits) > 18 || len(digits) > 1 && digits[0] == '0' {
		d.fail()
	}
	return n
}
