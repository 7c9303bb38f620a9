package fault

import "context"

// pause stops processes with SIGSTOP. They run on when it is healed.
func pause() Kind {
	return Kind{
		Name:    "pause",
		Summary: "processes get SIGSTOP, as in a long garbage collection or a VM's migration",
		Fields:  []string{"target"},
		needs:   []string{"target"},
		plan: func(ctx context.Context, _ string, s Spec, sc scene) (p Plan, err error) {
			p.Pause, err = sc.nodes(ctx, s.Target, sc.resolver)
			return p, err
		},
	}
}
