package history

import (
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
// whatever is unusual (white space, escapes, unknown fields); package json then
// decides, so there is one definition of what a line means.
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

func (d *Decoder) fast(line []byte, e *Event) bool {
	s := scanner{line: line}
	if !s.skip('{') {
		return false
	}
	for {
		key, ok := s.plain()
		if !ok || !s.skip(':') || !d.field(&s, key, e) {
			return false
		}
		if s.skip('}') {
			return s.at == len(line)
		}
		if !s.skip(',') {
			return false
		}
	}
}

func (d *Decoder) field(s *scanner, key []byte, e *Event) (ok bool) {
	switch string(key) { // the compiler does not copy here
	case "kind":
		var kind string
		kind, ok = d.text(s)
		e.Kind = Kind(kind)
	case "at_ns":
		e.AtNS, ok = s.int()
	case "from_ns":
		e.FromNS, ok = s.int()
	case "sent_ns":
		e.SentNS, ok = s.int()
	case "err_ns":
		e.ErrNS, ok = s.int()
	case "seq":
		e.Seq, ok = s.uint()
	case "line":
		e.Line, ok = s.uint()
	case "host":
		e.Host, ok = d.text(s)
	case "node":
		e.Node, ok = d.text(s)
	case "state":
		e.State, ok = d.text(s)
	case "client":
		e.Client, ok = d.text(s)
	case "hold":
		e.Hold, ok = d.text(s)
	case "resource":
		e.Resource, ok = d.text(s)
	case "outcome":
		e.Outcome, ok = d.text(s)
	case "error":
		e.Error, ok = d.text(s)
	case "token":
		e.Token, ok = s.uint()
	case "messages":
		e.Messages, ok = s.uint()
	case "wakeups":
		e.Wakeups, ok = s.uint()
	case "version":
		e.Version, ok = s.uint()
	case "base":
		e.Base, ok = s.uint()
	case "count":
		e.Count, ok = s.uint()
	case "room":
		e.Room, ok = d.text(s)
	case "order":
		e.Order, ok = d.text(s)
	case "worker":
		e.Worker, ok = d.text(s)
	case "unreachable":
		e.Unreachable, ok = d.list(s)
	case "id":
		e.ID, ok = d.text(s)
	case "fault":
		e.Fault, ok = d.text(s)
	case "target":
		e.Target, ok = d.text(s)
	case "from":
		e.From, ok = d.list(s)
	case "to":
		e.To, ok = d.list(s)
	case "nodes":
		e.Nodes, ok = d.list(s)
	case "delay_ns":
		e.DelayNS, ok = s.int()
	}
	return ok // false for "run", "machine", "usage" and "log", which are few, and for what is unknown
}

func (d *Decoder) text(s *scanner) (string, bool) {
	b, ok := s.plain()
	if !ok {
		return "", false
	}
	return d.share(b), true
}

func (d *Decoder) list(s *scanner) ([]string, bool) {
	if !s.skip('[') {
		return nil, false
	}
	var list []string
	for {
		v, ok := d.text(s)
		if !ok {
			return nil, false
		}
		list = append(list, v)
		if s.skip(']') {
			return list, true
		}
		if !s.skip(',') {
			return nil, false
		}
	}
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

// scanner walks over compact JSON without escapes.
type scanner struct {
	line []byte
	at   int
}

func (s *scanner) skip(c byte) bool {
	if s.at < len(s.line) && s.line[s.at] == c {
		s.at++
		return true
	}
	return false
}

// plain reads a string that stands for itself: valid UTF-8, nothing escaped.
func (s *scanner) plain() ([]byte, bool) {
	if !s.skip('"') {
		return nil, false
	}
	start, high := s.at, byte(0)
	for i, c := range s.line[start:] {
		switch {
		case c == '"':
			b := s.line[start : start+i]
			s.at = start + i + 1
			return b, high < utf8.RuneSelf || utf8.Valid(b)
		case c == '\\' || c < ' ':
			return nil, false
		}
		high |= c
	}
	return nil, false
}

// uint reads a number of up to 18 digits; longer ones are left to package json.
func (s *scanner) uint() (uint64, bool) {
	start, n := s.at, uint64(0)
	for s.at < len(s.line) && s.at-start < 19 {
		c := s.line[s.at] - '0'
		if c > 9 {
			break
		}
		n = n*10 + uint64(c)
		s.at++
	}
	digits := s.at - start
	if digits == 0 || digits > 18 || (digits > 1 && s.line[start] == '0') {
		return 0, false
	}
	return n, true
}

func (s *scanner) int() (int64, bool) {
	negative := s.skip('-')
	n, ok := s.uint()
	if negative {
		return -int64(n), ok //nolint:gosec // at most 18 digits
	}
	return int64(n), ok //nolint:gosec // at most 18 digits
}
