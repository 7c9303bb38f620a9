package fault

import (
	"context"
	"strings"

	"locklab/chaos/link"
)

// zoneFailure takes a whole zone away: its processes die and every connection
// into and out of it is reset. When it is healed the zone returns.
func zoneFailure() Kind {
	return Kind{
		Name:    "zone-failure",
		Summary: "a zone's processes die and its connections are reset; then it returns",
		Fields:  []string{"target", "lose_data"},
		needs:   []string{"target"},
		check: func(s Spec) *FieldError {
			if !strings.HasPrefix(s.Target, "zone:") {
				return &FieldError{"target", "want zone:NAME"}
			}
			return nil
		},
		plan: func(ctx context.Context, id string, s Spec, sc scene) (Plan, error) {
			cut := Spec{Between: []string{s.Target, Others}}
			p, err := sc.linksFault(id, cut, link.Impairment{Kind: link.Reset}, Silent, 0)
			if err != nil {
				return Plan{}, err
			}
			if p.Kill, err = sc.nodes(ctx, s.Target, sc.resolver); err != nil {
				return Plan{}, err
			}
			p.Wipe = sc.wiped(p.Kill, s.LoseData)
			return p, nil
		},
	}
}
