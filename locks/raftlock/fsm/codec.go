package fsm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	pb "locklab/locks/raftlock/raftlockpb"
)

// ErrUnreadable says that bytes are not an entry or a snapshot that this program knows.
var ErrUnreadable = errors.New("raftlock: cannot be read")

// version is that of entries and snapshots.
const version = 1

// EncodeEntry is what the log keeps of an entry.
func EncodeEntry(e *pb.Entry) ([]byte, error) {
	e.Version = version
	return proto.Marshal(e)
}

// DecodeEntry reads what EncodeEntry wrote.
func DecodeEntry(b []byte) (*pb.Entry, error) {
	e := &pb.Entry{}
	if err := decode(b, e); err != nil {
		return nil, fmt.Errorf("entry: %w", err)
	}
	return e, nil
}

// decode reads a message of a version that this program knows.
func decode(b []byte, m interface {
	proto.Message
	GetVersion() uint32
},
) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if v := m.GetVersion(); v != version {
		return fmt.Errorf("%w: it has version %d, this program knows %d", ErrUnreadable, v, version)
	}
	return nil
}

// EncodeSnapshot is the whole state. The same state gives the same bytes.
func (s *State) EncodeSnapshot() ([]byte, error) {
	snapshot := &pb.Snapshot{Version: version, Index: s.index, LastSession: s.lastSession}
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		snapshot.Sessions = append(snapshot.Sessions, s.sessions[id].write())
	}
	for _, name := range slices.Sorted(maps.Keys(s.resources)) {
		snapshot.Resources = append(snapshot.Resources, s.resources[name].write())
	}
	return proto.Marshal(snapshot)
}

func (sess *session) write() *pb.SessionState {
	state := &pb.SessionState{
		Id: sess.id, Client: sess.client, LeaseMs: uint64(sess.lease / time.Millisecond), //nolint:gosec // positive
		Floor: sess.floor, Touched: sess.touched,
	}
	for _, seq := range slices.Sorted(maps.Keys(sess.answers)) {
		state.Answers = append(state.Answers, &pb.Answered{Seq: seq, Outcome: sess.answers[seq]})
	}
	return state
}

func (r *resource) write() *pb.ResourceState {
	state := &pb.ResourceState{Name: r.name, Token: r.holder.token, Claims: []*pb.Claimant{r.holder.write()}}
	for e := r.queue.Front(); e != nil; e = e.Next() {
		state.Claims = append(state.Claims, e.Value.(*claim).write())
	}
	return state
}

func (cl *claim) write() *pb.Claimant { return &pb.Claimant{Session: cl.session.id, Seq: cl.seq} }

// DecodeSnapshot reads what EncodeSnapshot wrote.
func DecodeSnapshot(b []byte) (*State, error) {
	var snapshot pb.Snapshot
	if err := decode(b, &snapshot); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	s := New()
	s.index, s.lastSession = snapshot.GetIndex(), snapshot.GetLastSession()
	for _, state := range snapshot.GetSessions() {
		if s.sessions[state.GetId()] != nil || state.GetId() > s.lastSession || state.GetLeaseMs() > leaseMost {
			return nil, fmt.Errorf("snapshot: session %d is out of place: %w", state.GetId(), ErrUnreadable)
		}
		s.readSession(state)
	}
	for _, state := range snapshot.GetResources() {
		if err := s.readResource(state); err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
	}
	return s, nil
}

func (s *State) readSession(state *pb.SessionState) {
	sess := &session{
		id: state.GetId(), client: state.GetClient(), lease: time.Duration(state.GetLeaseMs()) * time.Millisecond, //nolint:gosec // checked
		floor: state.GetFloor(), touched: state.GetTouched(), answers: map[uint64]pb.Outcome{}, claims: map[uint64]*claim{},
	}
	for _, a := range state.GetAnswers() {
		sess.answers[a.GetSeq()] = a.GetOutcome()
	}
	s.sessions[sess.id] = sess
}

func (s *State) readResource(state *pb.ResourceState) error {
	res := &resource{name: state.GetName()}
	if s.resources[res.name] != nil || state.GetToken() == 0 || len(state.GetClaims()) == 0 {
		return fmt.Errorf("resource %q is out of place: %w", res.name, ErrUnreadable)
	}
	s.resources[res.name] = res
	for i, c := range state.GetClaims() {
		cl := &claim{session: s.sessions[c.GetSession()], seq: c.GetSeq(), resource: res}
		if cl.session == nil || cl.session.claims[cl.seq] != nil {
			return fmt.Errorf("claim %d of session %d is out of place: %w", cl.seq, c.GetSession(), ErrUnreadable)
		}
		cl.session.claims[cl.seq] = cl
		if i == 0 {
			res.holder, cl.token = cl, state.GetToken()
		} else {
			res.push(cl)
		}
	}
	return nil
}
