package hostload

// Usage is what a process uses, with all that descends from it.
type Usage struct {
	CPUNS int64 // time on CPUs since it began; in steps of 10 ms
	// MemoryBytes is what it has in memory now: pages that descendants share with others
	// count once, as those of the process itself.
	MemoryBytes int64
}
