package explore

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// part is one interned part of a state: what a peer knows, what is on a wire, or
// what is left of the bounds. It never changes.
type part struct {
	field int    // where in a state it stands
	id    uint32 // among the parts of the field
	hash  uint64
	bytes []byte

	// marks has, for each owner of numbers, a bit for each that is mentioned; wide
	// says that one is too large for it. Nil if none is mentioned.
	marks []uint64
	wide  bool

	// Peers. Whether one waits or holds is what its client believes.
	waits, holds, pauses, idle bool
	gone                       bool  // the peer has forgotten the resource
	untold                     bool  // its client believes something else than its core
	timers                     uint8 // those that run, one bit for each
	uses, voted, round         uint64

	// Wires.
	ends []uint16 // of each token in bytes

	// The rest.
	back bool // a token was given that is not above all before
}

const (
	listChunk  = 1024
	partsLeast = 1 << 12
)

// interner gives equal parts the same identity. Lookups take no lock.
type interner struct {
	mu    sync.Mutex
	table atomic.Pointer[[]atomic.Pointer[part]]
	lists []partList // by field
	count int
	bytes atomic.Int64 // memory, about
}

// partList finds the parts of a field by their id.
type partList struct {
	chunks atomic.Pointer[[]*[listChunk]*part]
	count  uint32
}

func newInterner(fields int) *interner {
	in := &interner{lists: make([]partList, fields)}
	table := make([]atomic.Pointer[part], partsLeast)
	in.table.Store(&table)
	for i := range in.lists {
		in.lists[i].chunks.Store(&[]*[listChunk]*part{})
	}
	return in
}

// at is the part with the id.
func (in *interner) at(field int, id uint32) *part {
	return (*in.lists[field].chunks.Load())[id/listChunk][id%listChunk]
}

// find looks for a part; nil if it is new.
func (in *interner) find(field int, hash uint64, b []byte) *part {
	table := *in.table.Load()
	for i := hash; ; i++ {
		p := table[i&uint64(len(table)-1)].Load()
		if p == nil {
			return nil
		}
		if p.hash == hash && p.field == field && bytes.Equal(p.bytes, b) {
			return p
		}
	}
}

// add enters a part unless another worker was faster, and returns the one that counts.
func (in *interner) add(p *part) *part {
	in.mu.Lock()
	defer in.mu.Unlock()
	if known := in.find(p.field, p.hash, p.bytes); known != nil {
		return known
	}
	list := &in.lists[p.field]
	p.id = list.count
	list.count++
	chunks := *list.chunks.Load()
	if int(p.id/listChunk) == len(chunks) {
		chunks = append(slices.Clip(chunks), new([listChunk]*part))
		list.chunks.Store(&chunks)
		in.bytes.Add(listChunk * int64(unsafe.Sizeof(p)))
	}
	chunks[p.id/listChunk][p.id%listChunk] = p

	in.count++
	table := *in.table.Load()
	if in.count > len(table)/2 {
		table = in.grow(table)
	}
	insert(table, p)
	in.bytes.Add(int64(unsafe.Sizeof(*p)) + int64(cap(p.bytes)) + 8*int64(cap(p.marks)) + 2*int64(cap(p.ends)) + 24)
	return p
}

func (in *interner) grow(old []atomic.Pointer[part]) []atomic.Pointer[part] {
	table := make([]atomic.Pointer[part], 2*len(old))
	for i := range old {
		if p := old[i].Load(); p != nil {
			insert(table, p)
		}
	}
	in.table.Store(&table)
	return table
}

func insert(table []atomic.Pointer[part], p *part) {
	i := p.hash & uint64(len(table)-1)
	for table[i].Load() != nil {
		i = (i + 1) & uint64(len(table)-1)
	}
	table[i].Store(p)
}
