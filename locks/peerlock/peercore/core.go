package peercore

import "fmt"

// Machine is a pure core as the shell needs it: P, which implements it, is a pointer to
// the state S that one peer has of one resource, and M is its message.
type Machine[S, M any] interface {
	*S
	// Step takes one event and appends what is to be done about it to out. An event
	// that does not fit does nothing.
	Step(ev Event[M], out []Effect[M]) []Effect[M]
	// Reset makes it the state of an unwanted resource, with the connections
	// of the state like, whose rounds or timestamps start above round. It reuses its
	// own memory and shares none with like.
	Reset(like *S, round uint64)
	// Round is the highest round or timestamp that was used. What is forgotten is
	// replaced by a state that starts above it.
	Round() uint64
	// Idle says that nothing but Round would be lost by forgetting the state.
	Idle() bool
	// Bootstrapped says that the peer can take part: it has once been connected to every other
	// one, if it needs that.
	Bootstrapped() bool
}

// Core is a pure core as explorations and simulations need it.
type Core[S, M any] interface {
	Machine[S, M]
	fmt.Stringer // how far the peer is with the resource, such as HOLDING
	// Waits says that the lock is wanted and not held, Holds that it is held.
	Waits() bool
	Holds() bool
	// Code goes through all that the peer knows: two states of one peer behave
	// alike if what is written of them is equal. Reading keeps the configuration and reuses memory.
	Code(c *Coder)
}

// Pauser is implemented by cores that ask for pauses. Pauses says that Wake would do
// something.
type Pauser interface{ Pauses() bool }

// Timed is implemented by cores with leases.
type Timed interface {
	// Running says whether Expire of the timer would do something.
	Running(t Timer) bool
	// Uses is the token with which this peer holds the lock or may come to hold it by
	// what it asked for; 0 if there is none.
	Uses() uint64
	// Voted is the token to which this peer's vote is given; 0 if there is none.
	Voted() uint64
}

// Durable is implemented by cores with leases that keep on disk what must outlive a crash, and ask
// for [Store].
type Durable interface {
	// AppendStored appends what the latest Store asked to be kept.
	AppendStored(b []byte) []byte
	// LoadStored makes a state that has just been made or reset the one of a new process
	// that has read all of what AppendStored wrote. If Vote is Running then, that timer runs
	// from now on, without having been started by an effect.
	LoadStored(b []byte) error
}

// Algorithm is how the peers of one cluster are made and what they say.
type Algorithm[S, M any] struct {
	Spec string // canonical, with all options; peers of another spec are refused
	// New is the state of an unwanted resource, at a peer without connections.
	New func(self int, peers Set) S
	// Opens says that the message means something to a peer that keeps no state of
	// the resource; others are dropped there.
	Opens func(m M) bool
	// Append encodes a message; Decode reads it off the front of b.
	Append func(b []byte, m M) []byte
	Decode func(b []byte) (m M, rest []byte, err error)
	// Renumber replaces the round in a message by what f makes of it, like the method of
	// [Numbered]. Nil if the states are not Numbered.
	Renumber func(m *M, from, to int, f func(owner int, number uint64) uint64)
	// Mutant is for tests of explorations and simulations. Production does not look at it.
	Mutant Mutant[S, M]
}

// Mutant is a core with rules broken: what stands in the place of its methods. Nil
// leaves them as they are.
type Mutant[S, M any] struct {
	Step         func(s *S, ev Event[M]) []Effect[M]
	AppendStored func(s *S, b []byte) []byte
	LoadStored   func(s *S, b []byte) error
}

// Numbered is implemented by cores whose rounds matter only by their order. Renumber replaces each
// by what f makes of it. An owner counts up its own rounds, and they are never compared with those of
// another; f keeps their order, and zero. An exploration so makes states the same that differ in nothing else.
type Numbered interface {
	Renumber(f func(owner int, number uint64) uint64)
}
