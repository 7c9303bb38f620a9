package redlock

import "time"

// This file is the algorithm: one acquisition of one token over n instances, as a
// state machine that knows no clock, goroutine or socket. Source: "Distributed
// Locks with Redis" (redis.io, the Redlock algorithm). Times are durations on a
// monotonic clock whose origin does not matter.

// rules are the fixed parameters of an acquisition.
type rules struct {
	n          int
	ttl        time.Duration
	drift      time.Duration
	timeout    time.Duration // for each instance's answer
	sequential bool
	extend     bool
}

func (r rules) quorum() int { return r.n/2 + 1 }

// eventKind is what happened.
type eventKind uint8

const (
	evBegin    eventKind = iota // start to ask
	evSet                       // an instance answered SET
	evExtended                  // an instance answered an extension
	evDeleted                   // an instance answered a deletion
	evTick                      // time passed; at the latest at the moment of the last effTimer
	evGiveUp                    // the caller waits no longer
	evRelease                   // the holder is done
	evClose                     // the client closes: a holder must not go on
)

// answer is what an instance said, or why it said nothing.
type answer = Answer

// Answer is the same for the locks on one instance, see Single.
type Answer uint8

const (
	pending answer = iota // zero: no answer yet, or never asked
	yes                   // it did what was asked; for a deletion: the key was ours
	no                    // it refused; for a deletion: there was nothing of ours
	unsent                // the command surely never left
	unknown               // the command may have taken effect, or may still do
)

// event is one input of the machine.
type event struct {
	kind     eventKind
	instance int
	answer   answer
	repeated bool // of a deletion: one before it had no answer, so that it may have run
	now      time.Duration
}

// effectKind is what to do.
type effectKind uint8

const (
	effSet     effectKind = iota // send SET key token NX PX ttl
	effExtend                    // send the extension
	effDelete                    // send the compare-and-delete
	effTimer                     // send evTick at the time; replaces the timer before
	effGranted                   // the lock is held until the time
	effDenied                    // the attempt failed; all is being deleted
	effRenewed                   // the lock is held until the time, which is later than before
	effLost                      // the holder must stop
	effCleared                   // denied or released, and every instance has answered what it was sent
	effFreed                     // denied, and now surely not held by anybody through this token
	effEnded                     // the release has its result
)

// effect is one output of the machine.
type effect struct {
	kind     effectKind
	instance int
	at       time.Duration
	result   result
}

// result is how a release ended.
type result uint8

const (
	resultOK      result = iota
	resultNotHeld        // a quorum was gone before
	resultGone           // a quorum is gone, and nobody knows whether it was before
	resultUnknown        // too few instances answered
)

// phase is where an acquisition is in its life.
type phase uint8

const (
	idle      phase = iota
	asking          // SETs are out, undecided
	held            // granted and valid
	denied          // decided against, or given up
	releasing       // released by its holder, result open
	over            // released with a result, or lost
)

// member is what is known of one instance.
type member struct {
	asked   bool          // SET was handed over
	askedAt time.Duration // for the timeout when asking in sequence
	late    bool          // SET was not answered in time: it no longer counts as open
	set     answer        // to SET

	extending int    // extensions without an answer
	extended  answer // to the extension of the current round

	believed bool   // it may have carried the token when the release began
	deleting bool   // a deletion is out
	again    bool   // the key may have come while the deletion was out
	deleted  answer // to the last deletion
	found    bool   // a deletion found the key
	maybe    bool   // a deletion that had no answer may have found it
}

// mayCarry says whether the instance may carry the token, now or later.
func (m *member) mayCarry() bool {
	setOpen := m.asked && (m.set == pending || m.set == unknown)
	switch {
	case m.deleting:
	case m.deleted == yes:
		return false // SET ran before
	case m.deleted == no:
		return setOpen // the deletion may have overtaken SET
	}
	return setOpen || m.set == yes
}

