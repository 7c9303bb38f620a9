//go:build !linux

package mesh

// unread is not known here.
func (l *Link) unread() (bytes int) { return 0 }

// sleepThroughHeartbeats cannot be had where unread is not known.
func (l *Link) sleepThroughHeartbeats() {}
