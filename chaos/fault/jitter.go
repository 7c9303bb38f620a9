package fault

import (
	"context"

	"locklab/chaos/link"
)

// jitter adds a delay that varies.
func jitter() Kind {
	return Kind{
		Name:    "jitter",
		Summary: "traffic arrives later by a random part of jitter",
		Fields:  append(sides(), "jitter"),
		needs:   []string{"jitter"},
		plan: func(_ context.Context, id string, s Spec, sc scene) (Plan, error) {
			return sc.linksFault(id, s, link.Impairment{Kind: link.Jitter, Jitter: s.Jitter}, Slower, s.Jitter/2)
		},
	}
}
