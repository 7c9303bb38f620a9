package fault

import (
	"context"

	"locklab/chaos/link"
)

// bandwidth makes every connection slow.
func bandwidth() Kind {
	return Kind{
		Name:    "bandwidth",
		Summary: "every connection carries at most bytes_per_s",
		Fields:  append(sides(), "bytes_per_s"),
		needs:   []string{"bytes_per_s"},
		check: func(s Spec) *FieldError {
			if s.BytesPerS < 1 {
				return &FieldError{"bytes_per_s", "want a whole number above 0"}
			}
			return nil
		},
		plan: func(_ context.Context, id string, s Spec, sc scene) (Plan, error) {
			i := link.Impairment{Kind: link.Bandwidth, BytesPerS: s.BytesPerS}
			return sc.linksFault(id, s, i, Slower, link.ProbeTime(s.BytesPerS))
		},
	}
}
