package redlock

// Lines is how many resources have a queue in this process.
func (l *Locker) Lines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines)
}
