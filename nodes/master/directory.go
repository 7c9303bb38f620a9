package master

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/strictjson"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/nodes/worker"
)

// directory is what this master knows about rooms, from the workers' feeds and answers. It
// only proposes rooms; their workers decide whether there is a seat.
type directory struct {
	silence time.Duration

	mu      sync.Mutex
	groups  map[string]*groupRooms
	remotes []*remote
}

// remote is one worker, as this master knows it. A worker is suspect, and its rooms are not proposed, while its
// feed is silent for too long or has ended.
type remote struct {
	WorkerAddr
	http *httpapi.Client

	// The rest is guarded by directory.mu.
	incarnation string
	rev         uint64    // the feed has delivered all revisions up to this one
	heard       time.Time // of the last line or answer; zero after the feed has ended
	following   bool
}

type groupRooms struct {
	rooms []*knownRoom
	news  chan struct{} // closed when there may be a seat; nil without waiters
}

// knownRoom is a room with seats, or a full one until the feed reports its end, so that older
// news does not revive it.
type knownRoom struct {
	id     string
	remote *remote
	// The rest is guarded by directory.mu.
	worker.Room
	refused bool // its worker has refused a seat in it
	pending int  // seats that requests of this master are asking for
}

// left returns how many seats this master can ask for.
func (k *knownRoom) left() int {
	if k.refused {
		return 0
	}
	return k.Free - k.pending
}

func newDirectory(silence time.Duration, remotes []*remote) *directory {
	return &directory{silence: silence, groups: map[string]*groupRooms{}, remotes: remotes}
}

// propose returns the room of the group with the most free seats that no request asks for, and counts one of them as
// asked for until settle. If there is none, it returns a channel that is closed when there may be one; both happen
// under one lock, so that no news is missed.
func (d *directory) propose(group string, tried []string) (*knownRoom, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.group(group)
	now := clock.System().Now()
	var best *knownRoom
	for _, k := range g.rooms {
		better := k.left() > 0 && (best == nil || k.left() > best.left())
		if better && !d.suspectLocked(k.remote, now) && !slices.Contains(tried, k.id) {
			best = k
		}
	}
	if best != nil {
		best.pending++
		return best, nil
	}
	if g.news == nil {
		g.news = make(chan struct{})
	}
	return nil, g.news
}

// settle ends a proposal, with the room after its worker gave a seat, or with the worker's refusal.
func (d *directory) settle(k *knownRoom, room worker.Room, refused bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k.pending--
	k.refused = k.refused || refused
	if room.Rev > k.Rev {
		k.Room = room
	}
	d.wakeLocked(k.Group)
}

// merge applies a line of the feed. The first line of a feed has all live rooms: merge removes all others.
func (d *directory) merge(r *remote, line worker.FeedLine, first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if first {
		for _, g := range d.groups {
			g.rooms = slices.DeleteFunc(g.rooms, func(k *knownRoom) bool {
				return k.remote == r && !slices.ContainsFunc(line.Rooms, func(room worker.Room) bool { return room.ID == k.id })
			})
		}
	}
	r.incarnation, r.rev, r.following = line.Incarnation, line.Rev, true
	d.heardLocked(r)
	for _, room := range line.Rooms {
		k := d.putLocked(r, room, true)
		if room.Free <= 0 {
			g := d.group(room.Group)
			g.rooms = slices.DeleteFunc(g.rooms, func(other *knownRoom) bool { return other == k })
		}
	}
}

// adopt adds a room that this master has just ordered, and counts one seat as asked for.
func (d *directory) adopt(r *remote, incarnation string, room worker.Room) *knownRoom {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.putLocked(r, room, d.isNews(r, incarnation, room))
	k.pending++
	return k
}

// learn applies a listing, which also ends a suspicion.
func (d *directory) learn(r *remote, l worker.Listing) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heardLocked(r)
	for _, room := range l.Rooms {
		d.putLocked(r, room, d.isNews(r, l.Incarnation, room))
	}
}

// isNews reports whether an answer is newer than the feed. Otherwise an unknown room of the answer is already
// closed: the feed has reported it.
func (d *directory) isNews(r *remote, incarnation string, room worker.Room) bool {
	return incarnation == r.incarnation && room.Rev > r.rev
}

