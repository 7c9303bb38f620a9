package master

import (
	"slices"
	"sync"
	"time"

	"locklab/locks/clock"
	"locklab/nodes/worker"
)

// directory is what this master knows of the rooms, from the feeds and from the
// workers' answers. It only proposes; whether a room has a seat, its worker says.
type directory struct {
	silence time.Duration

	mu     sync.Mutex
	groups map[string]*groupRooms // with rooms or waiters
	sites  map[*remote]*site
	rooms  int
}

// site is what is known of one worker. It is suspect, and its rooms are not
// proposed, while it has been silent for too long, or since its feed has ended.
type site struct {
	incarnation string
	rev         uint64    // everything up to here came through the feed
	heard       time.Time // zero: not since the feed has ended
	following   bool
}

type groupRooms struct {
	rooms   []*knownRoom
	waiters []*waiter
}

// knownRoom is a room with seats, or one that was found full and whose end the
// feed has not told yet: remembering it keeps older news from reviving it.
type knownRoom struct {
	worker.Room
	remote  *remote
	pending int // seats that requests of this master are asking for right now
}

// proposal is a seat to ask for. It ends with settle.
type proposal struct {
	known  *knownRoom // guarded by directory.mu
	room   string
	remote *remote
}

// waiter is told once when its group may have a free seat.
type waiter struct{ wake chan struct{} }

func newDirectory(silence time.Duration, remotes []*remote) *directory {
	d := &directory{silence: silence, groups: map[string]*groupRooms{}, sites: map[*remote]*site{}}
	for _, r := range remotes {
		d.sites[r] = &site{}
	}
	return d
}

// propose gives the room of the group with the most seats that are neither taken
// nor being asked for, and counts one of them as asked for until settle.
func (d *directory) propose(group string, tried []string) (proposal, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.proposeLocked(group, tried)
}

// proposeOrWait is propose; where there is nothing to propose it puts a waiter in
// line, in the same step, so that no news is missed between the two.
func (d *directory) proposeOrWait(group string, tried []string) (proposal, *waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p, ok := d.proposeLocked(group, tried); ok {
		return p, nil
	}
	w := &waiter{wake: make(chan struct{}, 1)}
	g := d.group(group)
	g.waiters = append(g.waiters, w)
	return proposal{}, w
}

func (d *directory) proposeLocked(group string, tried []string) (proposal, bool) {
	g, ok := d.groups[group]
	if !ok {
		return proposal{}, false
	}
	now := clock.System().Now()
	var best *knownRoom
	for _, k := range g.rooms {
		if k.left() > 0 && (best == nil || k.left() > best.left()) &&
			!d.suspectLocked(k.remote, now) && !slices.Contains(tried, k.Room.Room) {
			best = k
		}
	}
	if best == nil {
		return proposal{}, false
	}
	return best.ask(), true
}

// settle ends what propose began, with what the worker said about the room, if
// anything, or that it knows no such room: then it has lost it in a restart.
func (d *directory) settle(p proposal, said *worker.Room, gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := p.known
	k.pending--
	if said != nil && said.Rev > k.Rev && said.Room == k.Room.Room {
		k.Room = *said
	}
	if gone {
		k.Free = 0
	}
	d.wakeLocked(k.Group)
}

// leave takes a waiter out of line and passes on news that it did not use.
func (d *directory) leave(group string, w *waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g, ok := d.groups[group]
	if !ok {
		return
	}
	g.waiters = slices.DeleteFunc(g.waiters, func(other *waiter) bool { return other == w })
	select {
	case <-w.wake:
		d.wakeLocked(group)
	default:
		d.tidyLocked(group)
	}
}

// merge takes over a line of the feed. It is false when lines before it are
// missing, so that the feed must be begun anew.
func (d *directory) merge(r *remote, line worker.FeedLine) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sites[r]
	if line.Type != worker.LineSnapshot && (line.Incarnation != s.incarnation || line.Prev != s.rev) {
		return false
	}
	if line.Type == worker.LineSnapshot {
		d.snapshotLocked(r, line)
	}
	s.incarnation, s.rev, s.following = line.Incarnation, line.Rev, true
	d.heardLocked(r)
	for _, room := range line.Rooms {
		d.putLocked(r, room)
		d.wakeLocked(room.Group)
	}
	return true
}

// snapshotLocked forgets what a snapshot does not mention.
func (d *directory) snapshotLocked(r *remote, line worker.FeedLine) {
	mentioned := make(map[string]bool, len(line.Rooms))
	for _, room := range line.Rooms {
		mentioned[room.Room] = true
	}
	for name, g := range d.groups {
		before := len(g.rooms)
		g.rooms = slices.DeleteFunc(g.rooms, func(k *knownRoom) bool {
			return k.remote == r && !mentioned[k.Room.Room]
		})
		d.rooms -= before - len(g.rooms)
		d.tidyLocked(name)
	}
}

