package fault

import (
	"context"

	"locklab/chaos/link"
)

// flaky is packet loss as TCP shows it: some bytes, and all behind them, are late.
func flaky() Kind {
	return Kind{
		Name:    "flaky",
		Summary: "a share (loss) of what is sent comes late by stall, with all behind it",
		Fields:  append(sides(), "loss", "stall"),
		needs:   []string{"loss", "stall"},
		check: func(s Spec) *FieldError {
			if !(s.Loss > 0 && s.Loss <= 1) {
				return &FieldError{"loss", "want a share above 0, up to 1, such as 0.05"}
			}
			return nil
		},
		plan: func(_ context.Context, id string, s Spec, sc scene) (Plan, error) {
			return sc.linksFault(id, s, link.Impairment{Kind: link.Flaky, Loss: s.Loss, Stall: s.Stall}, Stalls, s.Stall)
		},
	}
}
