package link

import (
	"errors"
	"net"
	"os"
	"time"

	"locklab/internal/seed"
)

// awaitOpen keeps a new connection until no hold or drop is in force and returns
// what its program sent meanwhile. It returns false as soon as the program gives
// up: then the node must never hear of the connection, as it would not in a
// network whose SYNs are lost.
func (l *link) awaitOpen(client *net.TCPConn, own seed.Seed) (head []byte, ok bool) {
	buf := make([]byte, chunkSize)
	for {
		open, changed := l.open(own)
		if open {
			return head, true
		}
		if len(head) >= maxUnderWay {
			select {
			case <-changed:
				continue
			case <-l.ctx.Done():
				return nil, false
			}
		}
		n, err := readUntil(client, buf, changed)
		head = append(head, buf[:n]...)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, false
		}
		if l.ctx.Err() != nil {
			return nil, false
		}
	}
}

// readUntil reads once; the read ends with os.ErrDeadlineExceeded when stop is closed.
func readUntil(c *net.TCPConn, buf []byte, stop <-chan struct{}) (int, error) {
	read, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-stop:
			_ = c.SetReadDeadline(time.Unix(1, 0)) // long ago: the read returns now
		case <-read:
		}
	}()
	n, err := c.Read(buf)
	close(read)
	<-watched
	return n, errors.Join(err, c.SetReadDeadline(time.Time{}))
}
