package explore

import (
	"encoding/binary"
	"math/bits"
)

// Odd constants with as many ones as zeros.
const (
	hashA = 0x9e3779b97f4a7c15
	hashB = 0xd6e8feb86659fd93
	hashC = 0xa0761d6478bd642f
)

// hashBytes is a hash of 64 bits. It is the same in every process, so that what an
// exploration prints is too.
func hashBytes(seed uint64, b []byte) uint64 {
	h := fold(seed^hashA, uint64(len(b))^hashB)
	for len(b) >= 8 {
		h = fold(h^binary.LittleEndian.Uint64(b), hashC)
		b = b[8:]
	}
	var tail uint64
	for i, c := range b {
		tail |= uint64(c) << (8 * i)
	}
	h = fold(h^tail, hashB)
	h ^= h >> 32
	h *= hashA
	return h ^ h>>29
}

// fold multiplies and mixes both halves of the product. The addend keeps a factor
// of zero from wiping out the rest.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return (high ^ low) + a ^ bits.RotateLeft64(b, 23)
}
