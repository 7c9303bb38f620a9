package raftnode

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/locks/locktest"
)

// The tests explore elections, replication and servers that forget, with the rules of
// recovery.go. A message that does not get through is a move that is not made, so every subset of
// the links is cut at any time, from the first boot on: all orders of the moves are tried.

const (
	mostMembers = 5
	mostTerms   = 5
	mostEntries = 2
)

// member is one server. Its log has the term of each entry, which names the entry: one leader of a
// term writes one entry at an index.
type member struct {
	term, vote int8 // vote is one more than the candidate's number
	granted    uint8
	leads      bool
	joined     bool // it knows who the members are
	log        [mostEntries]int8
	entries    int8
	match      [mostMembers]int8 // as a leader knows
	asks       bool              // before it begins
	rounds     int8              // the inquiry
	heard      uint8
	highest    int8
	begin      int8 // of a server that recovers and has begun
}

type world struct {
	members   int8
	at        [mostMembers]member
	committed [mostEntries]int8
	in        [mostEntries]int8 // the term of the leader that committed it
	forgot    int8              // how often
}

// rules are those of recovery.go, or worse ones.
type rules struct {
	begin   func(q inquiry) (term uint64, known bool)
	votes   func(applied, begin uint64) bool
	infers  bool // a majority that has seen no election founds
	forgets int8 // how often in all
	terms   int8
	entries int8
}

func rightRules() rules {
	return rules{
		begin:   func(q inquiry) (uint64, bool) { return q.begin() },
		votes:   mayVote,
		forgets: 1, terms: 4, entries: 2,
	}
}

// over is the product's beginning, of an inquiry that is over at another time.
func over(known func(q inquiry) bool) func(q inquiry) (uint64, bool) {
	return func(q inquiry) (uint64, bool) { term, _ := q.begin(); return term, known(q) }
}

func founded(members int8) world {
	w := world{members: members}
	for i := range members {
		w.at[i].term, w.at[i].joined = 1, true
	}
	return w
}

// move is what one or two servers do; k is how many entries.
type move struct {
	verb    string
	i, j, k int8
}

const nobody = -1

func (m move) String() string {
	text := m.verb + " " + string(rune('a'+m.i))
	if m.j != nobody {
		text += " " + string(rune('a'+m.j))
	}
	if m.verb == "append" {
		text += fmt.Sprint(" ", m.k)
	}
	return text
}

func (w *world) majority(set uint8) bool { return bits.OnesCount8(set) > int(w.members)/2 }

// moves passes on every move that is possible, what comes of it, and what is wrong with that.
func (w world) moves(r rules, do func(m move, next world, wrong string)) {
	for i := range w.members {
		w.alone(r, i, do)
		for j := range w.members {
			if i != j {
				w.between(r, i, j, do)
			}
		}
	}
}

func (w world) alone(r rules, i int8, do func(move, world, string)) {
	name := func(verb string) move { return move{verb: verb, i: i, j: nobody} }
	m := w.at[i]
	if m.joined && !m.asks && m.begin == 0 && !m.leads && m.term < r.terms {
		next := w
		n := &next.at[i]
		n.term, n.vote, n.granted = m.term+1, i+1, 1<<i
		do(name("stand"), next, "")
	}
	if m.granted != 0 && !m.leads && w.majority(m.granted) {
		next := w
		n := &next.at[i]
		n.leads, n.match = true, [mostMembers]int8{}
		n.match[i] = n.entries
		do(name("win"), next, next.lacks(i))
	}
	if m.leads && m.entries < r.entries {
		next := w
		n := &next.at[i]
		n.log[n.entries] = n.term
		n.entries++
		n.match[i] = n.entries
		do(name("propose"), next, "")
	}
	if m.leads {
		if next, ok, wrong := w.commit(i); ok {
			do(name("commit"), next, wrong)
		}
	}
	if m.begin != 0 {
		for k := range m.entries {
			if w.committed[k] == m.log[k] && r.votes(uint64(m.log[k]), uint64(m.begin)) {
				next := w
				next.at[i].begin = 0
				do(name("catch up"), next, "")
				break
			}
		}
	}
	if w.forgot < r.forgets && w.recovering()+1 <= w.members/2 && !m.asks && m.begin == 0 {
		next := w
		next.forgot++
		next.at[i] = member{asks: true}
		do(name("forget"), next, "")
	}
}

func (w *world) recovering() (n int8) {
	for i := range w.members {
		if w.at[i].asks || w.at[i].begin != 0 {
			n++
		}
	}
	return n
}

