package main

import (
	"encoding/binary"
	"sync"

	"locklab/locks/peerlock/mesh"
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
	run     uint32          // tells answers to this measurement from those to an earlier one
	grants  []int           // of each request in flight
	wake    []chan struct{} // of those who wait; nil if nobody does
	done    int64           // rounds that nobody waited for
	over    bool            // do not begin another of these
}

func (b *bareRounds) begin(inFlight int, waiting bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.run++
	b.grants, b.wake, b.done, b.over = make([]int, inFlight), nil, 0, false
	for waiting && len(b.wake) < inFlight {
		b.wake = append(b.wake, make(chan struct{}, 1))
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
		id := binary.BigEndian.Uint32(payload)
		if binary.BigEndian.Uint32(payload[4:]) != b.run {
			continue
		}
		switch b.grants[id]++; {
		case b.grants[id] < b.peers:
		case b.wake != nil:
			b.wake[id] <- struct{}{}
		case !b.over:
			b.done++
			b.ask(id)
		}
	}
	return nil
}

func (b *bareRounds) ask(id uint32) {
	b.grants[id] = 0
	binary.BigEndian.PutUint32(b.payload[:], id)
	binary.BigEndian.PutUint32(b.payload[4:], b.run)
	for _, l := range b.links {
		l.Send(b.payload[:])
	}
}
