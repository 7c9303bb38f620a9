package fault

import (
	"context"

	"locklab/chaos/link"
)

// partition cuts traffic, both ways or one way.
func partition() Kind {
	return Kind{
		Name:    "partition",
		Summary: "traffic is cut: hold (arrives after the heal), drop or reset",
		Fields:  append(sides(), "mode"),
		needs:   []string{"mode"},
		check:   checkCut,
		plan: func(_ context.Context, id string, s Spec, sc scene) (Plan, error) {
			mode, _ := linkMode(s.Mode) // checked
			return sc.linksFault(id, s, link.Impairment{Kind: mode}, Silent, 0)
		},
	}
}

// checkCut refuses a reset in one direction: a reset ends the whole connection.
func checkCut(s Spec) *FieldError {
	mode, err := linkMode(s.Mode)
	if err == nil && mode == link.Reset && s.From != "" {
		return &FieldError{"mode", "a reset hits both ways: want between: instead of from: and to:"}
	}
	return err
}
