package check_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/workloads/history"
	"locklab/workloads/loadgen"
	"locklab/workloads/result"
)

// drawing is the first part of a transcript: a header of "key: value" lines, and lanes, which
// are the words that say what a lane is, "|", and a mark for each column of time. A mark stands
// for the moment at which its column begins; "." and blanks stand for nothing.
//
//	m1 r              |  -[==]     the client of a master: - asks  [ granted  ] released  ) release not answered
//	                               ! loss noticed  x refused  ? unknown  c called off  n not sent; and by its last
//	                               hold: r reads  w writes  W write refused  u was not told of its write  m its write is missing
//	canary m1         |  ++xx++    + granted every 100 ms  x refused so
//	requests m1 g     |  +xc       one in each column: + served  x failed  c called off  n not sent
//	room R w1 m1 g    |  L>sa o f  L m1 looks  > orders  s w1 starts it  a answered  o open  f full  c closed
//	node m1           |  K  S      K killed  S started  P paused  R resumed  X exited  U suspended  C continued  L lost
//	fault partition   |  b===h-e   a asked, if before  b began  h order to heal  e ended  ! heals itself
//	                               u unproven  g what it killed is gone for good
//	machine h  usage m1  |  ====   a sample from the first column to the last
//
// Words with "=" say more: t=5,6 are the tokens of the holds in their order, err=20 the error of
// the clock in milliseconds, kind= of failures, from= to= nodes= target= and the planned for= of faults, and so on.
type drawing struct {
	head    history.Run
	col     int64 // nanoseconds
	events  []history.Event
	lanes   int
	players int
	rooms   map[string]history.Event // that are not closed, by name
	first   int64                    // the time of the first column
	drain   int64                    // on the clock of the run
	cut     bool                     // it has no end
	alone   bool                     // masters do nothing but what is drawn
	show    []string
}

const (
	millisecond = int64(time.Millisecond)
	// zero is when the measured part begins.
	zero = 10 * int64(time.Second)
	// missing is the state of a write that was done and is not on record.
	missing = "missing"
)

func draw(t *testing.T, text string) *drawing {
	t.Helper()
	d := &drawing{col: 100 * millisecond, first: zero, drain: zero, rooms: map[string]history.Event{}, head: history.Run{
		Schema: history.Schema, Lock: "mine", Scenario: "drawn", Workload: history.Mutex, Seed: 1, Repeat: 1, WarmupNS: int64(time.Second),
		NodeHosts: map[string]string{}, HostZones: map[string]string{}, Expect: &history.Expect{},
	}}
	nodes := "m1@a m2@b w1@a w2@b"
	for n, line := range strings.Split(text, "\n") {
		words, marks, lane := strings.Cut(line, "|")
		key, value, header := strings.Cut(words, ": ")
		fine := true
		switch {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case header && key == "nodes":
			nodes = value
		case header:
			fine = d.header(key, value)
		default:
			fine = lane && d.lane(strings.Fields(words), strings.TrimRight(marks, " "))
		}
		if !fine {
			t.Fatalf("line %d: %q is no header and no lane", n+1, line)
		}
	}
	d.finish(strings.Fields(nodes))
	return d
}

func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err) // tells the transcript's author
	}
	return f
}

func millis(s string) int64 { return int64(number(cmp.Or(s, "0")) * float64(millisecond)) }

func (d *drawing) header(key, value string) bool {
	head := &d.head
	if ns := map[string]*int64{"column": &d.col, "begins": &d.first, "drain": &d.drain, "lease": &head.LeaseNS, "second": &head.SecondNS}[key]; ns != nil {
		if *ns = millis(value); key == "begins" || key == "drain" { // since the measured part began
			*ns += zero
		}
		return true
	}
	switch key {
	case "workload":
		if head.Workload = value; value == history.Matchmaking {
			head.Seats, head.OfferedPS = 4, 1
		}
	case "offered":
		head.OfferedPS = number(value)
	case "program":
		head.Program = &history.Program{Servers: strings.Fields(value)}
	case "planned": // but not drawn
		head.Planned = append(head.Planned, history.Planned{ID: value, Fault: value})
	case "given-up":
		d.add(history.Event{Kind: history.KindGivenUp, AtNS: zero, Error: value})
	case "alone":
		d.alone = true
	case "cut":
		d.cut = true
	case "show":
		d.show = strings.Fields(value)
	case "expect":
		for word := range strings.FieldsSeq(value) {
			switch name, share, _ := strings.Cut(word, "="); name {
			case result.Safe, result.Unsafe:
				head.Expect.Safety = name
			case "outside":
				head.Expect.Availability.Outside = number(share)
			case "during":
				head.Expect.Availability.During = number(share)
			default:
				head.Expect.Liveness = append(head.Expect.Liveness, name)
			}
		}
	default:
		return false
	}
	return true
}

