package twophase

import (
	"slices"
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

// TestTranscripts knows the option greedy.
func TestTranscripts(t *testing.T) {
	peertest.Transcripts[State, Message, *State]{
		Begin: func(options []string) (peercore.Algorithm[State, Message], explore.Scope) {
			return Options{Greedy: slices.Contains(options, "greedy")}.Algorithm(), explore.Scope{}
		},
		Show: (*State).String,
	}.Run(t)
}