func (w world) between(r rules, i, j int8, do func(move, world, string)) {
	name := func(verb string) move { return move{verb: verb, i: i, j: j} }
	from, to := w.at[i], w.at[j]
	if from.asks {
		if w.asks(r, i, j) {
			do(name("ask"), w.ask(r, i, j), "")
		}
		return
	}
	if to.asks {
		return
	}
	if candidate := from.granted != 0 && !from.leads && from.granted&(1<<j) == 0; candidate && from.term >= to.term {
		next := w
		n := &next.at[j]
		n.hear(from.term)
		if n.begin == 0 && (n.vote == 0 || n.vote == i+1) && from.newerThan(to) {
			n.vote = i + 1
			next.at[i].granted |= 1 << j
		}
		if next != w {
			do(name("request"), next, "")
		}
	}
	if !from.leads {
		return
	}
	if from.term < to.term {
		next := w
		next.at[i].leads, next.at[i].granted = false, 0
		do(name("defer"), next, "")
		return
	}
	for k := range from.entries + 1 {
		next := w
		n := &next.at[j]
		n.hear(from.term)
		n.granted, n.joined = 0, true
		n.follow(from, k)
		next.at[i].match[j] = max(from.match[j], k)
		if next != w {
			do(move{"append", i, j, k}, next, "")
		}
	}
}

// hear takes over a later term.
func (m *member) hear(term int8) {
	if term > m.term {
		m.term, m.vote, m.granted, m.leads = term, 0, 0, false
	}
}

// newerThan says whether m's log is at least as new as that of another one.
func (m member) newerThan(o member) bool {
	last := func(m member) (term int8) {
		if m.entries > 0 {
			term = m.log[m.entries-1]
		}
		return term
	}
	return last(m) > last(o) || last(m) == last(o) && m.entries >= o.entries
}

// follow takes over the first k entries of a leader.
func (m *member) follow(leader member, k int8) {
	for e := range k {
		if e < m.entries && m.log[e] == leader.log[e] {
			continue
		}
		m.log = [mostEntries]int8{}
		copy(m.log[:k], leader.log[:k])
		m.entries = k
		return
	}
}

// commit lets a leader commit all that a majority has.
func (w world) commit(i int8) (next world, ok bool, wrong string) {
	m := w.at[i]
	for k := m.entries; k > 0 && m.log[k-1] == m.term; k-- {
		var set uint8
		for j := range w.members {
			if m.match[j] >= k {
				set |= 1 << j
			}
		}
		if !w.majority(set) {
			continue
		}
		next = w
		for e := range k {
			if was := w.committed[e]; was != 0 && was != m.log[e] {
				return next, true, fmt.Sprintf("entry %d is committed of term %d, and of term %d before", e+1, m.log[e], was)
			}
			if next.committed[e] == 0 {
				next.committed[e], next.in[e] = m.log[e], m.term
			}
		}
		for j := range w.members {
			if next.at[j].leads && next.at[j].term > m.term {
				if wrong = next.lacks(j); wrong != "" {
					break
				}
			}
		}
		return next, next != w, wrong
	}
	return w, false, ""
}

// lacks says what a leader does not have that clients have been told.
func (w *world) lacks(i int8) string {
	m := w.at[i]
	for e, term := range w.committed {
		if term != 0 && w.in[e] < m.term && (int8(e) >= m.entries || m.log[e] != term) {
			return fmt.Sprintf("the leader of term %d lacks entry %d, which was committed in term %d", m.term, e+1, w.in[e])
		}
	}
	return ""
}

func (w *world) inquiry(i int8) inquiry {
	m := w.at[i]
	return inquiry{peers: int(w.members) - 1, rounds: int(m.rounds), heard: uint64(m.heard), highest: uint64(m.highest)}
}

// place is j among the peers of i.
func place(i, j int8) int {
	if j > i {
		j--
	}
	return int(j)
}

func (w *world) asks(r rules, i, j int8) bool {
	q := w.inquiry(i)
	return q.missing(place(i, j)) && w.at[j].term < r.terms
}

func (w world) ask(r rules, i, j int8) world {
	q := w.inquiry(i)
	q.hear(place(i, j), uint64(w.at[j].term))
	m := &w.at[i]
	m.rounds, m.heard, m.highest = int8(q.rounds), uint8(q.heard), int8(q.highest)
	begin, known := r.begin(q)
	switch {
	case r.infers && q.highest <= 1 && w.majority(uint8(q.heard)|1<<(w.members-1)):
		*m = member{term: 1, joined: true}
	case known:
		*m = member{term: int8(begin), begin: max(int8(begin), 1)}
	}
	return w
}

