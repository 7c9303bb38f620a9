package fault

// Restart is a kill that is healed at once.
func (kinds) Restart() Kind {
	return Kind{
		Name:    "restart",
		Summary: "processes get SIGKILL and start again at once",
		Fields:  []string{"target", "lose_data"},
		read: func(f fields) Fault {
			fault := readKill(f)
			fault.Instant = true
			return fault
		},
	}
}
