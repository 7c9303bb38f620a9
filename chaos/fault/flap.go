package fault

import (
	"context"
	"time"
)

// minFlap is the shortest part of a flap: a dozen probes.
const minFlap = 60 * time.Millisecond

// flap cuts traffic again and again.
func flap() Kind {
	return Kind{
		Name:    "flap",
		Summary: "traffic is cut for down, passes for up, and so on",
		Fields:  append(sides(), "mode", "down", "up"),
		needs:   []string{"mode", "down", "up"},
		check: func(s Spec) *FieldError {
			switch {
			case s.Down < minFlap:
				return &FieldError{"down", "want at least " + minFlap.String() + ", so that the probes can see it"}
			case s.Up < minFlap:
				return &FieldError{"up", "want at least " + minFlap.String() + ", so that the probes can see it"}
			default:
				return checkCut(s)
			}
		},
		plan: func(ctx context.Context, id string, s Spec, sc scene) (Plan, error) {
			return partition().plan(ctx, id, s, sc)
		},
		times: func(s Spec, from, until time.Duration) (windows []Window) {
			for at := from; at < until; at += s.Down + s.Up {
				windows = append(windows, Window{at, min(at+s.Down, until)})
			}
			return windows
		},
	}
}
