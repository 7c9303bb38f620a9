package core

import (
	"fmt"
	"strings"
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/peertest"
)

var rewrite = peertest.Rewrite()

// TestTranscripts knows the options off=fair,view,rounds, rule=literal and apart: without
// connections at first.
func TestTranscripts(t *testing.T) {
	peertest.Transcripts[State, Message, *State]{
		Begin: func(options []string) (alg peercore.Algorithm[State, Message], sc explore.Scope, err error) {
			rules := DefaultOptions()
			for _, o := range options {
				key, value, _ := strings.Cut(o, "=")
				switch key {
				case "apart":
					sc.Forming = true
				case "rule":
					rules.Rule = RuleLiteral
				case "off":
					for rule := range strings.SplitSeq(value, ",") {
						*map[string]*bool{"fair": &rules.Fair, "view": &rules.View, "rounds": &rules.Rounds}[rule] = false
					}
				default:
					return alg, sc, fmt.Errorf("unknown option %q", o)
				}
			}
			return rules.Algorithm(), sc, nil
		},
		Show: func(s *State) string { return fmt.Sprintf("%v, connected to %v", s.Phase(), s.connected) },
	}.Run(t, *rewrite)
}
