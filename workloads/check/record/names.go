package record

import "hash/maphash"

// table numbers strings. It keeps their hashes, which a map would compute anew for all of
// them whenever it grows.
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

func newTable() table {
	return table{seed: maphash.MakeSeed(), slots: make([]slot, 1<<10), list: []string{""}}
}

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
	*at = slot{hash, n}
	if t.list = append(t.list, s); len(t.list) > len(t.slots)/4*3 {
		t.grow()
	}
	return n
}

func (t *table) find(s string) (Name, bool) {
	if s == "" || len(t.slots) == 0 {
		return 0, s == ""
	}
	n := t.slot(uint32(maphash.String(t.seed, s)), s).name //nolint:gosec // the low half will do
	return n, n != 0
}

// slot is that of a string, or the one where it belongs.
func (t *table) slot(hash uint32, s string) *slot {
	mask := uint32(len(t.slots) - 1) //nolint:gosec // never empty
	for i := hash & mask; ; i = (i + 1) & mask {
		at := &t.slots[i]
		if at.name == 0 || at.hash == hash && t.list[at.name] == s {
			return at
		}
	}
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	mask := uint32(len(t.slots) - 1) //nolint:gosec // never empty
	for _, s := range old {
		if s.name == 0 {
			continue
		}
		i := s.hash & mask
		for t.slots[i].name != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}
