package redlock

// Queues is how many resources have a queue in this process.
func (l *Locker) Queues() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queues)
}
