package history

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"unicode/utf8"

	json "github.com/go-json-experiment/json/v1"
)

// Decoder decodes many lines and shares the strings that they repeat: nodes,
// resources, states. The memory it keeps for that is bounded. It is not safe for
// concurrent use; the zero value decodes without sharing.
type Decoder struct {
	seed  maphash.Seed
	known []knownString // by hash; a newcomer replaces whoever was there
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
// The lines that this package writes take a fast path, which gives up on
// whatever is unusual (white space, escapes, fields unknown or in another order);
// package json then decides, so there is one definition of what a line means.
func (d *Decoder) Decode(line []byte, e *Event) error {
	*e = Event{}
	if d.fast(line, e) {
		return nil
	}
	*e = Event{}
	if err := json.Unmarshal(line, e); err != nil {
		*e = Event{}
		return fmt.Errorf("decode event: %w", err)
	}
	return nil
}

// fast reads the fields in the order in which [AppendJSON] writes them. Those that few lines
// have, "log", "run", "machine" and "usage", are left to package json.
func (d *Decoder) fast(line []byte, e *Event) bool {
	s := scanner{Decoder: d, line: line}
	if !s.skip(`{"kind":"`) {
		return false
	}
	e.Kind = Kind(s.string())
	s.int(`,"at_ns":`, &e.AtNS)
	s.int(`,"from_ns":`, &e.FromNS)
	s.int(`,"sent_ns":`, &e.SentNS)
	s.int(`,"err_ns":`, &e.ErrNS)
	s.uint(`,"seq":`, &e.Seq)
	s.uint(`,"line":`, &e.Line)
	s.text(`,"host":"`, &e.Host)
	s.text(`,"node":"`, &e.Node)
	s.text(`,"state":"`, &e.State)
	s.text(`,"client":"`, &e.Client)
	s.text(`,"hold":"`, &e.Hold)
	s.text(`,"resource":"`, &e.Resource)
	s.text(`,"outcome":"`, &e.Outcome)
	s.text(`,"error":"`, &e.Error)
	s.uint(`,"token":`, &e.Token)
	s.uint(`,"messages":`, &e.Messages)
	s.uint(`,"wakeups":`, &e.Wakeups)
	s.uint(`,"count":`, &e.Count)
	s.uint(`,"version":`, &e.Version)
	s.uint(`,"base":`, &e.Base)
	s.text(`,"room":"`, &e.Room)
	s.text(`,"order":"`, &e.Order)
	s.text(`,"worker":"`, &e.Worker)
	s.list(`,"unreachable":["`, &e.Unreachable)
	s.text(`,"id":"`, &e.ID)
	s.text(`,"fault":"`, &e.Fault)
	s.text(`,"target":"`, &e.Target)
	s.list(`,"from":["`, &e.From)
	s.list(`,"to":["`, &e.To)
	s.list(`,"nodes":["`, &e.Nodes)
	s.int(`,"delay_ns":`, &e.DelayNS)
	return s.at > 0 && s.skip("}") && s.at == len(line)
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

// scanner walks over compact JSON without escapes. From where that is not what it meets,
// nothing fits any more.
type scanner struct {
	*Decoder
	line []byte
	at   int
}

// comes says whether a key is next, and steps over it. Most keys are not, as their third byte
// tells.
func (s *scanner) comes(key string) bool {
	return s.at+2 < len(s.line) && s.line[s.at+2] == key[2] && s.skip(key)
}

func (s *scanner) skip(written string) bool {
	comes := bytes.HasPrefix(s.line[s.at:], []byte(written))
	if comes {
		s.at += len(written)
	}
	return comes
}

func (s *scanner) fail() { s.line, s.at = nil, 0 }

func (s *scanner) text(key string, to *string) {
	if s.comes(key) {
		*to = s.string()
	}
}

func (s *scanner) list(key string, to *[]string) {
	if !s.comes(key) {
		return
	}
	for more := true; more; more = s.skip(`,"`) {
		*to = append(*to, s.string())
	}
	if !s.skip("]") {
		s.fail()
	}
}

func (s *scanner) uint(key string, to *uint64) {
	if s.comes(key) {
		*to = s.number()
	}
}

func (s *scanner) int(key string, to *int64) {
	if s.comes(key) {
		sign := int64(1)
		if s.skip("-") {
			sign = -1
		}
		*to = sign * int64(s.number()) //nolint:gosec // at most 18 digits
	}
}

// string reads what stands for itself, up to the quote: valid UTF-8, nothing escaped.
func (s *scanner) string() string {
	rest, high := s.line[s.at:], byte(0)
	for i, c := range rest {
		if c == '"' && (high < utf8.RuneSelf || utf8.Valid(rest[:i])) {
			s.at += i + 1
			return s.share(rest[:i])
		}
		if c == '"' || c == '\\' || c < ' ' {
			break
		}
		high |= c
	}
	s.fail()
	return ""
}

// number reads up to 18 digits; longer ones are left to package json.
func (s *scanner) number() (n uint64) {
	digits := s.line[s.at:]
	for i, c := range digits {
		if c < '0' || c > '9' {
			digits = digits[:i]
			break
		}
		n = n*10 + uint64(c-'0')
	}
	if s.at += len(digits); len(digits) == 0 || len(digits) > 18 || len(digits) > 1 && digits[0] == '0' {
		s.fail()
	}
	return n
}
