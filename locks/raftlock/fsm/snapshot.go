package fsm

import (
	"encoding/binary"
	"fmt"
	"time"
)

// AppendSnapshot appends the encoding of the whole state to b. The same state
// gives the same bytes.
func (s *State) AppendSnapshot(b []byte) []byte {
	b = append(b, snapshotVersion)
	b = binary.AppendUvarint(b, s.index)
	b = binary.AppendUvarint(b, s.lastSession)
	b = binary.AppendUvarint(b, uint64(len(s.sessions)))
	for _, id := range sortedKeys(s.sessions) {
		b = s.sessions[id].append(b)
	}
	b = binary.AppendUvarint(b, uint64(len(s.resources)))
	for _, name := range sortedKeys(s.resources) {
		b = s.resources[name].append(b)
	}
	return b
}

func (sess *session) append(b []byte) []byte {
	b = binary.AppendUvarint(b, sess.id)
	b = appendString(b, sess.client)
	b = binary.AppendUvarint(b, uint64(sess.lease/time.Millisecond))
	b = binary.AppendUvarint(b, sess.floor)
	b = binary.AppendUvarint(b, sess.touched)
	b = binary.AppendUvarint(b, uint64(len(sess.answers)))
	for _, seq := range sortedKeys(sess.answers) {
		b = binary.AppendUvarint(b, seq)
		b = append(b, byte(sess.answers[seq].kind), byte(sess.answers[seq].outcome))
	}
	return b
}

// append writes the holder first, then the queue in its order. Between entries
// every resource has a holder.
func (r *resource) append(b []byte) []byte {
	b = appendString(b, r.name)
	b = binary.AppendUvarint(b, r.holder.token)
	n := uint64(1)
	for cl := r.head; cl != nil; cl = cl.next {
		n++
	}
	b = binary.AppendUvarint(b, n)
	b = r.holder.append(b)
	for cl := r.head; cl != nil; cl = cl.next {
		b = cl.append(b)
	}
	return b
}

func (cl *claim) append(b []byte) []byte {
	b = binary.AppendUvarint(b, cl.session.id)
	return binary.AppendUvarint(b, cl.seq)
}

// DecodeSnapshot reads what AppendSnapshot wrote.
func DecodeSnapshot(b []byte) (*State, error) {
	r := reader{rest: b}
	if v := r.byte(); v != snapshotVersion && r.err == nil {
		return nil, fmt.Errorf("decode snapshot: version %d, want %d: %w", v, snapshotVersion, ErrCorrupt)
	}
	s := New()
	s.index, s.lastSession = r.uvarint(), r.uvarint()
	for range r.count() {
		if s.readSession(&r); r.err != nil {
			break
		}
	}
	for range r.count() {
		if s.readResource(&r); r.err != nil {
			break
		}
	}
	if r.err == nil && len(r.rest) > 0 {
		r.fail("bytes after the end")
	}
	if r.err != nil {
		return nil, fmt.Errorf("decode snapshot: %w", r.err)
	}
	return s, nil
}

func (s *State) readSession(r *reader) {
	sess := &session{
		id: r.uvarint(), client: r.string(), lease: r.lease(), floor: r.uvarint(), touched: r.uvarint(),
		answers: map[uint64]answer{}, claims: map[uint64]*claim{},
	}
	for range r.count() {
		sess.answers[r.uvarint()] = answer{Kind(r.byte()), Outcome(r.byte())}
		if r.err != nil {
			return
		}
	}
	if s.sessions[sess.id] != nil || sess.id > s.lastSession {
		r.fail("session out of place")
	}
	s.sessions[sess.id] = sess
}

func (s *State) readResource(r *reader) {
	res := &resource{name: r.string()}
	token, n := r.uvarint(), r.count()
	if r.err == nil && (s.resources[res.name] != nil || token == 0 || n == 0) {
		r.fail("resource out of place")
	}
	for i := range n {
		cl := &claim{session: s.sessions[r.uvarint()], seq: r.uvarint(), resource: res}
		if r.err == nil && (cl.session == nil || cl.session.claims[cl.seq] != nil) {
			r.fail("claim out of place")
		}
		if r.err != nil {
			return
		}
		cl.session.claims[cl.seq] = cl
		if i == 0 {
			res.holder, cl.token = cl, token
		} else {
			res.push(cl)
		}
	}
	s.resources[res.name] = res
}
