package fault

// FullDisk refuses what processes write to their files. There is space again when it is healed,
// and then they start again from what they have on disk.
func (kinds) FullDisk() Kind {
	return Kind{
		Name: "full-disk",
		Summary: "processes cannot write to their files (ENOSPC); they are killed and start again, with their data, when " +
			"the fault ends",
		Fields: []Field{hits("one:raft")},
		read:   func(f fields) Fault { return onDisks(f.target(), Disk{Full: true}) },
	}
}
