package fsm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/locks/raftlock/wire"
)

// ErrUnreadable says that bytes are not an entry or a snapshot that this program knows.
var ErrUnreadable = errors.New("raftlock: cannot be read")

// version is that of entries and snapshots. A server stops at another one.
const version = 1

// Entry is one batch of requests in the log.
type Entry struct {
	Version int `json:"version"`
	// By these the server that proposed the entry recognises it when it is applied.
	Origin   uint64         `json:"origin"`
	Number   uint64         `json:"number"`
	Requests []wire.Request `json:"requests"`
}

// snapshot is the whole state between two entries. All lists are in ascending order, but for
// the claims of a resource: its holder, then those who wait, in order of arrival.
type snapshot struct {
	Version     int             `json:"version"`
	Index       uint64          `json:"index"`
	LastSession uint64          `json:"last_session"`
	Sessions    []sessionState  `json:"sessions"`
	Resources   []resourceState `json:"resources"`
}

type sessionState struct {
	ID      uint64     `json:"id"`
	Client  string     `json:"client"`
	LeaseMS uint64     `json:"lease_ms"`
	Floor   uint64     `json:"floor"`
	Touched uint64     `json:"touched"`
	Answers []answered `json:"answers"`
}

type answered struct {
	Seq     uint64       `json:"seq"`
	Outcome wire.Outcome `json:"outcome,omitzero"` // of a release
}

type resourceState struct {
	Name   string     `json:"name"`
	Token  uint64     `json:"token"`
	Claims []claimant `json:"claims"`
}

type claimant struct {
	Session uint64 `json:"session"`
	Seq     uint64 `json:"seq"`
}

// EncodeEntry is what the log keeps of an entry.
func EncodeEntry(e Entry) ([]byte, error) {
	e.Version = version
	return json.Marshal(e)
}

// DecodeEntry reads what EncodeEntry wrote.
func DecodeEntry(b []byte) (e Entry, err error) {
	if err := decode(b, &e, &e.Version); err != nil {
		return e, fmt.Errorf("entry: %w", err)
	}
	return e, nil
}

// decode reads what has a version that this program knows.
func decode(b []byte, into any, has *int) error {
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if *has != version {
		return fmt.Errorf("%w: it has version %d, this program knows %d", ErrUnreadable, *has, version)
	}
	return nil
}

// EncodeSnapshot is the whole state. The same state gives the same bytes.
func (s *State) EncodeSnapshot() ([]byte, error) {
	all := snapshot{Version: version, Index: s.index, LastSession: s.lastSession}
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		sess := s.sessions[id]
		state := sessionState{
			ID: id, Client: sess.client, LeaseMS: uint64(sess.lease / time.Millisecond), //nolint:gosec // positive
			Floor: sess.floor, Touched: sess.touched,
		}
		for _, seq := range slices.Sorted(maps.Keys(sess.answers)) {
			state.Answers = append(state.Answers, answered{seq, sess.answers[seq]})
		}
		all.Sessions = append(all.Sessions, state)
	}
	for _, name := range slices.Sorted(maps.Keys(s.resources)) {
		r := s.resources[name]
		state := resourceState{Name: name, Token: r.holder.token, Claims: []claimant{{r.holder.session.id, r.holder.seq}}}
		for e := r.queue.Front(); e != nil; e = e.Next() {
			waits := e.Value.(*claim)
			state.Claims = append(state.Claims, claimant{waits.session.id, waits.seq})
		}
		all.Resources = append(all.Resources, state)
	}
	return json.Marshal(all)
}

// DecodeSnapshot reads what EncodeSnapshot wrote.
func DecodeSnapshot(b []byte) (*State, error) {
	var all snapshot
	if err := decode(b, &all, &all.Version); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	s := New()
	s.index, s.lastSession = all.Index, all.LastSession
	for _, state := range all.Sessions {
		if s.sessions[state.ID] != nil || state.ID > s.lastSession || state.LeaseMS > leaseMost {
			return nil, fmt.Errorf("snapshot: session %d is out of place: %w", state.ID, ErrUnreadable)
		}
		sess := &session{
			id: state.ID, client: state.Client, lease: time.Duration(state.LeaseMS) * time.Millisecond, //nolint:gosec // checked
			floor: state.Floor, touched: state.Touched, answers: map[uint64]wire.Outcome{}, claims: map[uint64]*claim{},
		}
		for _, a := range state.Answers {
			sess.answers[a.Seq] = a.Outcome
		}
		s.sessions[sess.id] = sess
	}
	for _, state := range all.Resources {
		if err := s.readResource(state); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
	}
	return s, nil
}

func (s *State) readResource(state resourceState) error {
	res := &resource{name: state.Name}
	if s.resources[res.name] != nil || state.Token == 0 || len(state.Claims) == 0 {
		return fmt.Errorf("resource %q is out of place: %w", res.name, ErrUnreadable)
	}
	s.resources[res.name] = res
	for i, c := range state.Claims {
		cl := &claim{session: s.sessions[c.Session], seq: c.Seq, resource: res}
		if cl.session == nil || cl.session.claims[cl.seq] != nil {
			return fmt.Errorf("claim %d of session %d is out of place: %w", cl.seq, c.Session, ErrUnreadable)
		}
		cl.session.claims[cl.seq] = cl
		if i == 0 {
			res.holder, cl.token = cl, state.Token
		} else {
			res.push(cl)
		}
	}
	return nil
}
