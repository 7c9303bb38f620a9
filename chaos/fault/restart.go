package fault

// Restart is a kill that is healed at once.
func (kinds) Restart() Kind {
	return Kind{
		Name:    "restart",
		Summary: "processes get SIGKILL and start again at once",
		Fields:  []Field{hits("one:server"), lost()},
		Instant: true,
		read:    readKill,
	}
}
