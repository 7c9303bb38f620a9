package explore

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"math/bits"
)

const (
	blockBits = 18 // a place is the number of a block, then the offset in it
	blockSize = 1 << blockBits

	placeBytes = 5
	placeBits  = 8 * placeBytes
	placeMask  = 1<<placeBits - 1

	chunkBits  = 12
	chunkSlots = 1 << chunkBits
	loadMost   = 0.8
)

// place is where a record is.
type place uint64

const nowhere = place(placeMask)

// A record is the place that it came from, the peers that are not known to get on yet, one
// bit for each, and the packed state.
const recordHead = placeBytes + 1

// chunk is a piece of the table. What begins in it also ends in it, so that a table can
// grow piece by piece: the old one never stands beside the new one.
type chunk [chunkSlots]uint64

// store has the states that were seen, in the order in which they were. Of a deep search
// it has only hashes, and the records of some levels.
type store struct {
	layout
	deep   bool
	seed   maphash.Seed
	table  []*chunk // by hash: the hash, or a tag of it and the place, less one
	blocks [][]byte // nil if no longer needed
	count  int64    // states
}

func newStore(l layout, deep bool) store {
	return store{layout: l, deep: deep, seed: maphash.MakeSeed()}
}

func (s *store) hash(packed []byte) uint64 { return maphash.Bytes(s.seed, packed) }

// find looks for a state; otherwise slot is where it belongs.
func (s *store) find(hash uint64, packed []byte) (slot *uint64, known bool) {
	for c, i := s.begin(hash); ; i++ {
		slot = &c[i%chunkSlots]
		switch entry := *slot; {
		case entry == 0:
			return slot, false
		case s.deep:
			if entry == max(hash, 1) { // zero is an empty one
				return slot, true
			}
		case entry>>placeBits == tagOf(hash):
			if bytes.HasPrefix(s.record(placeOf(entry))[recordHead:], packed) {
				return slot, true
			}
		}
	}
}

// begin is where in the table a hash is looked for first.
func (s *store) begin(hash uint64) (*chunk, uint) {
	c, rest := bits.Mul64(hash, uint64(len(s.table)))
	return s.table[c], uint(rest >> (64 - chunkBits))
}

func tagOf(hash uint64) uint64 { return hash & (1<<(64-placeBits) - 1) }

func placeOf(entry uint64) place { return place(entry&placeMask - 1) }

// record is the bytes from a place to the end of what its block has.
func (s *store) record(at place) []byte { return s.blocks[at>>blockBits][at%blockSize:] }

// add enters a state unless it is known. Nobody of it must get on.
func (s *store) add(from place, packed []byte) (at place, added bool) {
	hash := s.hash(packed)
	s.reserve()
	slot, known := s.find(hash, packed)
	if known {
		return 0, false
	}
	at = s.write(from, packed)
	*slot = max(hash, 1)
	if !s.deep {
		*slot = tagOf(hash)<<placeBits | uint64(at+1)
	}
	s.count++
	return at, true
}

func (s *store) write(from place, packed []byte) place {
	last := len(s.blocks) - 1
	if last < 0 || len(s.blocks[last])+recordHead+len(packed) > cap(s.blocks[last]) {
		s.newBlock()
		last++
	}
	b := s.blocks[last]
	at := place(last<<blockBits + len(b))
	b = binary.LittleEndian.AppendUint32(b, uint32(from))
	b = append(b, byte(from>>32), 0)
	s.blocks[last] = append(b, packed...)
	return at
}

func (s *store) newBlock() { s.blocks = append(s.blocks, make([]byte, 0, blockSize)) }

// full says that no more blocks can be numbered.
func (s *store) full() bool { return len(s.blocks) >= 1<<(placeBits-blockBits)-1 }

// end is the place of what comes next. In a deep search that is a block of its own, so that
// the blocks of a level can be dropped together.
func (s *store) end() place {
	if len(s.blocks) == 0 {
		return 0
	}
	last := len(s.blocks) - 1
	if s.deep && len(s.blocks[last]) > 0 {
		s.newBlock()
		last++
	}
	return place(last<<blockBits + len(s.blocks[last]))
}

// records are those of two places and between them, each with its own. More may be added
// behind them meanwhile.
func (s *store) records(from, to place) iter.Seq2[place, []byte] {
	return func(yield func(place, []byte) bool) {
		for at := from; at < to; {
			if int(at%blockSize) == len(s.blocks[at>>blockBits]) {
				at = (at>>blockBits + 1) << blockBits
				continue
			}
			record := s.record(at)
			record = record[:recordHead+s.packedLen(record[recordHead:])]
			if !yield(at, record) {
				return
			}
			at += place(len(record))
		}
	}
}

// drop gives up the blocks of a level of a deep search.
func (s *store) drop(from, to place) {
	clear(s.blocks[from>>blockBits : to>>blockBits])
}

// reserve makes room for one more state: it splits every chunk.
func (s *store) reserve() {
	old := s.table
	if float64(s.count+1) <= loadMost*chunkSlots*float64(len(old)) {
		return
	}
	s.table = make([]*chunk, max(1, 2*len(old)))
	s.table[0] = new(chunk)
	for k, c := range old {
		entries := *c
		*c = chunk{}
		s.table[2*k], s.table[2*k+1] = c, new(chunk)
		for _, entry := range entries {
			if entry == 0 {
				continue
			}
			hash := entry
			if !s.deep {
				packed := s.record(placeOf(entry))[recordHead:]
				hash = s.hash(packed[:s.packedLen(packed)])
			}
			c, i := s.begin(hash)
			for c[i%chunkSlots] != 0 {
				i++
			}
			c[i%chunkSlots] = entry
		}
	}
}

// memory is what the store takes, in bytes.
func (s *store) memory() (sum int64) {
	for _, b := range s.blocks {
		sum += int64(cap(b))
	}
	return sum + 24*int64(cap(s.blocks)) + 8*(1+chunkSlots)*int64(len(s.table))
}

func readPlace(record []byte) place {
	return place(binary.LittleEndian.Uint32(record)) | place(record[4])<<32
}