func (d *drawing) add(e ...history.Event) { d.events = append(d.events, e...) }

// lane is one while it is read.
type lane struct {
	*drawing
	n     int
	words [4]string         // "" if it has fewer
	with  map[string]string // words with "="
	marks string
	err   int64
	holds int    // of its client, so far
	hold  string // the last of them
}

func (d *drawing) lane(words []string, marks string) bool {
	d.lanes++
	l := lane{drawing: d, n: d.lanes, with: map[string]string{}, marks: marks}
	n := 0
	for _, w := range words {
		if key, value, is := strings.Cut(w, "="); is {
			l.with[key] = value
		} else if n < len(l.words) {
			l.words[n] = w
			n++
		}
	}
	l.err = millis(l.with["err"])
	take := map[string]func(i int, at int64, mark byte) bool{
		"canary": l.canary, "requests": l.request, "room": l.room, "node": l.node, "fault": l.fault, "machine": nil, "usage": nil,
	}
	kind, known := take[l.words[0]]
	if !known {
		kind = l.client
	}
	d.drain = max(d.drain, l.at(len(marks)))
	if known && kind == nil {
		l.sample(l.at(strings.IndexByte(marks, '=')), l.at(strings.LastIndexByte(marks, '=')+1))
		return true
	}
	for i := range len(marks) {
		if !strings.ContainsRune(" .=-", rune(marks[i])) && !kind(i, l.at(i), marks[i]) {
			return false
		}
	}
	return n > 0
}

func (l *lane) at(column int) int64 { return l.first + int64(column)*l.col }

// outcome is how an operation ended, in the words of package history.
func (l *lane) outcome(mark byte) (outcome, kind string, known bool) {
	is, known := map[byte][2]string{
		'[': {"ok", ""}, '+': {"ok", ""}, 'x': {"failed", cmp.Or(l.with["kind"], "timeout")}, '?': {"unknown", "unknown"},
		'c': {"failed", loadgen.ErrorCalledOff}, 'n': {"failed", loadgen.ErrorNotSent},
	}[mark]
	return is[0], is[1], known
}

// client is a client of a master. It asked where the dashes before an answer begin.
func (l *lane) client(i int, at int64, mark byte) (known bool) {
	e := history.Event{Node: l.words[0], Client: fmt.Sprint(l.words[0], "/c", l.n), Resource: l.words[1], AtNS: at, ErrNS: l.err}
	if mark == '[' {
		l.holds++
		l.hold = fmt.Sprint(l.words[0], "-", l.n, "-", l.holds)
	}
	e.Hold = l.hold
	if tokens := strings.Split(l.with["t"], ","); l.holds > 0 && l.holds <= len(tokens) {
		e.Token = uint64(number(cmp.Or(tokens[l.holds-1], "0")))
	}
	ends := map[byte]history.Kind{']': history.KindRelease, ')': history.KindReleasing, '!': history.KindLost}
	writes := map[byte]string{'r': "", 'w': history.WriteAccepted, 'W': history.WriteRefused, 'u': history.WriteUnknown, 'm': missing}
	if e.Kind, known = ends[mark]; known {
		if mark == ']' {
			e.FromNS, e.AtNS, e.Outcome = at, at+min(millisecond, l.col/2), "ok"
		}
	} else if e.State, known = writes[mark]; known {
		e.Kind, e.Client = history.KindWrite, e.Node
		if mark != 'u' { // only its writer can record that
			e.Node = "w1"
		}
		if mark == 'r' {
			e.Kind = history.KindRead
		}
	} else {
		from := i
		for from > 0 && l.marks[from-1] == '-' {
			from--
		}
		e.Kind, e.FromNS, e.SentNS = history.KindAcquire, l.at(from), l.at(from)
		if mark != '[' {
			e.Hold, e.Token = "", 0
		}
		e.Outcome, e.Error, known = l.outcome(mark)
	}
	l.add(e)
	return known
}

func (l *lane) canary(_ int, at int64, mark byte) bool {
	outcome, kind, known := l.outcome(mark)
	for from := at; from < at+l.col; from += 100 * millisecond {
		l.add(history.Event{
			Kind: history.KindAcquire, Node: l.words[1], Client: "canary", Resource: history.CanaryPrefix + l.words[1],
			FromNS: from, AtNS: from + millisecond, Outcome: outcome, Error: kind,
		})
	}
	return known
}

func (l *lane) request(_ int, at int64, mark byte) bool {
	e := history.Event{Kind: history.KindMatch, Node: l.words[1], Resource: l.words[2], Client: fmt.Sprint("p", l.players), FromNS: at, SentNS: at, AtNS: at + millisecond}
	known := false
	e.Outcome, e.Error, known = l.outcome(mark)
	l.players++
	l.add(e)
	return known
}