// machine is one acquisition. The zero value is not usable; see newMachine.
type machine struct {
	rules
	phase   phase
	start   time.Duration // of the asking
	until   time.Duration // validity end, when held
	nextAsk int           // when asking in sequence

	extendAt    time.Duration // when held: start of the next extension
	extendStart time.Duration // of the current round
	extendOpen  bool

	answerBy time.Duration // of the release
	deleteAt time.Duration // what ran out is deleted then; 0 if nothing is to be
	freed    bool          // effFreed was given
	cleared  bool          // effCleared was given, or effLost

	members []member
	out     []effect
}

func newMachine(r rules) machine {
	return machine{rules: r, members: make([]member, r.n), out: make([]effect, 0, r.n+2)}
}

// step takes one event and says what is to be done, in this order. The slice is
// valid until the next call.
func (m *machine) step(e event) []effect {
	m.out = m.out[:0]
	if m.phase == held && e.now >= m.until {
		m.runOut(e.now)
	}
	switch e.kind {
	case evBegin:
		m.begin(e.now)
	case evSet:
		m.onSet(e)
	case evExtended:
		m.onExtended(e)
	case evDeleted:
		m.onDeleted(e)
	case evTick:
		m.onTick(e.now)
	case evGiveUp:
		if m.phase == asking {
			m.deny()
		}
	case evRelease:
		m.release(e.now)
	case evClose:
		switch m.phase {
		case asking:
			m.deny()
		case held:
			m.lose()
		default: // nothing is held or asked for
		}
	}
	if m.phase == denied && !m.freed && m.carriers() < m.quorum() {
		m.freed = true
		m.emit(effect{kind: effFreed})
	}
	if (m.phase == denied || m.phase == over) && !m.cleared && !m.open() {
		m.cleared = true
		m.emit(effect{kind: effCleared})
	}
	return m.out
}

// open says whether an answer is missing that may still come.
func (m *machine) open() bool {
	for i := range m.members {
		if member := &m.members[i]; member.deleting || (member.asked && member.set == pending) {
			return true
		}
	}
	return false
}

func (m *machine) emit(e effect) { m.out = append(m.out, e) }

// answered counts the instances that gave an answer to SET in time.
func (m *machine) answered() int {
	n := 0
	for i := range m.members {
		if s := m.members[i].set; s == yes || s == no {
			n++
		}
	}
	return n
}

// carriers counts the instances that may carry the token.
func (m *machine) carriers() int {
	n := 0
	for i := range m.members {
		if m.members[i].mayCarry() {
			n++
		}
	}
	return n
}

func (m *machine) begin(now time.Duration) {
	if m.phase != idle {
		return
	}
	m.phase, m.start = asking, now
	if m.sequential {
		m.ask(0, now)
	} else {
		for i := range m.members {
			m.members[i].asked = true
			m.emit(effect{kind: effSet, instance: i})
		}
		m.nextAsk = m.n
	}
	m.emit(effect{kind: effTimer, at: now + m.timeout})
}

func (m *machine) ask(i int, now time.Duration) {
	m.members[i].asked, m.members[i].askedAt = true, now
	m.nextAsk = i + 1
	m.emit(effect{kind: effSet, instance: i})
}

func (m *machine) onSet(e event) {
	member := &m.members[e.instance]
	member.set = e.answer
	switch m.phase {
	case asking:
		m.decide(e.now)
	case denied, releasing, over:
		// A late yes: the key came after the decision, so it goes at once. If a
		// deletion is out already, its answer shows whether it came in time. Without
		// an answer, the deletion may have run before SET did.
		if m.deleteAt == 0 && (e.answer == yes || e.answer == unknown) {
			m.deleteLate(e.instance)
		}
	default: // idle asked for nothing; a holder keeps what comes late
	}
}

// deleteLate deletes a key that came, or may have come, after the decision.
func (m *machine) deleteLate(i int) {
	if m.members[i].deleting {
		m.members[i].again = true
		return
	}
	m.delete(i)
}

