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
	evRelease                   // the holder is done, or the caller waits no longer
	evClose                     // the client closes: a holder must not go on
)

// Answer is what an instance said, or why it said nothing.
type Answer uint8

// The answers.
const (
	pending Answer = iota // no answer yet, or never asked
	Yes                   // it did what was asked; for a deletion: the key was ours
	No                    // it did not; for a deletion: there was nothing of ours
	Unsent                // the command surely was not run: it never left, or the server refused it
	Unknown               // the command may have taken effect, or may still do
)

// event is one input of the machine.
type event struct {
	kind     eventKind
	instance int
	answer   Answer
	repeated bool // of a deletion: one before it had no answer, and may have run
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
	resultUnknown        // too few instances answered, or nobody knows whether a quorum that is gone was so before
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
	asked bool   // SET was handed over
	late  bool   // SET was not answered in time: it no longer counts as open
	set   Answer // to SET

	extending int    // extensions without an answer
	extended  Answer // to the extension of the current round

	believed bool   // it may have carried the token when the release began
	deleting bool   // a deletion is out
	again    bool   // the key may have come while the deletion was out
	deleted  Answer // to the last deletion
	found    bool   // a deletion found the key
	maybe    bool   // a deletion that had no answer may have found it
}

// mayCarry says whether the instance may carry the token, now or later.
func (m *member) mayCarry() bool {
	setOpen := m.asked && (m.set == pending || m.set == Unknown)
	switch {
	case m.deleting:
	case m.deleted == Yes:
		return false // SET ran before
	case m.deleted == No:
		return setOpen // the deletion may have overtaken SET
	}
	return setOpen || m.set == Yes
}

// machine is one acquisition. The zero value is not usable; see newMachine.
type machine struct {
	rules
	phase   phase
	start   time.Duration // of the asking
	until   time.Duration // validity end, when held
	nextAsk int           // the instance that is asked next
	askedAt time.Duration // when the one before was asked, as all that may still be in time

	extendAt    time.Duration // when held: start of the next extension
	extendStart time.Duration // of the current round
	extendOpen  bool

	answerBy time.Duration // of the release
	ranOut   bool          // the hold's time was over before its release
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
		m.runOut()
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
	case evRelease:
		m.release(e.now)
	case evClose:
		if m.phase == held {
			m.lose()
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
		if s := m.members[i].set; s == Yes || s == No {
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
	m.phase, m.start = asking, now
	m.ask(now)
}

// ask asks the next instance, or all.
func (m *machine) ask(now time.Duration) {
	m.askedAt = now
	for more := true; more; more = !m.sequential && m.nextAsk < m.n {
		m.members[m.nextAsk].asked = true
		m.emit(effect{kind: effSet, instance: m.nextAsk})
		m.nextAsk++
	}
	m.emit(effect{kind: effTimer, at: now + m.timeout})
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
		switch {
		case e.answer != Yes && e.answer != Unknown, m.ranOut: // what ran out is deleted at the release
		case member.deleting:
			member.again = true
		default:
			m.delete(e.instance)
		}
	default: // idle asked for nothing; a holder keeps what comes late
	}
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
		case member.set == Yes:
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
			m.ask(now)
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
		if member.believed || (member.asked && member.set != Unsent) {
			m.delete(i)
		}
	}
}

func (m *machine) lose() {
	m.phase, m.cleared = over, true // nobody waits for the deletions of what is lost
	m.emit(effect{kind: effLost})
	m.deleteAll()
}

// runOut ends a hold whose time is over. Its holder has to notice first, so nothing is deleted
// before the release. The keys end by themselves, at the earliest when the drift has passed too.
func (m *machine) runOut() {
	m.phase, m.cleared, m.ranOut = over, true, true
	m.emit(effect{kind: effLost})
}

