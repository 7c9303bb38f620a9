package fault

import (
	"context"

	"locklab/chaos/link"
)

// latency adds a delay to every byte.
func latency() Kind {
	return Kind{
		Name:    "latency",
		Summary: "traffic arrives later: delay one way, plus up to jitter",
		Fields:  append(sides(), "delay", "jitter"),
		needs:   []string{"delay"},
		plan: func(_ context.Context, id string, s Spec, sc scene) (Plan, error) {
			return sc.linksFault(id, s, link.Impairment{Kind: link.Latency, Delay: s.Delay, Jitter: s.Jitter}, Slower, s.Delay+s.Jitter/2)
		},
	}
}
