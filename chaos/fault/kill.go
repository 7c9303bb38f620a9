package fault

import "context"

// kill ends processes with SIGKILL. They are started again when it is healed.
func kill() Kind {
	return Kind{
		Name:    "kill",
		Summary: "processes get SIGKILL; they start again when the fault ends",
		Fields:  []string{"target", "lose_data"},
		needs:   []string{"target"},
		plan:    planKill,
	}
}

func planKill(ctx context.Context, _ string, s Spec, sc scene) (p Plan, err error) {
	if p.Kill, err = sc.nodes(ctx, s.Target, sc.resolver); err != nil {
		return Plan{}, err
	}
	p.Wipe = sc.wiped(p.Kill, s.LoseData)
	return p, nil
}
