package fault

import "context"

// Pause stops processes with SIGSTOP. They run on when it is healed.
func (kinds) Pause() Kind {
	return Kind{
		Name:    "pause",
		Summary: "processes get SIGSTOP, as in a long garbage collection or a VM's migration",
		Fields:  []string{"target"},
		read: func(f fields) Fault {
			target := f.target()
			return onNodes(target, nil, func(ctx context.Context, _ string, sc scene) (p Plan, err error) {
				p.Pause, err = sc.nodes(ctx, target)
				return p, err
			})
		},
	}
}
