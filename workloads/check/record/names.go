package record

import (
	"hash/maphash"
	"slices"
)

// table numbers strings. It keeps their hashes, which a map computes anew whenever it grows.
type table struct {
	seed  maphash.Seed
	slots []slot // a power of two, a quarter of them free
	list  []string
}

// slot is free if its name is 0.
type slot struct {
	hash uint32
	name Name
}

func newTable() table { return table{maphash.MakeSeed(), make([]slot, 1<<10), []string{""}} }

// name numbers a string.
func (t *table) name(s string) Name {
	if s == "" {
		return 0
	}
	hash := uint32(maphash.String(t.seed, s)) //nolint:gosec // the low half will do
	at := t.slot(hash, s)
	if at.name != 0 {
		return at.name
	}
	n := Name(len(t.list)) //nolint:gosec // far below
	*at, t.list = slot{hash, n}, push(t.list, s)
	if old := t.slots; len(t.list) > len(old)/4*3 {
		t.slots = make([]slot, 2*len(old))
		for _, was := range old {
			if was.name != 0 {
				*t.slot(was.hash, "") = was
			}
		}
	}
	return n
}

// slot is that of a string, or the one where it belongs.
func (t *table) slot(hash uint32, s string) *slot {
	for i := hash; ; i++ {
		at := &t.slots[i&uint32(len(t.slots)-1)] //nolint:gosec // never empty
		if at.name == 0 || at.hash == hash && t.list[at.name] == s {
			return at
		}
	}
}

// push appends to what may become long: append alone grows that by a quarter each time, and
// copies it four times more often.
func push[T any](list []T, one T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, len(list)+1)
	}
	return append(list, one)
}
