// Package seed derives independent random streams from the one seed of a run.
// Every component asks for a child by name, so that adding one component does
// not change what the others draw.
package seed

import (
	"hash/fnv"
	"math/rand/v2"
)

// Seed is the root of a tree of random streams.
type Seed uint64

// Child derives the seed of a named component. The same parent and name always
// give the same child.
func (s Seed) Child(name string) Seed {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return Seed(mix(uint64(s) ^ mix(h.Sum64())))
}

// Rand starts the stream of this seed. The stream is not safe for concurrent use.
func (s Seed) Rand() *rand.Rand {
	return rand.New(rand.NewPCG(uint64(s), mix(uint64(s)))) //nolint:gosec // reproducible on purpose, nothing is secret
}

// mix is the finalizer of splitmix64: it spreads neighbouring inputs apart.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}
