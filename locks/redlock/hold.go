package redlock

import "time"

// This file is the algorithm of a hold, from its grant to the end of its release: the
// rest is in core.go.

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
		case yes:
			granted++
		case no:
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
	if m.deleteAt > 0 { // who held it knows
		m.cleanUp()
	}
	if m.phase != held {
		return
	}
	m.phase, m.answerBy = releasing, now+m.timeout
	m.deleteAll()
	m.emit(effect{kind: effTimer, at: m.answerBy})
}

func (m *machine) onDeleted(e event) {
	member := &m.members[e.instance]
	member.deleting, member.deleted = false, e.answer
	member.found = member.found || e.answer == yes
	member.maybe = member.maybe || e.repeated || e.answer == unknown
	// A deletion that found the key ran after SET, which alone sets it.
	if member.again && e.answer != yes {
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
		answered := !member.deleting && (member.deleted == yes || member.deleted == no)
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
	case m.carriers() >= m.quorum():
		res = resultUnknown
	case stillBelieved+perhaps < m.quorum():
		res = resultNotHeld
	case stillBelieved < m.quorum():
		res = resultGone
	}
	m.phase = over
	m.emit(effect{kind: effEnded, result: res})
}
