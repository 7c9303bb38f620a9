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
//	> P lease          > P renew          > P vote          > P recovery      that timer is over
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
				for s.take(arrives(i/s.peers, i%s.peers)) {
					moved = true
				}
			}
		}
	default:
		if !s.take(s.fits(fields)) {
			s.t.Fatalf("%v is not possible after:\n%s", fields, s.out.String())
		}
	}
	if v := s.walk.Violation(); v != "" {
		fmt.Fprintf(&s.out, "  wrong: %s\n", v)
	}
}

func (s *script[S, M, P]) begin(fields []string) {
	alg, sc, err := s.Begin(fields[1:])
	if err != nil {
		s.t.Fatal(err)
	}
	const often = 100
	s.peers = s.number(fields[0])
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

func arrives(from, to int) func(m explore.Move) bool {
	return func(m explore.Move) bool {
		return m.Kind == explore.Deliver && int(m.From) == from && int(m.Peer) == to
	}
}

// fits says which moves a command means.
func (s *script[S, M, P]) fits(fields []string) func(m explore.Move) bool {
	kinds := map[string][]explore.MoveKind{
		"cut": {explore.Cut}, "mend": {explore.Mend}, "request": {explore.Request}, "leave": {explore.Release, explore.GiveUp},
		"crash": {explore.Crash}, "wake": {explore.Wake},
	}
	switch fields[0] {
	case "deliver":
		return arrives(s.number(fields[1]), s.number(fields[2]))
	case "cut", "mend":
		i, j := int8(s.number(fields[1])), int8(s.number(fields[2]))
		return func(m explore.Move) bool {
			return slices.Contains(kinds[fields[0]], m.Kind) && min(m.Peer, m.From) == min(i, j) && max(m.Peer, m.From) == max(i, j)
		}
	}
	i := int8(s.number(fields[0]))
	return func(m explore.Move) bool {
		return m.Peer == i && (slices.Contains(kinds[fields[1]], m.Kind) || m.Kind == explore.Expire && m.Timer.String() == fields[1])
	}
}

// take makes the first move that fits, if there is one.
func (s *script[S, M, P]) take(fits func(explore.Move) bool) bool {
	moves := s.walk.Moves()
	at := slices.IndexFunc(moves, fits)
	if at < 0 {
		return false
	}
	m := moves[at]
	if m.Kind == explore.Deliver {
		fmt.Fprintf(&s.out, "  %s\n", s.walk.Text(m))
	}
	s.walk.Take(m)
	return true
}

func (s *script[S, M, P]) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}
