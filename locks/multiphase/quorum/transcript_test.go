package quorum

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/locks/peerlock/peercore"
)

var rewrite = flag.Bool("rewrite", false, "write what the transcripts in testdata should say")

// TestTranscripts runs the commands of every file in testdata and compares what
// happened with what stands there. A line that starts with "> " is a command:
//
//	> peers N [newborn] [view]
//	> P request        > P leave          the application
//	> P lease          > P renew          > P vote          > P recovery      that timer is over
//	> P crash                             loses its memory and its connections
//	> deliver I J      > run              the next packet from I to J; all, until none is left
//	> cut I J          > mend I J         what is on its way still arrives, then the news
//	> show                                where everybody is
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := transcribe(t, string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("%s says\n%s\nbut this happens (go test -rewrite writes it):\n%s", file, text, got)
			}
		})
	}
}

// transcribe runs the commands of a transcript and returns it with what they give.
func transcribe(t *testing.T, text string) string {
	var out strings.Builder
	var w *world
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		command, isCommand := strings.CutPrefix(line, "> ")
		if !isCommand {
			if line == "" || strings.HasPrefix(line, "#") {
				fmt.Fprintln(&out, line)
			}
			continue // what a command gave before
		}
		fmt.Fprintln(&out, line)
		fields := strings.Fields(command)
		if fields[0] == "peers" {
			n := number(t, fields[1])
			w = newWorld(&scope{
				peers: n, requests: make([]int, n), newborn: slices.Contains(fields, "newborn"),
				options: Options{View: slices.Contains(fields, "view")},
			})
			w.effects = func(peer int, e Effect) { fmt.Fprintf(&out, "  %d: %s\n", peer, tell(e)) }
			continue
		}
		if w == nil {
			t.Fatalf("%q comes before peers", line)
		}
		w.obey(t, fields, &out)
		if w.wrong != "" {
			fmt.Fprintf(&out, "  wrong: %s\n", w.wrong)
		}
	}
	return out.String()
}

func tell(e Effect) string {
	if e.Kind == peercore.Hold {
		return fmt.Sprintf("hold %d.%d", Counter(e.Token), e.Token%(1<<rankBits))
	}
	return e.String()
}

func (w *world) obey(t *testing.T, fields []string, out *strings.Builder) {
	n := len(w.peers)
	switch fields[0] {
	case "deliver":
		i, j := number(t, fields[1]), number(t, fields[2])
		if len(w.wires[i*n+j]) == 0 {
			t.Fatalf("nothing is on its way from %d to %d after:\n%s", i, j, out)
		}
		w.takeAloud(i, j, out)
	case "run":
		for moved := true; moved; {
			moved = false
			for i := range n * n {
				for len(w.wires[i]) > 0 {
					moved = true
					w.takeAloud(i/n, i%n, out)
				}
			}
		}
	case "cut":
		i, j := number(t, fields[1]), number(t, fields[2])
		w.lose(i, j, len(w.wires[i*n+j]))
		w.lose(j, i, len(w.wires[j*n+i]))
	case "mend":
		w.mend(number(t, fields[1]), number(t, fields[2]))
	case "show":
		for i := range w.peers {
			fmt.Fprintf(out, "  %d: %s\n", i, w.peers[i].show())
		}
	default:
		w.act(t, number(t, fields[0]), fields[1])
	}
}

// act is something that happens at one peer.
func (w *world) act(t *testing.T, i int, what string) {
	timers := map[string]peercore.Timer{
		"lease": peercore.Lease, "renew": peercore.Renew, "vote": peercore.Vote, "recovery": peercore.Recovery,
	}
	timer, isTimer := timers[what]
	switch {
	case isTimer && !w.peers[i].Running(timer):
		t.Fatalf("%v of %d does not run", timer, i)
	case isTimer:
		w.step(i, Event{Kind: peercore.Expire, Timer: timer})
	case what == "crash":
		n := len(w.peers)
		w.birth(i, true)
		for j := range n {
			if j != i {
				w.lose(i, j, len(w.wires[i*n+j]))
				w.wires[j*n+i], w.current[j*n+i] = nil, false
			}
		}
	default:
		kind, known := map[string]peercore.EventKind{"request": peercore.Request, "leave": peercore.Leave}[what]
		if !known {
			t.Fatalf("unknown command %q", what)
		}
		w.step(i, Event{Kind: kind})
	}
}

func (s *State) show() string {
	vote := "free"
	if s.voted() {
		vote = fmt.Sprintf("%d's", s.vote.from)
	}
	text := fmt.Sprintf("%v, vote %s, F %d.%d, connected to %v", s.phase, vote, Counter(s.floor), s.floor%(1<<rankBits), s.connected)
	if s.recovering {
		text += ", recovering"
	}
	return text
}

func (w *world) takeAloud(i, j int, out *strings.Builder) {
	p := w.wires[i*len(w.peers)+j][0]
	what := map[byte]string{'d': "lost", 'u': "connected", 'm': p.msg.String()}[p.kind]
	fmt.Fprintf(out, "  %d <- %d: %s\n", j, i, what)
	w.take(i, j)
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
