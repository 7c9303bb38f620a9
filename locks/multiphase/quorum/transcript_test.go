package quorum

import (
	"fmt"
	"slices"
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

var rewrite = peertest.Rewrite()

// TestTranscripts knows the option view.
func TestTranscripts(t *testing.T) {
	peertest.Transcripts[State, Message, *State]{
		Begin: func(options []string) (peercore.Algorithm[State, Message], explore.Scope, error) {
			alg := whole(Options{View: slices.Contains(options, "view")})
			return alg, explore.Scope{}, nil
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
	text := fmt.Sprintf("%v, vote %s, F %d.%d, connected to %v", s.phase, vote, Counter(s.floor), s.floor%(1<<rankBits), s.connected)
	if s.recovering {
		text += ", recovering"
	}
	return text
}
