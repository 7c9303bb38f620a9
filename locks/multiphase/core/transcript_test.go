package core_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"locklab/locks/multiphase/core"
)

var rewrite = flag.Bool("rewrite", false, "write what the transcripts in testdata should say")

// TestTranscripts runs the commands of every file in testdata and compares what
// happened with what stands there. A line that starts with "> " is a command:
//
//	> peers N [off=fair,view,rounds] [rule=literal] [apart]
//	> P request        > P leave          the application
//	> deliver I J      > run              the next token from I to J; all, until none is left
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
			w = newWorld(parseScope(t, fields[1:]))
			w.effects = func(peer int, e core.Effect) { fmt.Fprintf(&out, "  %d: %v\n", peer, e) }
			continue
		}
		if w == nil {
			t.Fatalf("%q comes before peers", line)
		}
		w.obey(t, fields, &out)
	}
	return out.String()
}

func parseScope(t *testing.T, fields []string) *scope {
	n := number(t, fields[0])
	sc := &scope{peers: n, requests: make([]int, n), options: core.DefaultOptions()}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "apart":
			sc.forming = true
		case "rule":
			sc.options.Rule = core.RuleLiteral
		case "off":
			for rule := range strings.SplitSeq(value, ",") {
				*map[string]*bool{"fair": &sc.options.Fair, "view": &sc.options.View, "rounds": &sc.options.Rounds}[rule] = false
			}
		default:
			t.Fatalf("unknown option %q", f)
		}
	}
	return sc
}

func (w *world) obey(t *testing.T, fields []string, out *strings.Builder) {
	n := len(w.peers)
	switch fields[0] {
	case "deliver":
		i, j := number(t, fields[1]), number(t, fields[2])
		if len(w.wires[i*n+j]) == 0 {
			t.Fatalf("nothing is on its way from %d to %d after:\n%s", i, j, out)
		}
		w.deliverTo(i, j, out)
	case "run":
		for moved := true; moved; {
			moved = false
			for i := range n * n {
				for len(w.wires[i]) > 0 {
					moved = true
					w.deliverTo(i/n, i%n, out)
				}
			}
		}
	case "cut", "mend":
		i, j := number(t, fields[1]), number(t, fields[2])
		if fields[0] == "cut" {
			w.lose(i, j, len(w.wires[i*n+j]))
			w.lose(j, i, len(w.wires[j*n+i]))
			return
		}
		w.wires[i*n+j] = append(w.wires[i*n+j], token{kind: 'u'})
		w.wires[j*n+i] = append(w.wires[j*n+i], token{kind: 'u'})
	case "show":
		for i := range w.peers {
			fmt.Fprintf(out, "  %d: %v, connected to %v\n", i, w.peers[i].Phase(), w.peers[i].Connected())
		}
	default:
		kind := map[string]core.EventKind{"request": core.Request, "leave": core.Leave}[fields[1]]
		w.step(number(t, fields[0]), core.Event{Kind: kind})
	}
}

func (w *world) deliverTo(i, j int, out *strings.Builder) {
	n := len(w.peers)
	token := w.wires[i*n+j][0]
	what := map[byte]string{'d': "lost", 'u': "connected", 'm': token.msg.String()}[token.kind]
	fmt.Fprintf(out, "  %d <- %d: %s\n", j, i, what)
	_, next := w.deliver(i, j)
	*w = *next
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
