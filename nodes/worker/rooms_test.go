package worker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"locklab/internal/httpapi"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

// journal is the oracle's side of a test.
type journal struct{ historytest.Recorder }

// states is the life of a room as the oracle saw it.
func (j *journal) states(room string) []string {
	var states []string
	for _, e := range j.Events() {
		if e.Room == room {
			states = append(states, e.State)
		}
	}
	return states
}

func testSettings() Settings {
	s := DefaultSettings()
	s.Name = "w1"
	s.Capacity = 2
	return s
}

func testRooms(s Settings) (*rooms, *journal) {
	j := &journal{}
	return newRooms(s, j), j
}

func mustOrder(t *testing.T, h *rooms, group, order string) Room {
	t.Helper()
	room, refusal := h.order(OrderRequest{Group: group, Order: order, By: "m"})
	if refusal != nil {
		t.Fatal(refusal)
	}
	return room
}

func TestRoomLife(t *testing.T) {
	type step struct {
		after time.Duration
		seat  string
		state string
	}
	for _, test := range []struct {
		name   string
		steps  []step
		states string
	}{
		{"boots, fills, ends", []step{
			{0, "p1", history.RoomStarting},
			{149 * time.Millisecond, "", history.RoomStarting},
			{time.Millisecond, "", history.RoomOpen},
			{time.Second, "p2", history.RoomFull},
			{1999 * time.Millisecond, "", history.RoomFull},
			{time.Millisecond, "", history.RoomClosed},
		}, "starting open full closed"},
		{"fills while starting: its life begins with the end of the boot", []step{
			{0, "p1", history.RoomStarting},
			{0, "p2", history.RoomFull},
			{2149 * time.Millisecond, "", history.RoomFull},
			{time.Millisecond, "", history.RoomClosed},
		}, "starting full closed"},
		{"stays open for too long", []step{
			{150 * time.Millisecond, "p1", history.RoomOpen}, {29_999 * time.Millisecond, "", history.RoomOpen}, {time.Millisecond, "", history.RoomClosed},
		}, "starting open closed"},
		{"fills at the last moment: its life is not cut short", []step{
			{30_149 * time.Millisecond, "p1", history.RoomOpen},
			{0, "p2", history.RoomFull},
			{1999 * time.Millisecond, "", history.RoomFull},
			{time.Millisecond, "", history.RoomClosed},
		}, "starting open full closed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, j := testRooms(testSettings())
				room := mustOrder(t, h, "g", "o1")
				for i, s := range test.steps {
					time.Sleep(s.after)
					synctest.Wait()
					if s.seat != "" {
						if _, refusal := h.seat(room.ID, s.seat); refusal != nil {
							t.Fatalf("step %d: %v", i, refusal)
						}
					}
					h.mu.Lock()
					state := h.byID[room.ID].State
					h.mu.Unlock()
					if state != s.state {
						t.Fatalf("step %d: room is %s, want %s", i, state, s.state)
					}
				}
				if got := strings.Join(j.states(room.ID), " "); got != test.states {
					t.Errorf("the oracle saw %q, want %q", got, test.states)
				}
				if h.live != 0 || len(h.groups) != 0 {
					t.Errorf("%d rooms and %d groups are left of closed rooms", h.live, len(h.groups))
				}
			})
		})
	}
}

func TestOrderIsIdempotentBeyondTheRoomsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, j := testRooms(testSettings())
		first := mustOrder(t, h, "g", "o1")
		if again := mustOrder(t, h, "g", "o1"); again.ID != first.ID {
			t.Errorf("the same order made %s and %s", first.ID, again.ID)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if again := mustOrder(t, h, "g", "o1"); again.ID != first.ID || again.State != history.RoomClosed {
			t.Errorf("a late repetition gave %+v, want the closed room", again)
		}
		if _, refusal := h.seat(first.ID, "late"); httpapi.KindOf(refusal) != KindClosed {
			t.Errorf("a seat in a closed room: %v", refusal)
		}
		if events := j.Events(); len(events) != 3 {
			t.Errorf("want starting, open, closed: %+v", events)
		}
	})
}

