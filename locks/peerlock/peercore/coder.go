package peercore

import "encoding/binary"

// Coder goes through the fields of a state, one after the other, and appends them to bytes or
// reads them back: one method of a core does both. Reading past the end gives zeros.
type Coder struct {
	Bytes []byte
	Reads bool
	At    int // how far it has read
}

// Encode appends what code goes through.
func Encode(b []byte, code func(c *Coder)) []byte {
	c := Coder{Bytes: b}
	code(&c)
	return c.Bytes
}

// Decode reads what Encode appended at the front of b, and returns the rest of b.
func Decode(b []byte, code func(c *Coder)) (rest []byte) {
	c := Coder{Bytes: b, Reads: true}
	code(&c)
	return c.Bytes[c.At:]
}

// Byte is one byte.
func (c *Coder) Byte(v *byte) {
	switch {
	case !c.Reads:
		c.Bytes = append(c.Bytes, *v)
	case c.At >= len(c.Bytes):
		*v = 0
	default:
		*v = c.Bytes[c.At]
		c.At++
	}
}

// Bools are up to eight, in one byte.
func (c *Coder) Bools(flags ...*bool) {
	var b byte
	for i, flag := range flags {
		if *flag {
			b |= 1 << i
		}
	}
	c.Byte(&b)
	for i, flag := range flags {
		*flag = b&(1<<i) != 0
	}
}

// Number is an unsigned varint.
func (c *Coder) Number(v *uint64) {
	switch {
	case !c.Reads:
		c.Bytes = binary.AppendUvarint(c.Bytes, *v)
	case c.At < len(c.Bytes) && c.Bytes[c.At] < 0x80: // nearly all are small
		*v = uint64(c.Bytes[c.At])
		c.At++
	default:
		var n int
		*v, n = binary.Uvarint(c.Bytes[c.At:])
		c.At += max(n, 0)
	}
}

// Rank is a peer.
func (c *Coder) Rank(v *int) {
	n := uint64(*v) //nolint:gosec // never negative
	c.Number(&n)
	*v = int(n) //nolint:gosec // what was written
}

// Set is a set.
func (c *Coder) Set(s *Set) { c.Number(&s.bits) }

// List is a list whose items are coded by code. Reading reuses its memory.
func List[T any](c *Coder, list *[]T, code func(item *T)) {
	n := uint64(len(*list))
	c.Number(&n)
	if c.Reads {
		var zero T
		for *list = (*list)[:0]; n > 0; n-- {
			*list = append(*list, zero)
		}
	}
	for i := range *list {
		code(&(*list)[i])
	}
}
