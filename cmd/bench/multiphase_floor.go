package main

import (
	"encoding/binary"
	"sync"

	"locklab/locks/mesh"
)

// answerAll is the other side of the bare rounds: every request is granted.
type answerAll struct{}

func (answerAll) Connected(*mesh.Link)           {}
func (answerAll) Disconnected(*mesh.Link, error) {}

func (answerAll) Receive(link *mesh.Link, batch *mesh.Batch) error {
	for payload, ok := batch.Next(); ok; payload, ok = batch.Next() {
		link.Send(payload)
	}
	return nil
}

// bareRounds sends requests and counts those that all peers granted.
type bareRounds struct {
	peers int
	all   chan struct{} // closed once all are connected

	mu      sync.Mutex
	links   []*mesh.Link
	payload [messageBytes]byte
	grants  []int           // of each request in flight
	wake    []chan struct{} // of those who wait; nil if nobody does

	// Without anybody who waits:
	done    int64
	over    bool // do not ask again
	pending int
	drained chan struct{}
}

func (b *bareRounds) begin(inFlight int, waiting bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grants, b.wake = make([]int, inFlight), nil
	b.done, b.over, b.pending, b.drained = 0, false, inFlight, make(chan struct{})
	if waiting {
		for range inFlight {
			b.wake = append(b.wake, make(chan struct{}, 1))
		}
	}
}

// Connected notes the peer.
func (b *bareRounds) Connected(link *mesh.Link) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.links = append(b.links, link); len(b.links) == b.peers {
		close(b.all)
	}
}

// Disconnected spoils the measurement, which then finds no grants.
func (b *bareRounds) Disconnected(*mesh.Link, error) {}

// Receive counts grants and wakes who waits, or asks again.
func (b *bareRounds) Receive(_ *mesh.Link, batch *mesh.Batch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for payload, ok := batch.Next(); ok; payload, ok = batch.Next() {
		id := int(binary.BigEndian.Uint32(payload))
		if b.grants[id]++; b.grants[id] < b.peers {
			continue
		}
		switch {
		case b.wake != nil:
			b.wake[id] <- struct{}{}
		case !b.over:
			b.done++
			b.ask(id)
		default:
			if b.pending--; b.pending == 0 {
				close(b.drained)
			}
		}
	}
	return nil
}

func (b *bareRounds) ask(id int) {
	b.grants[id] = 0
	binary.BigEndian.PutUint32(b.payload[:], uint32(id))
	for _, l := range b.links {
		l.Send(b.payload[:])
	}
}