// putLocked updates a known room if the revision is newer, and adds an unknown one if it is news.
func (d *directory) putLocked(r *remote, room worker.Room, news bool) *knownRoom {
	defer d.wakeLocked(room.Group)
	g := d.group(room.Group)
	for _, k := range g.rooms {
		if k.id == room.ID && k.remote == r {
			if room.Rev > k.Rev {
				k.Room = room
			}
			return k
		}
	}
	k := &knownRoom{id: room.ID, remote: r, Room: room}
	if news {
		g.rooms = append(g.rooms, k)
	}
	return k
}

// unfollowed records the end of the feed.
func (d *directory) unfollowed(r *remote) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.heard, r.following = time.Time{}, false
}

// follows reports whether every feed has delivered a line.
func (d *directory) follows() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !slices.ContainsFunc(d.remotes, func(r *remote) bool { return !r.following })
}

func (d *directory) suspect(r *remote) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.suspectLocked(r, clock.System().Now())
}

func (d *directory) suspectLocked(r *remote, now time.Time) bool {
	return now.Sub(r.heard) > d.silence
}

// heardLocked ends a suspicion: the rooms of the worker can be proposed again.
func (d *directory) heardLocked(r *remote) {
	now := clock.System().Now()
	wasSuspect := d.suspectLocked(r, now)
	r.heard = now
	if wasSuspect {
		for name := range d.groups {
			d.wakeLocked(name)
		}
	}
}

// wakeLocked wakes all waiters of the group.
func (d *directory) wakeLocked(name string) {
	if g := d.group(name); g.news != nil {
		close(g.news)
		g.news = nil
	}
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

func newRemote(addr WorkerAddr, token string) *remote {
	config := httpapi.ClientConfig{Name: "worker " + addr.Name, Token: token, Repeatable: true}
	return &remote{WorkerAddr: addr, http: httpapi.NewClient("http://"+addr.Addr, config)}
}

// seat asks for a seat.
func (r *remote) seat(ctx context.Context, room, player string) (seated worker.Room, err error) {
	path := "/v1/rooms/" + url.PathEscape(room) + "/seats"
	err = r.http.Call(ctx, http.MethodPost, path, worker.SeatRequest{Player: player}, &seated)
	return seated, err
}

// order asks for a new room.
func (r *remote) order(ctx context.Context, req worker.OrderRequest) (made worker.Room, err error) {
	err = r.http.Call(ctx, http.MethodPost, "/v1/rooms", req, &made)
	return made, err
}

// look asks for the rooms of a group.
func (r *remote) look(ctx context.Context, group string) (listing worker.Listing, err error) {
	err = r.http.Call(ctx, http.MethodGet, "/v1/rooms?group="+url.QueryEscape(group), nil, &listing)
	return listing, err
}

// effect returns the outcome of a request to a worker.
func effect(err error) locks.Outcome {
	switch {
	case err == nil:
		return locks.OutcomeOK
	case httpapi.KindOf(err) != "", errors.Is(err, httpapi.ErrNotSent):
		return locks.OutcomeFailed
	default:
		return locks.OutcomeUnknown
	}
}

const (
	// lineBytesMax bounds a line of a feed; the first is the longest.
	lineBytesMax = 64 << 20
	// redial is the pause before a feed is dialed again.
	redial = 50 * time.Millisecond
)

// follow keeps the directory up to date from one worker's feed until ctx ends.
func (m *Master) follow(ctx context.Context, r *remote) {
	for ctx.Err() == nil {
		err := m.followOnce(ctx, r)
		m.directory.unfollowed(r)
		m.Log.Debug("feed interrupted", slog.String("worker", r.Name), slog.Any("error", err))
		_ = clock.Sleep(ctx, redial) // the loop checks ctx
	}
}

// followOnce reads one connection until it ends or is silent for FeedReset.
func (m *Master) followOnce(ctx context.Context, r *remote) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watchdog := clock.System().AfterFunc(m.settings.FeedReset, cancel)
	defer watchdog.Stop()
	answer, err := r.http.Open(ctx, "/v1/feed")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 0, 16<<10), lineBytesMax)
	for first := true; lines.Scan(); first = false {
		var line worker.FeedLine
		if err := strictjson.DecodeOpen(lines.Bytes(), &line); err != nil {
			return err
		}
		m.directory.merge(r, line, first)
		watchdog.Reset(m.settings.FeedReset)
	}
	return lines.Err()
}
