package master

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"locklab/internal/signals"
	"locklab/nodes/worker"
	"locklab/workloads/history"
)

const silence = 400 * time.Millisecond

// at is a directory that follows one worker.
func at() (*directory, *remote) {
	r := &remote{WorkerAddr: WorkerAddr{Name: "w1"}}
	d := newDirectory(silence, []*remote{r})
	d.merge(r, worker.FeedLine{Incarnation: "i"}, true)
	return d, r
}

func room(id string, free int, rev uint64) worker.Room {
	state := history.RoomOpen
	if free == 0 {
		state = history.RoomFull
	}
	return worker.Room{ID: id, Group: "g", Worker: "w1", State: state, Capacity: 8, Free: free, Rev: rev}
}

// change merges a line of the feed.
func (d *directory) change(r *remote, rev uint64, rooms ...worker.Room) {
	d.merge(r, worker.FeedLine{Incarnation: "i", Rev: rev, Rooms: rooms}, false)
}

// next is what is proposed, nil if nothing is.
func (d *directory) next(tried ...string) *knownRoom {
	k, _ := d.propose("g", tried)
	return k
}

func TestProposesMostFreeAndSpreads(t *testing.T) {
	d, r := at()
	d.change(r, 2, room("small", 2, 1), room("big", 3, 2))
	var got []string
	for {
		k := d.next()
		if k == nil {
			break
		}
		got = append(got, k.id)
	}
	if fmt.Sprint(got) != "[big small big small big]" {
		t.Errorf("proposed %v: want every free seat once, the emptiest room first", got)
	}
	d, r = at()
	d.change(r, 2, room("small", 2, 1), room("big", 3, 2))
	if k := d.next("big"); k.id != "small" {
		t.Errorf("proposed %q, which was tried", k.id)
	}
}

func TestOldNewsReviveNothing(t *testing.T) {
	d, r := at()
	d.change(r, 5, room("x", 1, 5))
	k := d.next()
	d.settle(k, worker.Room{}, true) // the worker says: full
	d.change(r, 8, room("x", 1, 8))  // sent before that
	if d.next() != nil {
		t.Error("a line of the feed from before revived a full room")
	}
	d.change(r, 9, room("x", 0, 9))
	if len(d.group("g").rooms) != 0 {
		t.Error("a full room is kept though the feed has told of it")
	}
	d.learn(r, worker.Listing{Incarnation: "i", Rooms: []worker.Room{room("x", 1, 7)}})
	if d.next() != nil {
		t.Error("a late listing revived a room that the feed has ended")
	}
	d.learn(r, worker.Listing{Incarnation: "i", Rooms: []worker.Room{room("y", 1, 12)}})
	if k := d.next(); k == nil || k.id != "y" {
		t.Error("a listing newer than the feed was not believed")
	}
}

func TestRoomsEndWithTheirWorker(t *testing.T) {
	d, r := at()
	d.change(r, 3, room("x", 1, 3))
	d.merge(r, worker.FeedLine{Incarnation: "j", Rev: 1}, true)
	if len(d.group("g").rooms) != 0 || d.next() != nil {
		t.Error("rooms outlived their worker's restart")
	}
}

func TestSuspects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := at()
		d.change(r, 1, room("x", 8, 1))
		proposed := func() bool { return d.next() != nil }
		if !proposed() {
			t.Error("a live worker's room was not proposed")
		}
		time.Sleep(silence + 1)
		if proposed() {
			t.Error("a silent worker's room was proposed")
		}
		_, news := d.propose("g", nil)
		d.change(r, 1) // a beat
		if !signals.Closed(news) {
			t.Error("the waiter was not told that the worker is back")
		}
		if !proposed() {
			t.Error("a worker that is back has no rooms")
		}
		time.Sleep(silence + 1)
		d.learn(r, worker.Listing{Incarnation: "i"})
		if !proposed() {
			t.Error("an answer does not lift the suspicion")
		}
		d.unfollowed(r)
		if proposed() {
			t.Error("a room of a broken feed was proposed")
		}
	})
}

// TestWakeups: whatever happens, a seat that can be asked for and a waiter that has
// not been told do not stay together, and every free seat is proposed exactly once.
func TestWakeups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, r := at()
		rev := uint64(0)
		free := map[string]int{}
		var asked []*knownRoom
		var waiting []<-chan struct{}
		t.Repeat(map[string]func(*rapid.T){
			"news": func(t *rapid.T) {
				id := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "room")
				free[id] = rapid.IntRange(0, 3).Draw(t, "free")
				d.change(r, rev+1, room(id, free[id], rev+1))
				rev++
			},
			"ask": func(*rapid.T) {
				k, news := d.propose("g", nil)
				if k == nil {
					waiting = append(waiting, news)
				} else {
					asked = append(asked, k)
				}
			},
			"answer": func(t *rapid.T) {
				if len(asked) > 0 {
					i := rapid.IntRange(0, len(asked)-1).Draw(t, "which")
					d.settle(asked[i], worker.Room{}, false)
					asked = append(asked[:i], asked[i+1:]...)
				}
			},
			"": func(t *rapid.T) {
				for _, k := range d.group("g").rooms {
					if k.Free != free[k.id] || k.pending < 0 {
						t.Fatalf("room %+v with %d pending, want %d free", k.Room, k.pending, free[k.id])
					}
					if k.left() > 0 && slices.ContainsFunc(waiting, func(news <-chan struct{}) bool { return !signals.Closed(news) }) {
						t.Fatalf("%d seats left, and a waiter was not told", k.left())
					}
				}
			},
		})
	})
}