func (m *machine) delete(i int) {
	m.members[i].deleting, m.members[i].again = true, false
	m.emit(effect{kind: effDelete, instance: i})
}

// decide looks whether the attempt can be decided: once all are asked, as soon as a
// quorum said yes, and as soon as no quorum can be reached any more. Asking does not
// stop at a quorum: a hold on exactly three of five is gone for everybody else as
// soon as one of the three loses its memory.
func (m *machine) decide(now time.Duration) {
	granted, open := 0, 0
	for i := range m.members[:m.nextAsk] {
		switch member := &m.members[i]; {
		case member.set == yes:
			granted++
		case member.set == pending && !member.late:
			open++
		}
	}
	until := m.start + m.ttl - m.drift
	switch {
	case now >= until:
		m.deny()
	case m.nextAsk < m.n:
		if open == 0 {
			m.ask(m.nextAsk, now)
			m.emit(effect{kind: effTimer, at: now + m.timeout})
		}
	case granted+open < m.quorum():
		m.deny()
	case granted >= m.quorum():
		m.phase, m.until = held, until
		m.extendAt = now + m.ttl/3
		m.emit(effect{kind: effGranted, at: until})
		m.armHeld()
	}
}

// deny ends the attempt: everything that was asked is deleted, also where the
// answer was no or is missing, for a missing answer says nothing.
func (m *machine) deny() {
	m.phase = denied
	m.emit(effect{kind: effDenied})
	m.deleteAll()
}

func (m *machine) deleteAll() {
	for i := range m.members {
		member := &m.members[i]
		member.believed = member.mayCarry()
		if member.believed || (member.asked && member.set != unsent) {
			m.delete(i)
		}
	}
}

func (m *machine) lose() {
	m.phase, m.cleared = over, true // nobody waits for the deletions of what is lost
	m.emit(effect{kind: effLost})
	m.deleteAll()
}

// runOut ends a hold whose time is over. It is not deleted at once, as who held it has to notice
// first: for that it gets as long as is allowed for clocks. By then the keys run out themselves,
// but for those that a part of the instances extended. Close does not wait for it.
func (m *machine) runOut(now time.Duration) {
	m.phase, m.cleared = over, true
	m.deleteAt = now + m.drift
	m.emit(effect{kind: effLost})
	m.emit(effect{kind: effTimer, at: m.deleteAt})
}

// cleanUp deletes what ran out.
func (m *machine) cleanUp() {
	m.deleteAt = 0
	m.deleteAll()
}

func (m *machine) onTick(now time.Duration) {
	if m.deleteAt > 0 {
		if now < m.deleteAt {
			if len(m.out) == 0 { // woken early
				m.emit(effect{kind: effTimer, at: m.deleteAt})
			}
			return
		}
		m.cleanUp()
	}
	switch m.phase {
	case asking:
		for i := range m.members[:m.nextAsk] {
			member := &m.members[i]
			if member.set == pending && now >= max(member.askedAt, m.start)+m.timeout {
				member.late = true
			}
		}
		m.decide(now)
		if m.phase == asking && len(m.out) == 0 { // woken early
			m.emit(effect{kind: effTimer, at: m.lastAsked() + m.timeout})
		}
	case held:
		if m.extendOpen && now >= m.extendStart+m.timeout {
			m.extendFailed(now)
		}
		if m.extend && !m.extendOpen && now >= m.extendAt {
			m.extendNow(now)
		}
		m.armHeld()
	case releasing:
		if now < m.answerBy {
			m.emit(effect{kind: effTimer, at: m.answerBy})
			return
		}
		m.end(true)
	default: // a timer of an earlier phase
	}
}

func (m *machine) lastAsked() time.Duration {
	if m.sequential {
		return m.members[m.nextAsk-1].askedAt
	}
	return m.start
}
