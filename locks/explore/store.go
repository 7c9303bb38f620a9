package explore

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

const (
	shardBits = 5
	shards    = 1 << shardBits

	blockBits  = 18 // a position within a shard is the block's number, then the offset
	blockMost  = 1 << blockBits
	blockLeast = 1 << 12
	posBits    = 35
	posMask    = 1<<posBits - 1
	tagMask    = 1<<(64-posBits) - 1

	segmentMost = 256 // records

	slotsLeast = 1 << 7
	loadMost   = 0.8
	slotsGrow  = 1.5
)

// place is where a record is: the shard, and the position in it. Five bytes.
type place uint64

const (
	placeBytes = 5
	nowhere    = place(1<<(8*placeBytes) - 1)
)

func placeAt(shard int, pos uint64) place { return place(uint64(shard)<<posBits | pos) }

// A record in an arena is the place that it came from, the peers that are not known to
// get on yet, one bit for each, and the packed state.
const recordHead = placeBytes + 1

// segment is a run of records in one block.
type segment struct {
	block, start, end uint32
}

// shard has a part of all states, by their hash. Exact ones have a slot with a tag and
// the position of the record; deep ones have the hash alone.
type shard struct {
	deep     bool
	slots    []uint64
	used     int
	blocks   [][]byte // nil if no longer needed
	free     [][]byte
	segments []segment // of the level that is being written last
	count    uint32    // records in the last segment
	pending  int64     // states in which somebody must get on
	garbage  int64     // bytes of old slots
}

// level is a part of an exploration at the same distance from its beginning: the
// segments of each shard.
type level [shards][]segment

func (s *shard) slotOf(hash uint64) int {
	i, _ := bits.Mul64(hash, uint64(len(s.slots)))
	return int(i)
}

func shardOf(hash uint64) int { return int(hash & (shards - 1)) }

func tagOf(hash uint64) uint64 { return hash >> shardBits & tagMask }

// deepKey is the hash as it stands in a slot; zero is an empty one.
func deepKey(hash uint64) uint64 { return max(hash, 1) }

// find looks for a state; its position is meaningless in a deep shard.
func (s *shard) find(hash uint64, packed []byte) (pos uint64, slot int, known bool) {
	for i := s.slotOf(hash); ; i++ {
		if i == len(s.slots) {
			i = 0
		}
		entry := s.slots[i]
		switch {
		case entry == 0:
			return 0, i, false
		case s.deep:
			if entry == deepKey(hash) {
				return 0, i, true
			}
		case entry>>posBits == tagOf(hash):
			pos := entry&posMask - 1
			if r := s.record(pos); len(r) >= recordHead+len(packed) && bytes.Equal(r[recordHead:recordHead+len(packed)], packed) {
				return pos, i, true
			}
		}
	}
}

// record is the bytes from a position to the end of what its block has.
func (s *shard) record(pos uint64) []byte {
	return s.blocks[pos>>blockBits][pos&(blockMost-1):]
}

// add enters a state that is not known, at the slot that find gave.
func (s *shard) add(hash uint64, slot int, from place, pending byte, packed []byte) (pos uint64) {
	pos = s.write(from, pending, packed)
	if s.deep {
		s.slots[slot] = deepKey(hash)
	} else {
		s.slots[slot] = tagOf(hash)<<posBits | (pos + 1)
	}
	s.used++
	return pos
}

func (s *shard) write(from place, pending byte, packed []byte) (pos uint64) {
	size := recordHead + len(packed)
	at := len(s.blocks) - 1
	if at < 0 || s.blocks[at] == nil || len(s.blocks[at])+size > cap(s.blocks[at]) {
		s.newBlock()
		at++
	}
	b := s.blocks[at]
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(from))
	b = append(b, byte(from>>32), pending)
	b = append(b, packed...)
	s.blocks[at] = b
	if n := len(s.segments); n > 0 && s.count < segmentMost && s.segments[n-1].block == uint32(at) {
		s.segments[n-1].end = uint32(len(b))
		s.count++
	} else {
		s.segments = append(s.segments, segment{uint32(at), uint32(start), uint32(len(b))})
		s.count = 1
	}
	return uint64(at)<<blockBits | uint64(start)
}

// newBlock appends a block. The first ones are small, for explorations that are.
func (s *shard) newBlock() {
	if n := len(s.free); n > 0 {
		s.blocks = append(s.blocks, s.free[n-1][:0])
		s.free = s.free[:n-1]
		return
	}
	size := blockLeast << min(len(s.blocks), blockBits)
	s.blocks = append(s.blocks, make([]byte, 0, min(size, blockMost)))
}

// full says that no more blocks can be numbered.
func (s *shard) full() bool { return len(s.blocks) >= 1<<(posBits-blockBits)-1 }

// takeLevel returns the segments written since the last call.
func (s *shard) takeLevel() []segment {
	segments := s.segments
	s.segments = nil
	if s.deep && len(s.blocks) > 0 { // so that the blocks of a level can be dropped together
		s.blocks = append(s.blocks, nil)
	}
	return segments
}

// drop gives up the blocks of the segments.
func (s *shard) drop(segments []segment) {
	for _, g := range segments {
		if b := s.blocks[g.block]; b != nil {
			s.free = append(s.free, b)
			s.blocks[g.block] = nil
		}
	}
}

// reserve makes room for one more state. The hash of a record is needed to find its
// new slot.
func (s *shard) reserve(hashOf func(packed []byte) uint64) {
	if float64(s.used+1) <= loadMost*float64(len(s.slots)) {
		return
	}
	old := s.slots
	s.slots = make([]uint64, max(slotsLeast, int(slotsGrow*float64(len(old)))))
	s.garbage += 8 * int64(len(old))
	for _, entry := range old {
		if entry == 0 {
			continue
		}
		hash := entry
		if !s.deep {
			hash = hashOf(s.record(entry&posMask - 1)[recordHead:])
		}
		i := s.slotOf(hash)
		for s.slots[i] != 0 {
			if i++; i == len(s.slots) {
				i = 0
			}
		}
		s.slots[i] = entry
	}
}

// memory is what the shard takes, in bytes.
func (s *shard) memory() int64 {
	sum := 8 * int64(cap(s.slots))
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
