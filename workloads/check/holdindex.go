package check

import "hash/maphash"

// holdKey names a hold: holders number theirs.
type holdKey struct {
	node int32
	id   string
}

// holdIndex finds acquisitions by the holds that came of them. It keeps the hashes of the
// names, which a map would compute anew for all of them whenever it grows.
type holdIndex struct {
	seed  maphash.Seed
	slots []holdSlot // a power of two, a quarter of them free
	known int
}

type holdSlot struct {
	hash uint64
	of   *acquire // nil: free
}

func newHoldIndex() holdIndex {
	return holdIndex{seed: maphash.MakeSeed(), slots: make([]holdSlot, 64)}
}

// get is the acquisition of a hold; nil if there is none on record.
func (x *holdIndex) get(key holdKey) *acquire { return x.find(key, x.hash(key)).of }

// put keeps the acquisition of a hold, in the place of another one if there was one.
func (x *holdIndex) put(a *acquire) (again bool) {
	key := holdKey{a.node, a.hold}
	hash := x.hash(key)
	slot := x.find(key, hash)
	again = slot.of != nil
	*slot = holdSlot{hash, a}
	if again {
		return true
	}
	if x.known++; x.known > len(x.slots)/4*3 {
		old := x.slots
		x.slots = make([]holdSlot, 2*len(old))
		for _, s := range old {
			if s.of != nil {
				*x.find(holdKey{s.of.node, s.of.hold}, s.hash) = s
			}
		}
	}
	return false
}

func (x *holdIndex) hash(key holdKey) uint64 {
	return maphash.String(x.seed, key.id) + uint64(key.node) //nolint:gosec // any number will do
}

// find is the slot of a hold, or the one where it belongs.
func (x *holdIndex) find(key holdKey, hash uint64) *holdSlot {
	for i, mask := hash, uint64(len(x.slots)-1); ; i++ { //nolint:gosec // never empty
		s := &x.slots[i&mask]
		if s.of == nil || s.hash == hash && s.of.node == key.node && s.of.hold == key.id {
			return s
		}
	}
}
