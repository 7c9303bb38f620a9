package quorum

import (
	"fmt"
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

func TestTranscripts(t *testing.T) {
	peertest.Transcripts[State, Message, *State]{
		Begin: func([]string) (peercore.Algorithm[State, Message], explore.Scope) {
			return Algorithm(), explore.Scope{}
		},
		Show: show,
	}.Run(t)
}

func show(s *State) string {
	vote := "free"
	if s.voted() {
		vote = fmt.Sprintf("%d's", s.vote.from)
	}
	return fmt.Sprintf("%v, vote %s, F %d.%d, connected to %v", s.phase, vote, Counter(s.floor), s.floor%(1<<rankBits), s.connected)
}
