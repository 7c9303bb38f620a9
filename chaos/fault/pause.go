package fault

import (
	"context"

	"locklab/workloads/history"
)

// Pause stops processes with SIGSTOP. They run on when it is healed.
func (kinds) Pause() Kind {
	return Kind{
		Name:    "pause",
		Summary: "processes get SIGSTOP, as in a long garbage collection or a VM's migration, and run on when the fault ends",
		Fields: []Field{hits("holder"), {
			"point", "granted", "stop masters, each where its client next comes to it: acquiring (nothing sent yet), granted " +
				"(nothing done yet that others see), " +
				"releasing (nothing sent yet)", false,
		}},
		read: func(f fields) Fault {
			target, point := f.target(), ""
			if at := f.Get("point"); at.Given() {
				point = at.OneOf(history.PointAcquiring, history.PointGranted, history.PointReleasing)
			}
			fault := onNodes(target, nil, func(ctx context.Context, _ string, sc scene) (p Plan, err error) {
				p.Pause, err = sc.nodes(ctx, target)
				p.Point = point
				return p, err
			})
			if fault.Aim.Point = point; point != "" {
				fault.Target += " at " + point
			}
			return fault
		},
	}
}
