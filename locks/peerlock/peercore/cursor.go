package peercore

import "encoding/binary"

// Cursor reads what a core's AppendEncode wrote. Reading past the end gives zeros.
type Cursor []byte

// Byte reads one byte.
func (c *Cursor) Byte() byte {
	if len(*c) == 0 {
		return 0
	}
	b := (*c)[0]
	*c = (*c)[1:]
	return b
}

// Uvarint reads an unsigned varint.
func (c *Cursor) Uvarint() uint64 {
	if len(*c) > 0 && (*c)[0] < 0x80 { // nearly all are small
		return uint64(c.Byte())
	}
	v, n := binary.Uvarint(*c)
	*c = (*c)[max(n, 0):]
	return v
}

// Set reads what Set.Append wrote.
func (c *Cursor) Set() Set { return SetOfBits(c.Uvarint()) }
