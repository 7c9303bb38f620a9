package core

import (
	"fmt"
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

// TestTranscripts knows the options fair=off, rule=literal and apart: without connections at first.
func TestTranscripts(t *testing.T) {
	peertest.Transcripts[State, Message, *State]{
		Begin: func(options []string) (alg peercore.Algorithm[State, Message], sc explore.Scope) {
			rules := DefaultOptions()
			for _, o := range options {
				switch o {
				case "apart":
					sc.Forming = true
				case "rule=literal":
					rules.Rule = RuleLiteral
				case "fair=off":
					rules.Fair = false
				}
			}
			return rules.Algorithm(), sc
		},
		Show: func(s *State) string { return fmt.Sprintf("%v, connected to %v", s.phase, s.connected) },
	}.Run(t)
}