// explore makes all moves, and returns a shortest way to something wrong; nil if there is none.
func explore(t *testing.T, r rules, from world) (way []string) {
	t.Helper()
	type step struct {
		before int
		move   move
	}
	seen, worlds, steps := map[world]struct{}{from: {}}, []world{from}, []step{{}}
	for at := 0; at < len(worlds) && way == nil; at++ {
		worlds[at].moves(r, func(m move, next world, wrong string) {
			if wrong != "" && way == nil {
				way = []string{m.String(), wrong}
				for s := steps[at]; s.move.verb != ""; s = steps[s.before] {
					way = append([]string{s.move.String()}, way...)
				}
			}
			if _, known := seen[next]; !known {
				seen[next] = struct{}{}
				worlds, steps = append(worlds, next), append(steps, step{at, m})
			}
		})
	}
	t.Logf("%d states", len(seen))
	return way
}

func TestAServerThatForgotHarmsNothing(t *testing.T) {
	if way := explore(t, rightRules(), founded(3)); way != nil {
		t.Errorf("this goes wrong:\n%s", strings.Join(way, "\n"))
	}
}

func TestEveryRuleOfRecoveryIsNeeded(t *testing.T) {
	for name, worse := range map[string]func(*rules){
		"a majority that has seen no election founds": func(r *rules) { r.infers = true },
		"one answer of two is enough":                 func(r *rules) { r.begin = over(func(q inquiry) bool { return q.heard != 0 }) },
		"it begins in the highest term": func(r *rules) {
			r.begin = func(q inquiry) (uint64, bool) { _, known := q.begin(); return q.highest, known }
		},
		"it votes when it has applied anything": func(r *rules) { r.votes = func(_, _ uint64) bool { return true } },
	} {
		t.Run(name, func(t *testing.T) {
			r := rightRules()
			worse(&r)
			way := explore(t, r, founded(3))
			if way == nil {
				t.Fatal("nothing goes wrong")
			}
			t.Log(strings.Join(way, "\n"))
		})
	}
}

// TestFiveServersNeedEveryAnswerTwice follows, move by move, what takes too long to be explored.
func TestFiveServersNeedEveryAnswerTwice(t *testing.T) {
	// The server e votes for a in term 4, and forgets; the others are in term 2.
	begin := "stand c, request c d, request c b, win c, stand a, stand a, stand a, request a e, forget e, ask e b, ask e c, ask e d, "
	for name, tt := range map[string]struct {
		known func(inquiry) bool
		way   string
	}{
		"the candidate is not asked": {
			func(q inquiry) bool { return bits.OnesCount64(q.heard) == 3 },
			"stand d, request d c, request d b, win d, propose d, append d c 1, append d e 1, commit d, request a b, win a",
		},
		"the candidate has forgotten before it is asked": {
			func(q inquiry) bool { return q.rounds == 1 },
			"stand d, request d c, request d b, win d, propose d, append d c 1, request a b, win a, " +
				"propose a, append a b 1, append a c 1, commit a, forget a, ask e a, append d e 1, commit d",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rightRules()
			r.terms, r.forgets = 5, 2
			way := strings.Split(begin+tt.way, ", ")
			if left, wrong := follow(r, founded(5), way); wrong != "" || len(left) == 0 {
				t.Errorf("as it is: wrong: %q, moves that are not possible: %q", wrong, left)
			}
			r.begin = over(tt.known)
			if left, wrong := follow(r, founded(5), way); wrong == "" {
				t.Errorf("without the rule nothing goes wrong; moves that are not possible: %q", left)
			}
		})
	}
}

// follow makes the moves until one is not possible, or something goes wrong.
func follow(r rules, w world, way []string) (left []string, wrong string) {
	for i, name := range way {
		var next *world
		w.moves(r, func(possible move, to world, bad string) {
			if possible.String() == name {
				next, wrong = &to, bad
			}
		})
		if next == nil || wrong != "" {
			return way[i:], wrong
		}
		w = *next
	}
	return nil, ""
}

// TestAnOldEntryIsNotEnough: a server that began in a later term than that of its last entry does not vote yet.
func TestAnOldEntryIsNotEnough(t *testing.T) {
	s, err := Start(t.Context(), Config{
		Name: "a", ClientAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", Settings: Settings{Store: StoreMemory}, Founds: true,
	})
	must.Do(t, err)
	defer func() { must.Do(t, s.Close()) }()
	r := s.raft.Load()
	locktest.Eventually(t, "the server leads and has applied an entry of its term", func() bool {
		return s.status().Serving && s.caughtUp(r, s.status().Term)
	})
	if s.caughtUp(r, s.status().Term+1) {
		t.Error("it would vote without an entry of the term in which it began")
	}
}
