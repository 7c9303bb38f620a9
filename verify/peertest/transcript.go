package peertest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
)

// Transcripts is how the transcripts of an algorithm are made.
type Transcripts[S, M any, P peercore.Core[S, M]] struct {
	// Begin is the algorithm and the scope for the options behind the number of peers.
	Begin func(options []string) (peercore.Algorithm[S, M], explore.Scope)
	Show  func(p P) string
}

// Run runs the commands of every file in testdata and compares what happens with what stands there, see
// [testfile.Golden]. A line that starts with "> " is a command:
//
//	> peers N [OPTION ...]
//	> 0: requests          the first move whose text, see [explore.Walk], begins so; as well > 0 <- 1
//	> run                  all deliveries, until none is left
//	> show                 where everybody is
func (tr Transcripts[S, M, P]) Run(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := script[S, M, P]{t: t, Transcripts: tr}
			for line := range strings.Lines(string(testfile.Read(t, file))) {
				if !strings.HasPrefix(line, "  ") { // which is what a command gave before
					s.out.WriteString(line)
				}
				if command, is := strings.CutPrefix(line, "> "); is {
					s.obey(strings.TrimSpace(command))
				}
			}
			testfile.Golden(t, file, s.out.String())
		})
	}
}

// script is a transcript that is being run.
type script[S, M any, P peercore.Core[S, M]] struct {
	Transcripts[S, M, P]
	t     *testing.T
	out   strings.Builder
	peers int
	walk  *explore.Walk[S, M, P]
}

func (s *script[S, M, P]) obey(command string) {
	switch words := strings.Fields(command); {
	case words[0] == "peers":
		s.begin(words[1:])
		return
	case command == "show":
		for i := range s.peers {
			fmt.Fprintf(&s.out, "  %d: %s\n", i, s.Show(s.walk.Peer(i)))
		}
		return
	case command == "run":
		for moved := true; moved; {
			moved = false
			for i := range s.peers * s.peers {
				for s.take(fmt.Sprintf("%d <- %d:", i%s.peers, i/s.peers)) {
					moved = true
				}
			}
		}
	case !s.take(command):
		s.t.Fatalf("%q is not possible after:\n%s", command, s.out.String())
	}
	if v := s.walk.Violation(); v != "" {
		fmt.Fprintf(&s.out, "  wrong: %s\n", v)
	}
}

func (s *script[S, M, P]) begin(words []string) {
	var err error
	s.peers, err = strconv.Atoi(words[0])
	must.Do(s.t, err)
	alg, sc := s.Begin(words[1:])
	const often = 100
	sc.Peers, sc.Requests = s.peers, []int{explore.Any}
	sc.GiveUps, sc.Mends, sc.Expiries, sc.Renewals = explore.Any, explore.Any, explore.Any, explore.Any
	sc.Cuts, sc.Crashes, sc.Untimed = often, often, true
	s.walk = explore.NewWalk[S, M, P](alg, sc, func(peer int, e peercore.Effect[M]) {
		fmt.Fprintf(&s.out, "  %d: %v\n", peer, e)
	})
}

// take makes the first move whose text begins so, if there is one.
func (s *script[S, M, P]) take(prefix string) bool {
	moves := s.walk.Moves()
	at := slices.IndexFunc(moves, func(m explore.Move) bool { return strings.HasPrefix(s.walk.Text(m), prefix) })
	if at < 0 {
		return false
	}
	if moves[at].Kind == explore.Deliver {
		fmt.Fprintf(&s.out, "  %s\n", s.walk.Text(moves[at]))
	}
	s.walk.Take(moves[at])
	return true
}
