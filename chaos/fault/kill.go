package fault

import "context"

// Kill ends processes with SIGKILL. They are started again when it is healed.
func (kinds) Kill() Kind {
	return Kind{
		Name:    "kill",
		Summary: "processes get SIGKILL; they start again when the fault ends",
		Fields:  []Field{hits("holder"), lost()},
		read:    readKill,
	}
}

func readKill(f fields) Fault {
	target, lost := f.target(), f.loseData()
	return onNodes(target, lost, func(ctx context.Context, _ string, sc scene) (p Plan, err error) {
		p.Kill, err = sc.nodes(ctx, target)
		p.Wipe = sc.ofRoles(p.Kill, lost)
		return p, err
	})
}
