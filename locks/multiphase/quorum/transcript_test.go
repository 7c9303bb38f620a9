package quorum

import (
	"fmt"
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

var rewrite = peertest.Rewrite()

func TestTranscripts(t *testing.T) {
	peertest.Transcripts[State, Message, *State]{
		Begin: func([]string) (peercore.Algorithm[State, Message], explore.Scope, error) {
			return Algorithm(), explore.Scope{}, nil
		},
		Show: show,
		Tell: func(e Effect) string {
			if e.Kind == peercore.Hold {
				return fmt.Sprintf("hold %d.%d", Counter(e.Token), e.Token%(1<<rankBits))
			}
			return e.String()
		},
	}.Run(t, *rewrite)
}

func show(s *State) string {
	vote := "free"
	if s.voted() {
		vote = fmt.Sprintf("%d's", s.vote.from)
	}
	return fmt.Sprintf("%v, vote %s, F %d.%d, connected to %v", s.phase, vote, Counter(s.floor), s.floor%(1<<rankBits), s.connected)
}