// putLocked takes over news of the feed about one room.
func (d *directory) putLocked(r *remote, room worker.Room) {
	ended := room.State == worker.StateFull || room.State == worker.StateClosed
	if k, i := d.findLocked(r, room); k != nil {
		if room.Rev >= k.Rev {
			k.Room = room
		}
		if ended {
			g := d.groups[room.Group]
			g.rooms = slices.Delete(g.rooms, i, i+1)
			d.rooms--
			d.tidyLocked(room.Group)
		}
		return
	}
	if !ended {
		g := d.group(room.Group)
		g.rooms = append(g.rooms, &knownRoom{Room: room, remote: r})
		d.rooms++
	}
}

// adopt takes over a room that this master has just ordered, and proposes it to the player of the order.
func (d *directory) adopt(r *remote, incarnation string, room worker.Room) proposal {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.learnLocked(r, incarnation, room)
	k, _ := d.findLocked(r, room)
	if k == nil { // the feed is of another incarnation: it will say what there is
		k = &knownRoom{Room: room, remote: r}
	}
	p := k.ask()
	d.wakeLocked(room.Group)
	return p
}

// learn takes over a listing: the worker has been heard of.
func (d *directory) learn(r *remote, l worker.Listing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heardLocked(r)
	for _, room := range l.Rooms {
		d.learnLocked(r, l.Incarnation, room)
		d.wakeLocked(room.Group)
	}
}

// learnLocked takes over a room from an answer: of one that is known, if it is
// newer; an unknown one only if the feed has not come that far (otherwise it has
// been there and is gone).
func (d *directory) learnLocked(r *remote, incarnation string, room worker.Room) {
	if k, _ := d.findLocked(r, room); k != nil {
		if room.Rev > k.Rev {
			k.Room = room
		}
		return
	}
	s := d.sites[r]
	if incarnation == s.incarnation && room.Rev > s.rev && room.Free > 0 {
		g := d.group(room.Group)
		g.rooms = append(g.rooms, &knownRoom{Room: room, remote: r})
		d.rooms++
	}
}

func (d *directory) findLocked(r *remote, room worker.Room) (*knownRoom, int) {
	g, ok := d.groups[room.Group]
	if !ok {
		return nil, 0
	}
	for i, k := range g.rooms {
		if k.Room.Room == room.Room && k.remote == r {
			return k, i
		}
	}
	return nil, 0
}

// unfollowed notes that the feed has ended.
func (d *directory) unfollowed(r *remote) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sites[r].heard, d.sites[r].following = time.Time{}, false
}

func (d *directory) suspect(r *remote) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.suspectLocked(r, clock.System().Now())
}

func (d *directory) suspectLocked(r *remote, now time.Time) bool {
	return now.Sub(d.sites[r].heard) > d.silence
}

// heardLocked ends a suspicion: the rooms of the worker can be proposed again.
func (d *directory) heardLocked(r *remote) {
	s, now := d.sites[r], clock.System().Now()
	wasSuspect := d.suspectLocked(r, now)
	s.heard = now
	if wasSuspect {
		for name := range d.groups {
			d.wakeLocked(name)
		}
	}
}

// wakeLocked tells as many waiters of the group as there are seats to ask for.
func (d *directory) wakeLocked(name string) {
	g, ok := d.groups[name]
	if !ok || len(g.waiters) == 0 {
		return
	}
	now := clock.System().Now()
	left := 0
	for _, k := range g.rooms {
		if !d.suspectLocked(k.remote, now) {
			left += max(k.left(), 0)
		}
	}
	n := min(left, len(g.waiters))
	for _, w := range g.waiters[:n] {
		w.wake <- struct{}{} // never blocks: one send into a buffer of one
	}
	g.waiters = slices.Delete(g.waiters, 0, n)
}

// group finds or makes the group. The caller holds mu.
func (d *directory) group(name string) *groupRooms {
	g, ok := d.groups[name]
	if !ok {
		g = &groupRooms{}
		d.groups[name] = g
	}
	return g
}

// tidyLocked forgets a group that is of no use.
func (d *directory) tidyLocked(name string) {
	if g, ok := d.groups[name]; ok && len(g.rooms) == 0 && len(g.waiters) == 0 {
		delete(d.groups, name)
	}
}

// left is how many seats this master can ask for.
func (k *knownRoom) left() int { return k.Free - k.pending }

// ask counts a seat as asked for. The caller holds directory.mu.
func (k *knownRoom) ask() proposal {
	k.pending++
	return proposal{known: k, room: k.Room.Room, remote: k.remote}
}

func (d *directory) status(remotes []*remote) (rooms int, workers []WorkerStatus) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range remotes {
		feed := "live"
		switch {
		case !d.sites[r].following:
			feed = "down"
		case d.suspectLocked(r, clock.System().Now()):
			feed = "silent"
		}
		workers = append(workers, WorkerStatus{Name: r.name, Zone: r.zone, Feed: feed})
	}
	return d.rooms, workers
}