func TestCapacityAndStop(t *testing.T) {
	s := testSettings()
	s.MaxRooms = 2
	h, j := testRooms(s)
	first := mustOrder(t, h, "a", "o1")
	mustOrder(t, h, "b", "o2")
	if _, refusal := h.order(OrderRequest{Group: "c", Order: "o3", By: "m"}); httpapi.KindOf(refusal) != KindCapacity {
		t.Errorf("a third room of two: %v", refusal)
	}
	if again := mustOrder(t, h, "a", "o1"); again.ID != first.ID {
		t.Error("a repeated order was refused for want of space")
	}
	h.shut()
	h.shut()
	if got := strings.Join(j.states(first.ID), " "); got != "starting closed" {
		t.Errorf("a stopped worker left %q", got)
	}
	if _, refusal := h.seat(first.ID, "p"); httpapi.KindOf(refusal) != KindClosed {
		t.Errorf("a stopped worker gives seats: %v", refusal)
	}
}

// TestOracle drives the rooms at random and follows it twice: what the oracle recorded
// must be a legal life of every room in an order that agrees with time, and a
// follower that applies the feed must end with exactly what is listed.
func TestOracle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubbled{t}, func(t *rapid.T) {
			s := testSettings()
			s.Capacity = rapid.IntRange(1, 3).Draw(t, "capacity")
			h, j := testRooms(s)
			f := h.subscribe()
			mirror := map[string]Room{}
			read := func() {
				for _, room := range f.take().Rooms {
					mirror[room.ID] = room
					if room.State == history.RoomClosed {
						delete(mirror, room.ID)
					}
				}
			}
			var rooms []string
			t.Repeat(map[string]func(*rapid.T){
				"order": func(t *rapid.T) {
					g := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "group")
					o := fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "order"))
					if room, refusal := h.order(OrderRequest{Group: g, Order: o, By: "m"}); refusal == nil && !slices.Contains(rooms, room.ID) {
						rooms = append(rooms, room.ID)
					}
				},
				"seat": func(t *rapid.T) {
					if len(rooms) > 0 {
						_, _ = h.seat(rapid.SampledFrom(rooms).Draw(t, "room"), fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "player")))
					}
				},
				"wait": func(t *rapid.T) {
					time.Sleep(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond)
					synctest.Wait()
				},
				"read": func(*rapid.T) { read() },
			})
			read()
			listed := append(h.list("a").Rooms, h.list("b").Rooms...)
			if len(listed) != len(mirror) {
				t.Fatalf("the feed shows %d rooms, the listing %d", len(mirror), len(listed))
			}
			for _, room := range listed {
				if mirror[room.ID] != room {
					t.Fatalf("the feed shows %+v, the listing %+v", mirror[room.ID], room)
				}
			}
			f.unsubscribe()
			h.shut()
			checkOracle(t, j.Events())
		})
	})
}

// bubbled hides the deadline of a test, which cannot be asked for in a bubble.
type bubbled struct{ testing.TB }

func checkOracle(t *rapid.T, events []history.Event) {
	next := map[string][]string{
		"":         {"starting"},
		"starting": {"open", "full", "closed"},
		"open":     {"full", "closed"},
		"full":     {"closed"},
	}
	at := map[string]string{}
	for i, e := range events {
		if i > 0 && e.AtNS < events[i-1].AtNS {
			t.Fatalf("event %d is before the one before it", i)
		}
		if !slices.Contains(next[at[e.Room]], e.State) {
			t.Fatalf("room %s went from %q to %q", e.Room, at[e.Room], e.State)
		}
		at[e.Room] = e.State
		if e.Kind != history.KindRoom || e.Node != "w1" || e.Client != "m" || e.Order == "" || e.Resource == "" {
			t.Fatalf("event %+v lacks something", e)
		}
	}
	for room, state := range at {
		if state != "closed" {
			t.Fatalf("room %s was left %s", room, state)
		}
	}
}

func TestSettings(t *testing.T) {
	s, err := parseSettings([]byte(`{"name":"w1","token":"x"}`))
	if err != nil || s.Token != "x" || s.Capacity != DefaultSettings().Capacity {
		t.Errorf("got %+v, %v", s, err)
	}
	for text, want := range map[string]string{
		`{"name":"w1","capcity":1}`:  `field "capcity" is unknown: want one of name, capacity, token`,
		`{"name":"w1","capacity":0}`: "capacity is 0: want 1 or more",
		`{}`:                         `field "name" has 0 bytes`,
		`{"name":"w1"} {`:            "read worker settings",
	} {
		if _, err := parseSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %s", text, err, want)
		}
	}
}
