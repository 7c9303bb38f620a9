//go:build !linux

package mesh

// unread is not known here.
func (l *Link) unread() bool { return false }
