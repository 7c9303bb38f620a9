package redlock

import "time"

// This file is the algorithm: one acquisition of one token over n instances, as a
// state machine without clock, goroutine or socket. Source: "Distributed Locks with
// Redis" (redis.io, the Redlock algorithm). Times are durations on a monotonic clock
// with any origin.

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

// eventKind is the kind of an event.
type eventKind uint8

const (
	evBegin    eventKind = iota // start the attempt
	evSet                       // an instance answered SET
	evExtended                  // an instance answered an extension
	evDeleted                   // an instance answered a deletion
	evTick                      // time passed; comes no later than the last effTimer
	evRelease                   // the holder is done, or the caller waits no longer
	evClose                     // the client closes, which ends a hold
)

// Answer is an instance's answer to a command, or the reason why there is none.
type Answer uint8

// The answers.
const (
	pending Answer = iota // no answer yet, or never asked
	Yes                   // done; for a deletion: the key had our token
	No                    // not done; for a deletion: no key had our token
	Unsent                // surely not run: never sent, or refused by the server
	Unknown               // the command may have taken effect, or may still do so
)

// event is one input of the machine.
type event struct {
	kind     eventKind
	instance int
	answer   Answer
	repeated bool // of a deletion: an earlier one was not answered, and may have run
	now      time.Duration
}

// effectKind is the kind of an effect.
type effectKind uint8

const (
	effSet     effectKind = iota // send SET key token NX PX ttl
	effExtend                    // send the extension
	effDelete                    // send the compare-and-delete
	effTimer                     // send evTick at that time; replaces an earlier timer
	effGranted                   // the lock is held until that time
	effDenied                    // the attempt failed; its keys are being deleted
	effRenewed                   // the lock is held until that time, which is later than before
	effLost                      // the holder must stop
	effCleared                   // denied or released, and every instance has answered all commands
	effFreed                     // denied, and surely no quorum carries this token any more
	effEnded                     // the release has its result
)

// effect is one output of the machine.
type effect struct {
	kind     effectKind
	instance int
	at       time.Duration
	result   result
}

// result is the outcome of a release.
type result uint8

const (
	resultOK      result = iota
	resultNotHeld        // fewer than a quorum of the keys was left before
	resultUnknown        // too few instances answered, or fewer than a quorum of the keys may have been left before
)

// phase is the phase of an acquisition.
type phase uint8

const (
	idle      phase = iota
	asking          // SETs were sent, undecided
	held            // granted and valid
	denied          // refused, or given up
	releasing       // released by its holder, result open
	over            // released with a result, or lost
)

// member is the state of one instance.
type member struct {
	asked bool   // SET was emitted
	late  bool   // SET was not answered in time: the decision no longer waits for it
	set   Answer // to SET

	extending int    // extensions without an answer
	extended  Answer // to the extension of the current round

	believed bool   // it may have carried the token when the release began
	deleting bool   // a deletion has no answer yet
	again    bool   // SET may have run after that deletion
	deleted  Answer // to the last deletion
	found    bool   // a deletion found the key
	maybe    bool   // an unanswered deletion may have found the key
}

// mayCarry reports whether the instance may carry the token, now or later.
func (m *member) mayCarry() bool {
	setOpen := m.asked && (m.set == pending || m.set == Unknown)
	switch {
	case m.deleting:
	case m.deleted == Yes:
		return false // SET had run before
	case m.deleted == No:
		return setOpen // the deletion may have run before SET
	}
	return setOpen || m.set == Yes
}

// machine is one acquisition. Make it with newMachine.
type machine struct {
	rules
	phase   phase
	start   time.Duration // of the attempt
	until   time.Duration // validity end, when held
	nextAsk int           // the next instance to ask
	askedAt time.Duration // when the latest instances were asked: the timeout counts from here

	extendAt    time.Duration // when held: start of the next extension
	extendStart time.Duration // of the current round of extensions
	extendOpen  bool

	answerBy time.Duration // deadline of the release
	ranOut   bool          // the validity ended before the release
	freed    bool          // effFreed was emitted
	cleared  bool          // effCleared or effLost was emitted

	members []member
	out     []effect
}

func newMachine(r rules) machine {
	return machine{rules: r, members: make([]member, r.n), out: make([]effect, 0, r.n+2)}
}

// step handles one event and returns its effects in order. The slice is valid until the
// next call.
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

// open reports whether an answer may still come.
func (m *machine) open() bool {
	for i := range m.members {
		if member := &m.members[i]; member.deleting || (member.asked && member.set == pending) {
			return true
		}
	}
	return false
}

func (m *machine) emit(e effect) { m.out = append(m.out, e) }

// answered counts the instances that answered SET.
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

// ask sends SET to the next instance, or to all.
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
		// A late yes: the key was set after the decision, so it is deleted at once. If a
		// deletion has no answer yet, it may have run before SET: its answer decides whether
		// another one follows.
		switch {
		case e.answer != Yes && e.answer != Unknown, m.ranOut: // after runOut the release deletes
		case member.deleting:
			member.again = true
		default:
			m.delete(e.instance)
		}
	default: // idle has sent nothing; a holder keeps a late key
	}
}

func (m *machine) delete(i int) {
	m.members[i].deleting, m.members[i].again = true, false
	m.emit(effect{kind: effDelete, instance: i})
}

// decide grants or denies the attempt, if possible. Once all instances are asked, it grants at a quorum of
// yes, and denies when no quorum is possible any more. Asking does not stop at a quorum: of a hold on exactly
// three of five instances, the loss of one memory would let another client in.
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

// deny ends the attempt. It deletes the key on every instance that was asked, also if the
// answer was no or is missing.
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
	m.phase, m.cleared = over, true // no caller waits for the deletions after a loss
	m.emit(effect{kind: effLost})
	m.deleteAll()
}

// runOut ends a hold whose validity is over. It deletes nothing before the release, so that the holder has
// time to notice: the keys expire after the drift, at the earliest.
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

// armHeld sets the timer to the next moment at which a hold must act.
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

// extendFailed plans the next attempt to extend, well before the lease ends.
func (m *machine) extendFailed(now time.Duration) {
	m.extendOpen = false
	m.extendAt = now + m.timeout/2
}

func (m *machine) onExtended(e event) {
	member := &m.members[e.instance]
	member.extending--
	if m.phase != held || member.extending > 0 || !m.extendOpen {
		return // the hold or the round is over
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
	// A deletion that found the key ran after SET; otherwise another one must follow.
	if member.again && e.answer != Yes {
		m.delete(e.instance)
	}
	member.again = false
	if m.phase == releasing {
		m.end(false)
	}
}

// end decides the result of the release once a quorum of instances has confirmed, all have
// answered, or the time is up. A key that any deletion found was held, whatever later ones say.
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