func (m *machine) onTick(now time.Duration) {
	switch m.phase {
	case asking:
		if now < m.askedAt+m.timeout { // woken early
			m.emit(effect{kind: effTimer, at: m.askedAt + m.timeout})
			return
		}
		for i := range m.members[:m.nextAsk] {
			m.members[i].late = true
		}
		m.decide(now)
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

// armHeld sets the timer to whatever comes first while the lock is held.
func (m *machine) armHeld() {
	at := m.until
	if m.extend {
		if m.extendOpen {
			at = min(at, m.extendStart+m.timeout)
		} else {
			at = min(at, m.extendAt)
		}
	}
	m.emit(effect{kind: effTimer, at: at})
}

func (m *machine) extendNow(now time.Duration) {
	m.extendStart, m.extendOpen = now, true
	for i := range m.members {
		member := &m.members[i]
		member.extending++
		member.extended = pending
		m.emit(effect{kind: effExtend, instance: i})
	}
}

// extendFailed plans the next try, well before the lease ends.
func (m *machine) extendFailed(now time.Duration) {
	m.extendOpen = false
	m.extendAt = now + m.timeout/2
}

func (m *machine) onExtended(e event) {
	member := &m.members[e.instance]
	member.extending--
	if m.phase != held || member.extending > 0 || !m.extendOpen {
		return // of a hold or a round that is over
	}
	member.extended = e.answer
	granted, refused, open := 0, 0, 0
	for i := range m.members {
		switch m.members[i].extended {
		case Yes:
			granted++
		case No:
			refused++
		case pending:
			open++
		default: // unsent and unknown decide nothing
		}
	}
	switch {
	case granted >= m.quorum():
		m.extendOpen = false
		m.until = m.extendStart + m.ttl - m.drift
		m.extendAt = e.now + m.ttl/3
		m.emit(effect{kind: effRenewed, at: m.until})
		m.armHeld()
	case m.n-refused < m.quorum():
		m.lose() // a majority lost the key, and no extension sets it again
	case granted+open < m.quorum():
		m.extendFailed(e.now)
		m.armHeld()
	}
}

func (m *machine) release(now time.Duration) {
	switch {
	case m.phase == asking:
		m.deny()
	case m.phase == held:
		m.phase, m.answerBy = releasing, now+m.timeout
		m.deleteAll()
		m.emit(effect{kind: effTimer, at: m.answerBy})
	case m.ranOut:
		m.ranOut = false
		m.deleteAll()
	}
}

func (m *machine) onDeleted(e event) {
	member := &m.members[e.instance]
	member.deleting, member.deleted = false, e.answer
	member.found = member.found || e.answer == Yes
	member.maybe = member.maybe || e.repeated || e.answer == Unknown
	// A deletion that found the key ran after SET, which alone sets it.
	if member.again && e.answer != Yes {
		m.delete(e.instance)
	}
	member.again = false
	if m.phase == releasing {
		m.end(false)
	}
}

// end gives the release its result: as soon as a quorum of instances confirmed,
// all have answered, or the time is up. What one deletion found was held, whatever a
// later one says.
func (m *machine) end(timeUp bool) {
	confirmed, stillBelieved, perhaps, open := 0, 0, 0, 0
	for i := range m.members {
		member := &m.members[i]
		answered := !member.deleting && (member.deleted == Yes || member.deleted == No)
		if answered {
			confirmed++
		}
		if member.deleting {
			open++
		}
		switch {
		case !member.believed:
		case !answered || member.found:
			stillBelieved++
		case member.maybe:
			perhaps++
		}
	}
	if confirmed < m.quorum() && open > 0 && !timeUp {
		return
	}
	res := resultOK
	switch {
	case m.carriers() >= m.quorum(), stillBelieved < m.quorum() && stillBelieved+perhaps >= m.quorum():
		res = resultUnknown
	case stillBelieved < m.quorum():
		res = resultNotHeld
	}
	m.phase = over
	m.emit(effect{kind: effEnded, result: res})
}