// room is one with the order behind it, under a hold of the master from before its look until
// the order is answered.
func (l *lane) room(_ int, at int64, mark byte) bool {
	room, worker, master, group := l.words[1], l.words[2], l.words[3], cmp.Or(l.with["group"], "g")
	held := history.Event{
		Kind: history.KindAcquire, Node: master, Client: master + "/" + room, Resource: group, Hold: "h-" + room,
		FromNS: at - 2*millisecond, SentNS: at - 2*millisecond, AtNS: at - millisecond, Outcome: "ok",
	}
	state := map[byte]string{'s': "starting", 'o': "open", 'f': "full", 'c': "closed"}[mark]
	switch mark {
	case 'L':
		l.add(held)
	case '>':
	case 'a':
		e := history.Event{
			Kind: history.KindOrder, Node: master, Resource: group, Order: "o-" + room, Room: room, Hold: held.Hold, Worker: worker, Outcome: "ok",
			FromNS: l.at(strings.IndexByte(l.marks, 'L')), SentNS: l.at(strings.IndexByte(l.marks, '>')), AtNS: at, ErrNS: l.err,
		}
		if l.with["unreachable"] != "" {
			e.Unreachable = strings.Split(l.with["unreachable"], ",")
		}
		held.Kind, held.FromNS, held.SentNS, held.AtNS = history.KindRelease, at+millisecond, 0, at+2*millisecond
		l.add(e, held)
	default:
		e := history.Event{Kind: history.KindRoom, AtNS: at, ErrNS: l.err, Node: worker, Client: master, Resource: group, Room: room, Order: "o-" + room, State: state}
		if l.rooms[room] = e; mark == 'c' {
			delete(l.rooms, room)
		}
		l.add(e)
		return state != ""
	}
	return true
}

func (l *lane) node(_ int, at int64, mark byte) bool {
	e := history.Event{Kind: history.KindNode, Node: l.words[1], Host: "h" + l.words[1], AtNS: at, Error: l.with["why"]}
	e.State = map[byte]string{
		'K': history.NodeKilled, 'S': history.NodeStarted, 'P': history.NodePaused, 'R': history.NodeResumed, 'X': history.NodeExited,
		'L': history.NodeLost,
	}[mark]
	if mark == 'K' {
		e.FromNS = at - millisecond
	}
	l.add(e)
	return e.State != ""
}

func (l *lane) fault(i int, at int64, mark byte) bool {
	list := func(key, prefix string) (names []string) {
		for name := range strings.FieldsFuncSeq(l.with[key], func(r rune) bool { return r == ',' }) {
			names = append(names, prefix+name)
		}
		return names
	}
	e := history.Event{
		Kind: history.KindFault, ID: fmt.Sprint("f", l.n), Fault: l.words[1], Target: l.with["target"], AtNS: at,
		From: list("from", "h"), To: list("to", "h"), Nodes: list("nodes", ""), DelayNS: millis(l.with["delay"]),
	}
	states := map[byte][]string{'a': {"asked"}, 'b': {"began"}, 'h': {"heal-asked"}, 'e': {"ended"}, '!': {"began", "heal-asked"}, 'u': {"unproven"}, 'g': {"away"}}[mark]
	if n := strings.IndexAny(l.marks, "b!"); n == i && l.with["unasked"] == "" {
		if !strings.Contains(l.marks, "a") {
			states = append([]string{"asked"}, states...)
		}
		until := max(strings.IndexByte(l.marks, 'h'), n)
		l.head.Planned = append(l.head.Planned, history.Planned{ID: e.ID, Fault: e.Fault, Target: e.Target, AtNS: at - zero, ForNS: cmp.Or(millis(l.with["for"]), l.at(until)-at)})
	}
	for _, e.State = range states {
		l.add(e)
	}
	return len(states) > 0
}

// sample is of a machine, or of what a node used: cpus=2 busy=0.5 run=0.3 wait=0.1 are shares of
// the time, late=20 and fsync=5 milliseconds, memory=100 MiB.
func (l *lane) sample(from, to int64) {
	part := func(key string) *int64 {
		if l.with[key] == "" {
			return nil
		}
		n := int64(number(l.with[key]) * float64(to-from))
		return &n
	}
	e := history.Event{Kind: history.KindMachine, Host: l.words[1], FromNS: from, AtNS: to}
	if l.words[0] == "machine" {
		e.Machine = &history.Machine{CPUs: int(number(cmp.Or(l.with["cpus"], "2"))), BusyNS: *cmp.Or(part("busy"), new(int64)), RunNS: *cmp.Or(part("run"), new(int64)), WaitNS: *cmp.Or(part("wait"), new(int64)), LateNS: millis(l.with["late"])}
	} else {
		memory := int64(number(cmp.Or(l.with["memory"], "0"))) << 20
		e.Kind, e.Host, e.Usage = history.KindUsage, "h"+l.words[1], []history.Usage{{Node: l.words[1], CPUNS: part("cpu"), MemoryBytes: &memory, InBytes: part("in"), OutBytes: part("in")}}
	}
	l.add(e)
}

