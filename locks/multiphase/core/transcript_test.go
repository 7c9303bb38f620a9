package core_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/locks/explore"
	"locklab/locks/multiphase"
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

// walk is what a transcript goes through.
type walk = explore.Walk[core.State, core.Message, *core.State]

// transcribe runs the commands of a transcript and returns it with what they give.
func transcribe(t *testing.T, text string) string {
	var out strings.Builder
	var w *walk
	peers := 0
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
			w, peers = parseScope(t, fields[1:])
			w.Effects = func(peer int, e core.Effect) { fmt.Fprintf(&out, "  %d: %v\n", peer, e) }
			continue
		}
		if w == nil {
			t.Fatalf("%q comes before peers", line)
		}
		obey(t, w, peers, fields, &out)
	}
	return out.String()
}

func parseScope(t *testing.T, fields []string) (w *walk, peers int) {
	sc := explore.Scope{
		Peers: number(t, fields[0]), Rounds: explore.Any, GiveUps: explore.Any, Cuts: 100, Mends: explore.Any,
	}
	options := core.DefaultOptions()
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "apart":
			sc.Forming = true
		case "rule":
			options.Rule = core.RuleLiteral
		case "off":
			for rule := range strings.SplitSeq(value, ",") {
				*map[string]*bool{"fair": &options.Fair, "view": &options.View, "rounds": &options.Rounds}[rule] = false
			}
		default:
			t.Fatalf("unknown option %q", f)
		}
	}
	w, err := explore.NewWalk(multiphase.Options{Rules: options}.Algorithm(), sc)
	if err != nil {
		t.Fatal(err)
	}
	return w, sc.Peers
}

func obey(t *testing.T, w *walk, peers int, fields []string, out *strings.Builder) {
	switch fields[0] {
	case "deliver":
		i, j := number(t, fields[1]), number(t, fields[2])
		take(t, w, out, func(m explore.Move) bool {
			return m.Kind == explore.Deliver && int(m.From) == i && int(m.Peer) == j
		})
	case "run":
		for moved := true; moved; {
			moved = false
			for i := range peers * peers {
				for deliver(w, i/peers, i%peers, out) {
					moved = true
				}
			}
		}
	case "cut", "mend":
		i, j := number(t, fields[1]), number(t, fields[2])
		kind := map[string]explore.MoveKind{"cut": explore.Cut, "mend": explore.Mend}[fields[0]]
		var last explore.Move
		for _, m := range w.Moves() {
			if m.Kind == kind && min(m.Peer, m.From) == int8(min(i, j)) && max(m.Peer, m.From) == int8(max(i, j)) {
				last = m
			}
		}
		if last.Kind == 0 {
			t.Fatalf("no %s of %d and %d is possible after:\n%s", fields[0], i, j, out)
		}
		w.Take(last)
	case "show":
		for i := range peers {
			fmt.Fprintf(out, "  %d: %v, connected to %v\n", i, w.Peer(i).Phase(), w.Peer(i).Connected())
		}
	default:
		i := number(t, fields[0])
		take(t, w, out, func(m explore.Move) bool {
			if int(m.Peer) != i {
				return false
			}
			if fields[1] == "leave" {
				return m.Kind == explore.Release || m.Kind == explore.GiveUp
			}
			return m.Kind == explore.Request
		})
	}
}

// take makes the first move that fits.
func take(t *testing.T, w *walk, out *strings.Builder, fits func(explore.Move) bool) {
	moves := w.Moves()
	i := slices.IndexFunc(moves, fits)
	if i < 0 {
		t.Fatalf("that is not possible after:\n%s", out)
	}
	if moves[i].Kind == explore.Deliver {
		deliver(w, int(moves[i].From), int(moves[i].Peer), out)
		return
	}
	w.Take(moves[i])
}

// deliver lets the next token from i to j arrive, if there is one.
func deliver(w *walk, i, j int, out *strings.Builder) bool {
	for _, m := range w.Moves() {
		if m.Kind != explore.Deliver || int(m.From) != i || int(m.Peer) != j {
			continue
		}
		what := strings.TrimPrefix(w.Text(m), fmt.Sprintf("%d <- %d: ", j, i))
		switch {
		case strings.HasPrefix(what, "loses"):
			what = "lost"
		case strings.HasPrefix(what, "connects"):
			what = "connected"
		}
		fmt.Fprintf(out, "  %d <- %d: %s\n", j, i, what)
		w.Take(m)
		return true
	}
	return false
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
