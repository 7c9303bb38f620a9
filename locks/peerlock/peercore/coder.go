package peercore

import "encoding/binary"

// Coder encodes or decodes the fields of a state in order, so that one method of a core does both.
// Reading past the end yields zeros.
type Coder struct {
	Bytes []byte
	Reads bool
	At    int // the offset of the next read
}

// Encode appends the fields that code visits.
func Encode(b []byte, code func(c *Coder)) []byte {
	c := Coder{Bytes: b}
	code(&c)
	return c.Bytes
}

// Decode reads the fields from the front of b, and returns the rest.
func Decode(b []byte, code func(c *Coder)) (rest []byte) {
	c := Coder{Bytes: b, Reads: true}
	code(&c)
	return c.Bytes[c.At:]
}

// Byte codes one byte.
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

// Bools codes up to eight flags in one byte.
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

// Number codes an unsigned varint.
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

// Rank codes the rank of a peer.
func (c *Coder) Rank(v *int) {
	n := uint64(*v) //nolint:gosec // never negative
	c.Number(&n)
	*v = int(n) //nolint:gosec // written from an int
}

// Set codes a set.
func (c *Coder) Set(s *Set) { c.Number(&s.bits) }

// List codes a list, and each item with code. Reading reuses its memory.
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