// finish adds what every run has: nodes that live from before it until after it, the end of
// rooms, samples of a machine that is idle, and phases.
func (d *drawing) finish(nodes []string) {
	slices.SortStableFunc(d.events, func(a, b history.Event) int { return cmp.Compare(a.AtNS, b.AtNS) })
	end := d.drain + 100*millisecond
	last, machines := map[string]string{}, 0
	version, read := map[string]uint64{}, map[string]uint64{} // by resource, by hold
	for i := range d.events {
		switch e := &d.events[i]; e.Kind {
		case history.KindNode:
			last[e.Node] = e.State
			maps.DeleteFunc(d.rooms, func(_ string, room history.Event) bool {
				return history.NodeEnds(e.State) && room.Node == e.Node && room.AtNS < e.AtNS
			})
		case history.KindMachine:
			machines++
		case history.KindRead:
			read[e.Hold] = version[e.Resource]
			e.Version = version[e.Resource]
		case history.KindWrite:
			if e.Base = read[e.Hold]; e.State == history.WriteAccepted {
				version[e.Resource]++
			}
			if e.State == missing {
				version[e.Resource]++
			}
			if e.Version = version[e.Resource]; e.State == history.WriteUnknown {
				e.Version = 0
			}
		}
	}
	d.events = slices.DeleteFunc(d.events, func(e history.Event) bool { return e.State == missing })
	for _, name := range nodes {
		node, zone, _ := strings.Cut(name, "@")
		d.head.NodeHosts[node], d.head.HostZones["h"+node] = "h"+node, zone
		e := history.Event{Kind: history.KindNode, Node: node, Host: "h" + node, State: history.NodeStarted, AtNS: millisecond}
		d.add(e)
		if !d.cut && !history.NodeEnds(last[node]) {
			e.State, e.FromNS, e.AtNS = history.NodeStopped, d.drain+50*millisecond, d.drain+60*millisecond
			d.add(e)
		}
	}
	for _, e := range d.rooms {
		if e.State, e.AtNS = "closed", d.drain+50*millisecond; !d.cut {
			d.add(e)
		}
	}
	if machines == 0 {
		d.add(history.Event{Kind: history.KindMachine, FromNS: millisecond, AtNS: d.drain + 90*millisecond, Machine: &history.Machine{CPUs: 2}})
	}
	d.masters()
	d.head.DurationNS = d.drain - zero
	run := history.Event{Kind: history.KindRun, AtNS: 1, Run: &d.head}
	d.events = append([]history.Event{run}, d.events...)
	phases := []string{history.PhaseWarmup, history.PhaseMeasure, history.PhaseDrain, history.PhaseEnd}
	for i, at := range []int64{zero - int64(time.Second), zero, d.drain, end} {
		if i < 2 || !d.cut {
			d.add(history.Event{Kind: history.KindPhase, State: phases[i], AtNS: at})
		}
	}
}

// masters adds what all masters do to the end, but for "alone: yes": those that are not drawn have the
// canaries of the first one that is, and a client asks, and is called off. Without any, all canaries are granted.
func (d *drawing) masters() {
	canaries, others := map[string][]history.Event{}, map[string]bool{}
	first := ""
	for _, e := range d.events {
		if e.Kind == history.KindAcquire && strings.HasPrefix(e.Resource, history.CanaryPrefix) {
			canaries[e.Node] = append(canaries[e.Node], e)
			first = cmp.Or(first, e.Node)
		} else if e.Kind == history.KindAcquire {
			others[e.Node] = true
		}
	}
	if d.alone {
		return
	}
	drawn := canaries[first]
	for at := zero; first == "" && at < d.drain; at += 100 * millisecond {
		drawn = append(drawn, history.Event{Kind: history.KindAcquire, Client: "canary", FromNS: at, AtNS: at + millisecond, Outcome: "ok"})
	}
	for _, master := range slices.Sorted(maps.Keys(others)) {
		if first != "" {
			d.add(history.Event{
				Kind: history.KindAcquire, Node: master, Client: master + "/last", Resource: "last", Outcome: "failed",
				Error: loadgen.ErrorCalledOff, FromNS: d.drain - 2*millisecond, AtNS: d.drain - millisecond,
			})
		}
		for _, e := range drawn {
			if e.Node, e.Resource = master, history.CanaryPrefix+master; canaries[master] == nil {
				d.add(e)
			}
		}
	}
}
