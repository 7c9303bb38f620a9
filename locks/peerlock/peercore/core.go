package peercore

import "fmt"

// Machine is a pure core as the shell needs it. S is the state of one resource at one peer,
// *S implements Machine, and M is its message.
type Machine[S, M any] interface {
	*S
	// Step handles one event and appends its effects to out. An event that does not fit has none.
	Step(ev Event[M], out []Effect[M]) []Effect[M]
	// Reset makes this the state of an unwanted resource, with the connections of like,
	// and rounds or timestamps above round. It reuses its memory and shares none with like.
	Reset(like *S, round uint64)
	// Round returns the highest round or timestamp used. A state that replaces this one
	// must start above it.
	Round() uint64
	// Idle reports whether the state holds no information but Round.
	Idle() bool
	// Bootstrapped reports whether the peer may acquire. Most algorithms need to have been
	// connected to all other peers at once.
	Bootstrapped() bool
}

// Core is a pure core as explorations and simulations need it.
type Core[S, M any] interface {
	Machine[S, M]
	fmt.Stringer // the phase, such as HOLDING
	// Waits says that the lock is wanted and not held, Holds that it is held.
	Waits() bool
	Holds() bool
	// Code encodes or decodes the state: two states of one peer with the same code
	// behave alike. Reading keeps the configuration and reuses memory.
	Code(c *Coder)
}

// Pauser is implemented by cores that ask for pauses. Pauses reports whether Wake would have an effect.
type Pauser interface{ Pauses() bool }

// Timed is implemented by cores with leases.
type Timed interface {
	// Running reports whether Expire of the timer would have an effect.
	Running(t Timer) bool
	// Uses returns the token with which this peer holds or solicits; 0 if there is none.
	Uses() uint64
	// Voted returns the token that has this peer's vote; 0 if there is none.
	Voted() uint64
}

// Durable is implemented by cores with leases that must keep votes on disk ([Store]).
type Durable interface {
	// AppendStored appends the data of the latest Store.
	AppendStored(b []byte) []byte
	// LoadStored turns a new or reset state into that of a new process that has read the data
	// of AppendStored. If Vote is then Running, the shell must start that timer, without a Start effect.
	LoadStored(b []byte) error
}

// Algorithm makes the peers of one cluster and encodes their messages.
type Algorithm[S, M any] struct {
	Spec string // canonical, with all options; peers of another spec are refused
	// New returns the state of an unwanted resource, at a peer without connections.
	New func(self int, peers Set) S
	// Opens reports whether a peer without a state of the resource must make one for this
	// message. It drops other messages.
	Opens func(m M) bool
	// Append encodes a message; Decode reads it from the front of b.
	Append func(b []byte, m M) []byte
	Decode func(b []byte) (m M, rest []byte, err error)
	// Renumber replaces the round in a message as the method of [Numbered] does; nil if the
	// states are not Numbered.
	Renumber func(m *M, from, to int, f func(owner int, number uint64) uint64)
	// Mutant is for tests of explorations and simulations. Production ignores it.
	Mutant Mutant[S, M]
}

// Mutant breaks rules of a core: its functions replace the core's methods, unless they are nil.
type Mutant[S, M any] struct {
	Step         func(s *S, ev Event[M]) []Effect[M]
	AppendStored func(s *S, b []byte) []byte
	LoadStored   func(s *S, b []byte) error
}

// Numbered is implemented by cores in which only the order of one owner's rounds matters; rounds of
// different owners are never compared. Renumber replaces each round by f(owner, round), which keeps the
// order, and zero. Explorations use it to merge states that differ only in numbers.
type Numbered interface {
	Renumber(f func(owner int, number uint64) uint64)
}
