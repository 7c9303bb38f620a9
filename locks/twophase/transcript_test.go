package twophase

import (
	"slices"
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

var rewrite = peertest.Rewrite()

// TestTranscripts knows the option greedy.
func TestTranscripts(t *testing.T) {
	peertest.Transcripts[State, Message, *State]{
		Begin: func(options []string) (peercore.Algorithm[State, Message], explore.Scope, error) {
			return Options{Greedy: slices.Contains(options, "greedy")}.Algorithm(), explore.Scope{}, nil
		},
		Show: func(s *State) string { return s.Phase().String() },
	}.Run(t, *rewrite)
}
