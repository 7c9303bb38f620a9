package explore

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
)

const (
	blockBits  = 18 // a place is the number of a block, then the offset in it
	blockMost  = 1 << blockBits
	blockLeast = 1 << 12

	placeBytes = 5
	placeBits  = 8 * placeBytes
	placeMask  = 1<<placeBits - 1

	tableBits  = 5 // many tables grow one after the other: only one at a time is there twice
	tables     = 1 << tableBits
	slotsLeast = 1 << 7
	loadMost   = 0.8
	slotsGrow  = 2
)

// place is where a record is.
type place uint64

const nowhere = place(placeMask)

// A record is the place that it came from, the peers that are not known to get on yet, one
// bit for each, and the packed state.
const recordHead = placeBytes + 1

// store has the states that were seen, in the order in which they were. Of a deep search
// it has only hashes, and the records of some levels.
type store struct {
	layout
	deep    bool
	tables  [tables][]uint64 // by hash: the hash, or a tag of it and the place, less one
	used    [tables]int
	blocks  [][]byte // nil if no longer needed
	free    [][]byte
	count   int64 // states
	garbage int64 // bytes of old tables
}

// find looks for a state; its place is meaningless in a deep search.
func (s *store) find(hash uint64, packed []byte) (at place, slot int, known bool) {
	table := s.tables[hash%tables]
	for i := slotOf(hash, len(table)); ; i++ {
		if i == len(table) {
			i = 0
		}
		entry := table[i]
		switch {
		case entry == 0:
			return 0, i, false
		case s.deep:
			if entry == max(hash, 1) { // zero is an empty one
				return 0, i, true
			}
		case entry>>placeBits == tagOf(hash):
			at := place(entry&placeMask - 1)
			if bytes.HasPrefix(s.record(at)[recordHead:], packed) {
				return at, i, true
			}
		}
	}
}

func slotOf(hash uint64, slots int) int {
	i, _ := bits.Mul64(hash, uint64(slots))
	return int(i)
}

func tagOf(hash uint64) uint64 { return hash >> tableBits & (1<<(64-placeBits) - 1) }

// record is the bytes from a place to the end of what its block has.
func (s *store) record(at place) []byte { return s.blocks[at>>blockBits][at%blockMost:] }

// add enters a state unless it is known. Nobody of it must get on.
func (s *store) add(hash uint64, from place, packed []byte) (at place, added bool) {
	number := hash % tables
	s.reserve(number)
	_, slot, known := s.find(hash, packed)
	if known {
		return 0, false
	}
	at = s.write(from, packed)
	entry := max(hash, 1)
	if !s.deep {
		entry = tagOf(hash)<<placeBits | uint64(at+1)
	}
	s.tables[number][slot] = entry
	s.used[number]++
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

// newBlock appends a block. The first ones are small, for explorations that are.
func (s *store) newBlock() {
	if n := len(s.free); n > 0 {
		s.blocks = append(s.blocks, s.free[n-1][:0])
		s.free = s.free[:n-1]
		return
	}
	size := blockLeast << min(len(s.blocks), blockBits)
	s.blocks = append(s.blocks, make([]byte, 0, min(size, blockMost)))
}

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
			if int(at%blockMost) == len(s.blocks[at>>blockBits]) {
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
	for i := from >> blockBits; i < to>>blockBits; i++ {
		s.free = append(s.free, s.blocks[i])
		s.blocks[i] = nil
	}
}

// reserve makes room for one more state.
func (s *store) reserve(number uint64) {
	old := s.tables[number]
	if float64(s.used[number]+1) <= loadMost*float64(len(old)) {
		return
	}
	table := make([]uint64, max(slotsLeast, slotsGrow*len(old)))
	s.tables[number] = table
	s.garbage += 8 * int64(len(old))
	for _, entry := range old {
		if entry == 0 {
			continue
		}
		hash := entry
		if !s.deep {
			hash = s.hashPacked(s.record(place(entry&placeMask - 1))[recordHead:])
		}
		i := slotOf(hash, len(table))
		for table[i] != 0 {
			if i++; i == len(table) {
				i = 0
			}
		}
		table[i] = entry
	}
}

// memory is what the store takes, in bytes.
func (s *store) memory() (sum int64) {
	for _, table := range s.tables {
		sum += 8 * int64(cap(table))
	}
	for _, blocks := range [][][]byte{s.blocks, s.free} {
		for _, b := range blocks {
			sum += int64(cap(b))
		}
		sum += 24 * int64(cap(blocks))
	}
	return sum
}

func readPlace(record []byte) place {
	return place(binary.LittleEndian.Uint32(record)) | place(record[4])<<32
}
