package fault

import "time"

// restart is a kill that is healed at once.
func restart() Kind {
	return Kind{
		Name:    "restart",
		Summary: "processes get SIGKILL and start again at once",
		Fields:  []string{"target", "lose_data"},
		needs:   []string{"target"},
		plan:    planKill,
		times: func(_ Spec, from, _ time.Duration) []Window {
			return []Window{{from, from}}
		},
	}
}
