package redlock

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// shelf is the naive model of an instance: a key with an end, on the one clock that
// all share in this test.
type shelf struct {
	token int
	until time.Duration
}

// TestRandomLives lets time pass between the events, so that keys expire, leases
// are extended and lost, and timers fire late. Whatever happens, two clients never
// believe to hold at the same moment.
func TestRandomLives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rules{
			n: rapid.IntRange(1, 5).Draw(t, "instances"), ttl: ms(100), drift: ms(3), timeout: ms(10),
			sequential: rapid.Bool().Draw(t, "sequential"), extend: rapid.Bool().Draw(t, "extend"),
		}
		type mail struct {
			token, instance int
			kind            effectKind
			reply           bool
			answer          answer
		}
		var (
			now     time.Duration
			shelves = make([]shelf, r.n)
			lives   []machine
			timers  []time.Duration
			mails   []mail
		)
		feed := func(token int, e event) {
			e.now = now
			for _, eff := range lives[token].step(e) {
				switch eff.kind {
				case effSet, effExtend, effDelete:
					mails = append(mails, mail{token: token, instance: eff.instance, kind: eff.kind})
				case effTimer:
					timers[token] = eff.at
				}
			}
		}
		serve := func(m *mail) {
			s := &shelves[m.instance]
			free := s.until <= now
			mine := !free && s.token == m.token
			m.reply, m.answer = true, no
			switch {
			case m.kind == effSet && free, m.kind == effExtend && (free || mine):
				*s, m.answer = shelf{m.token, now + r.ttl}, yes
			case m.kind == effDelete && mine:
				*s, m.answer = shelf{}, yes
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				believers := 0
				for i := range lives {
					if lives[i].phase == held && now < lives[i].until {
						believers++
					}
				}
				if believers > 1 {
					t.Fatalf("%d clients believe to hold at %v", believers, now)
				}
			},
			"begin": func(t *rapid.T) {
				if len(lives) > 30 {
					t.Skip()
				}
				lives, timers = append(lives, newMachine(r)), append(timers, 0)
				feed(len(lives)-1, event{kind: evBegin})
			},
			"mail": func(t *rapid.T) {
				if len(mails) == 0 {
					t.Skip()
				}
				// Mostly in order: chaos alone seldom lets anybody reach a quorum.
				i := 0
				if rapid.IntRange(0, 3).Draw(t, "overtake") == 0 {
					i = rapid.IntRange(0, len(mails)-1).Draw(t, "mail")
				}
				m := mails[i]
				mails = append(mails[:i], mails[i+1:]...)
				lost := rapid.IntRange(0, 9).Draw(t, "lost") == 0
				switch {
				case !m.reply && lost:
					m.reply, m.answer = true, unknown
					if rapid.Bool().Draw(t, "ran") {
						serve(&m)
						m.answer = unknown
					}
					mails = append(mails, m)
				case !m.reply:
					serve(&m)
					mails = append(mails, m)
				default:
					kinds := map[effectKind]eventKind{effSet: evSet, effExtend: evExtended, effDelete: evDeleted}
					feed(m.token, event{kind: kinds[m.kind], instance: m.instance, answer: m.answer})
				}
			},
			"time": func(t *rapid.T) {
				now += ms(rapid.IntRange(1, 40).Draw(t, "ms"))
				for i := range lives {
					if timers[i] > 0 && timers[i] <= now && rapid.IntRange(0, 3).Draw(t, "late timer") > 0 {
						timers[i] = 0
						feed(i, event{kind: evTick})
					}
				}
			},
			"end": func(t *rapid.T) {
				if len(lives) == 0 {
					t.Skip()
				}
				kind := rapid.SampledFrom([]eventKind{evRelease, evGiveUp, evClose}).Draw(t, "how")
				feed(rapid.IntRange(0, len(lives)-1).Draw(t, "who"), event{kind: kind})
			},
		})
	})
}
