package peertest

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/internal/testfile"
	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
)

// Transcripts is how the transcripts of an algorithm are read and written.
type Transcripts[S, M any, P peercore.Core[S, M]] struct {
	// Begin is the algorithm and the scope for the options behind the number of peers.
	Begin func(options []string) (peercore.Algorithm[S, M], explore.Scope, error)
	Show  func(p P) string
	Tell  func(e peercore.Effect[M]) string // nil: its String
}

// Run runs the commands of every file in testdata and compares what happened with what
// stands there. With -rewrite it writes that. A line that starts with "> " is a command:
//
//	> peers N [OPTION ...]
//	> P request        > P leave          the application
//	> P lease          > P renew          > P vote          that timer is over
//	> P wake                              its pause is over
//	> P crash                             loses its memory and its connections
//	> deliver I J      > run              the next token from I to J; all, until none is left
//	> cut I J          > mend I J         what is on its way still arrives, then the news
//	> show                                where everybody is
func (tr Transcripts[S, M, P]) Run(t *testing.T, rewrite bool) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text := string(testfile.Read(t, file))
			got := tr.transcribe(t, text)
			if rewrite {
				testfile.Write(t, file, got)
			} else if got != text {
				t.Errorf("%s says\n%s\nbut this happens (go test -rewrite writes it):\n%s", file, text, got)
			}
		})
	}
}

// Rewrite is the flag of tests that run transcripts.
func Rewrite() *bool {
	return flag.Bool("rewrite", false, "write what the transcripts in testdata should say")
}

// transcribe runs the commands of a transcript and returns it with what they give.
func (tr Transcripts[S, M, P]) transcribe(t *testing.T, text string) string {
	s := script[S, M, P]{t: t, Transcripts: tr}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		command, isCommand := strings.CutPrefix(line, "> ")
		if isCommand || line == "" || strings.HasPrefix(line, "#") { // and not what a command gave before
			fmt.Fprintln(&s.out, line)
		}
		if isCommand {
			s.obey(strings.Fields(command))
		}
	}
	return s.out.String()
}

// script is a transcript that is being run.
type script[S, M any, P peercore.Core[S, M]] struct {
	Transcripts[S, M, P]
	t     *testing.T
	out   strings.Builder
	peers int
	walk  *explore.Walk[S, M, P]
}

func (s *script[S, M, P]) obey(fields []string) {
	if fields[0] != "peers" && s.walk == nil {
		s.t.Fatalf("%q comes before peers", fields)
	}
	switch fields[0] {
	case "peers":
		s.begin(fields[1:])
		return
	case "show":
		for i := range s.peers {
			fmt.Fprintf(&s.out, "  %d: %s\n", i, s.Show(s.walk.Peer(i)))
		}
		return
	case "run":
		for moved := true; moved; {
			moved = false
			for i := range s.peers * s.peers {
				for s.take(fmt.Sprintf("%d <- %d:", i%s.peers, i/s.peers)) {
					moved = true
				}
			}
		}
	default:
		if !s.take(prefixes(fields)...) {
			s.t.Fatalf("%v is not possible after:\n%s", fields, s.out.String())
		}
	}
	if v := s.walk.Violation(); v != "" {
		fmt.Fprintf(&s.out, "  wrong: %s\n", v)
	}
}

func (s *script[S, M, P]) begin(fields []string) {
	alg, sc, err := s.Begin(fields[1:])
	if err == nil {
		s.peers, err = strconv.Atoi(fields[0])
	}
	if err != nil {
		s.t.Fatal(err)
	}
	const often = 100
	sc.Peers, sc.Requests = s.peers, []int{explore.Any}
	sc.GiveUps, sc.Mends, sc.Expiries, sc.Renewals = explore.Any, explore.Any, explore.Any, explore.Any
	sc.Cuts, sc.Crashes, sc.Untimed = often, often, true
	s.walk = explore.NewWalk[S, M, P](alg, sc, func(peer int, e peercore.Effect[M]) {
		text := e.String()
		if s.Tell != nil {
			text = s.Tell(e)
		}
		fmt.Fprintf(&s.out, "  %d: %s\n", peer, text)
	})
}

// prefixes are how the texts of the moves begin that a command means, see [explore.Walk].
func prefixes(fields []string) []string {
	if len(fields) > 2 { // it concerns two peers
		low, high := min(fields[1], fields[2]), max(fields[1], fields[2])
		return map[string][]string{
			"deliver": {fields[2] + " <- " + fields[1] + ":"},
			"cut":     {low + "-" + high + ": link"}, "mend": {low + "-" + high + ": new"},
		}[fields[0]]
	}
	texts := map[string][]string{
		"request": {"requests"}, "leave": {"releases", "gives up"}, "crash": {"crashes"}, "wake": {"ends its pause"},
	}[fields[1]]
	if texts == nil {
		texts = []string{fields[1] + " over"} // a timer
	}
	for i := range texts {
		texts[i] = fields[0] + ": " + texts[i]
	}
	return texts
}

// take makes the first move whose text begins so, if there is one.
func (s *script[S, M, P]) take(prefixes ...string) bool {
	for _, m := range s.walk.Moves() {
		text := s.walk.Text(m)
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) }) {
			continue
		}
		if m.Kind == explore.Deliver {
			fmt.Fprintf(&s.out, "  %s\n", text)
		}
		s.walk.Take(m)
		return true
	}
	return false
}
