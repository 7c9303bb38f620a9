package redlock

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Tests of the machine by tables. Times are ms.

func testRules() rules {
	return rules{n: 5, ttl: 1200 * time.Millisecond, drift: 12 * time.Millisecond, timeout: 50 * time.Millisecond, extend: true}
}

// transcript drives a machine and writes down its effects.
type transcript struct {
	machine
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func (s *transcript) on(kind eventKind, instance int, a Answer, nowMS int) string {
	var out []string
	deletes := 0
	for _, e := range s.step(event{kind: kind, instance: instance, answer: a, now: ms(nowMS)}) {
		switch e.kind {
		case effSet:
			out = append(out, fmt.Sprintf("set%d", e.instance))
		case effExtend:
			out = append(out, fmt.Sprintf("extend%d", e.instance))
		case effDelete:
			deletes++
			out = append(out, fmt.Sprintf("delete%d", e.instance))
		case effTimer:
			out = append(out, fmt.Sprintf("timer@%d", e.at/time.Millisecond))
		case effGranted:
			out = append(out, fmt.Sprintf("granted@%d", e.at/time.Millisecond))
		case effRenewed:
			out = append(out, fmt.Sprintf("renewed@%d", e.at/time.Millisecond))
		case effDenied:
			out = append(out, "denied")
		case effLost:
			out = append(out, "lost")
		case effCleared:
			out = append(out, "cleared")
		case effFreed:
			out = append(out, "freed")
		case effEnded:
			out = append(out, [...]string{"ended:ok", "ended:not-held", "ended:unknown"}[e.result])
		}
	}
	return strings.Join(out, " ")
}

// step is an event at each of the instances, "024" for example, or none. All but the last
// must have no effects.
type step struct {
	kind      eventKind
	instances string
	answer    Answer
	atMS      int
	want      string
}

const all = "delete0 delete1 delete2 delete3 delete4"

func TestMachine(t *testing.T) {
	begin := step{evBegin, "", 0, 0, "set0 set1 set2 set3 set4 timer@50"}
	granted := []step{
		begin,
		{evSet, "012", Yes, 3, "granted@1188 timer@403"},
	}
	sequential := testRules()
	sequential.sequential = true
	noExtend := testRules()
	noExtend.extend = false
	tests := []struct {
		name  string
		rules rules
		steps []step
	}{
		{"granted at the quorum's last yes, whatever the others say later", testRules(), append(granted,
			step{evSet, "3", No, 4, ""},
			step{evSet, "4", Yes, 4, ""},
			step{evRelease, "", 0, 10, all + " timer@60"},
			step{evDeleted, "014", Yes, 11, "ended:ok"},
			step{evDeleted, "3", No, 12, ""},
		)},
		{"denied as soon as no quorum is possible, and deleted everywhere", testRules(), []step{
			begin,
			{evSet, "0", No, 1, ""},
			{evSet, "1", Yes, 2, ""},
			{evSet, "23", No, 4, "denied " + all + " freed"},
		}},
		{"a late yes after the denial is deleted", testRules(), []step{
			begin,
			{evSet, "012", No, 1, "denied " + all + " freed"},
			{evDeleted, "3", No, 2, ""}, // overtook SET
			{evSet, "3", Yes, 3, "delete3"},
			{evDeleted, "3", Yes, 4, ""},
			{evSet, "4", Yes, 5, ""}, // a deletion is out already
			{evDeleted, "4", Yes, 6, ""},
		}},
		{"instances that are late count as silent; what they may carry is unknown", testRules(), []step{
			begin,
			{evSet, "01", Yes, 1, ""},
			{evTick, "", 0, 49, "timer@50"},
			{evTick, "", 0, 50, "denied " + all},
			{evDeleted, "01", Yes, 51, ""}, // three are silent: a quorum
			{evSet, "2", No, 52, "freed"},
		}},
		{"an acquisition that took too long is none", testRules(), []step{
			begin,
			{evSet, "01", Yes, 2, ""},
			{evSet, "2", Yes, 1188, "denied " + all},
		}},
		{"validity counts from the asking, not from the answers", testRules(), []step{
			begin,
			{evSet, "01", Yes, 2, ""},
			{evSet, "2", Yes, 1187, "granted@1188 timer@1188"},
			{evTick, "", 0, 1188, "lost"},
			{evSet, "3", Yes, 1189, ""}, // deleted with the others, once the holder has noticed
			{evTick, "", 0, 1199, ""},
			{evRelease, "", 0, 1200, all},
			{evRelease, "", 0, 1201, ""},
		}},
		{"in sequence: the next after the answer or the timeout of the one before", sequential, []step{
			{evBegin, "", 0, 0, "set0 timer@50"},
			{evSet, "0", Yes, 10, "set1 timer@60"},
			{evTick, "", 0, 50, "timer@60"},
			{evTick, "", 0, 60, "set2 timer@110"},
			{evSet, "2", Yes, 70, "set3 timer@120"},
			{evSet, "3", Yes, 75, "set4 timer@125"}, // three said yes, and still all are asked
			{evSet, "4", No, 80, "granted@1188 timer@480"},
			{evRelease, "", 0, 90, all + " timer@140"},
		}},
		{"in sequence: a silent last instance does not undo a quorum", sequential, []step{
			{evBegin, "", 0, 0, "set0 timer@50"},
			{evSet, "0", Yes, 1, "set1 timer@51"},
			{evSet, "1", Yes, 2, "set2 timer@52"},
			{evSet, "2", Yes, 3, "set3 timer@53"},
			{evSet, "3", Yes, 4, "set4 timer@54"},
			{evTick, "", 0, 54, "granted@1188 timer@454"},
		}},
		{"in sequence: all are asked also when it is decided", sequential, []step{
			{evBegin, "", 0, 0, "set0 timer@50"},
			{evSet, "0", No, 1, "set1 timer@51"},
			{evSet, "1", No, 2, "set2 timer@52"},
			{evSet, "2", No, 3, "set3 timer@53"},
			{evSet, "3", Yes, 4, "set4 timer@54"},
			{evSet, "4", Yes, 5, "denied " + all + " freed"},
		}},
		{"in sequence: nobody is asked after the validity", sequential, []step{
			{evBegin, "", 0, 0, "set0 timer@50"},
			{evSet, "0", Yes, 1, "set1 timer@51"},
			{evSet, "1", Yes, 1188, "denied delete0 delete1 freed"},
		}},
		{"extended by a quorum, counted from the start of the extension", testRules(), append(granted,
			step{evTick, "", 0, 403, "extend0 extend1 extend2 extend3 extend4 timer@453"},
			step{evExtended, "34", No, 405, ""}, // never had it
			step{evExtended, "012", Yes, 407, "renewed@1591 timer@807"},
		)},
		{"an extension without a quorum is repeated until the validity ends", testRules(), append(granted,
			step{evTick, "", 0, 403, "extend0 extend1 extend2 extend3 extend4 timer@453"},
			step{evExtended, "01", Yes, 405, ""},
			step{evTick, "", 0, 453, "timer@478"},
			step{evTick, "", 0, 478, "extend0 extend1 extend2 extend3 extend4 timer@528"},
			step{evExtended, "2", Yes, 479, ""}, // of the round before: not counted
			step{evExtended, "01", Yes, 480, ""},
			step{evTick, "", 0, 1188, "lost"},
			step{evExtended, "2", Yes, 1189, ""},
			step{evRelease, "", 0, 1200, all},
		)},
		{"a lease ends as soon as a majority lost the key", testRules(), append(granted,
			step{evTick, "", 0, 403, "extend0 extend1 extend2 extend3 extend4 timer@453"},
			step{evExtended, "012", No, 405, "lost " + all},
		)},
		{"an extension that is answered after the release changes nothing", testRules(), append(granted,
			step{evTick, "", 0, 403, "extend0 extend1 extend2 extend3 extend4 timer@453"},
			step{evRelease, "", 0, 405, all + " timer@455"},
			step{evExtended, "0", Yes, 406, ""},
			step{evExtended, "1", Unknown, 406, ""},
			step{evDeleted, "012", Yes, 407, "ended:ok"},
			step{evExtended, "2", Yes, 408, ""},
		)},
		{"without extension the lease just ends", noExtend, []step{
			begin,
			{evSet, "012", Yes, 3, "granted@1188 timer@1188"},
			{evTick, "", 0, 1188, "lost"},
			{evRelease, "", 0, 1190, all},
		}},
		{"a release that finds a quorum gone says so", testRules(), append(granted,
			step{evSet, "34", No, 4, ""},
			step{evRelease, "", 0, 10, all + " timer@60"},
			step{evDeleted, "0", No, 11, ""},
			step{evDeleted, "12", Yes, 11, "ended:not-held"},
		)},
		{"a release without a quorum of answers is unknown", testRules(), append(granted,
			step{evSet, "34", Yes, 4, ""},
			step{evRelease, "", 0, 10, all + " timer@60"},
			step{evDeleted, "01", Yes, 11, ""},
			step{evTick, "", 0, 60, "ended:unknown"},
		)},
		{"a release without a quorum of answers is fine if too few can carry the key", testRules(), append(granted,
			step{evSet, "34", Unsent, 4, ""},
			step{evRelease, "", 0, 10, "delete0 delete1 delete2 timer@60"},
			step{evDeleted, "0", Yes, 11, ""},
			step{evTick, "", 0, 60, "ended:ok"},
		)},
		{"closing loses what is held", testRules(), append(granted,
			step{evClose, "", 0, 10, "lost " + all},
		)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := transcript{newMachine(tt.rules)}
			for i, st := range tt.steps {
				instances := cmp.Or(st.instances, "0")
				for j, instance := range instances {
					want := ""
					if j == len(instances)-1 {
						want = st.want
					}
					if got := s.on(st.kind, int(instance-'0'), st.answer, st.atMS); got != want {
						t.Fatalf("step %d, instance %c: got %q, want %q", i, instance, got, want)
					}
				}
			}
		})
	}
}
