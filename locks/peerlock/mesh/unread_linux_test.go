package mesh

import (
	"net"
	"testing"
	"time"

	"locklab/locks/locktest"
)

// TestHeardIsWhatIsNew looks for heartbeats that woke nobody, before and after a payload has
// emptied the socket.
func TestHeardIsWhatIsNew(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	far, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	near, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = near.Close() }()
	m := &Mesh{}
	l := newLink(m, &peer{}, near, hello{}) // the test is its reader

	send := func(bytes, unread int) {
		t.Helper()
		if _, err := far.Write(make([]byte, bytes)); err != nil {
			t.Fatal(err)
		}
		locktest.Eventually(t, "it is there", func() bool { return l.now.Unread() == unread })
	}
	heartbeat := func(unread int) { t.Helper(); send(1, unread) }
	payload := func() {
		t.Helper()
		m.ran.Add(int64(time.Second))
		before := l.now.Unread()
		send(lowWater, before+lowWater)
		n, err := l.now.Read(make([]byte, 2*lowWater))
		if err != nil || n != before+lowWater {
			t.Fatalf("read %d bytes, %v", n, err)
		}
		l.took(n)
	}
	look := func(what string, want bool) {
		t.Helper()
		before, now := l.heardAt.Load(), m.ran.Add(int64(time.Second))
		l.lookForUnread(time.Duration(now))
		if heard := l.heardAt.Load() != before; heard != want {
			t.Errorf("%s: heard is %v, want %v", what, heard, want)
		}
	}

	look("nothing", false)
	heartbeat(1)
	look("a heartbeat", true)
	look("the same one", false)
	heartbeat(2)
	look("one more", true)
	payload()
	look("silence after a payload", false)
	heartbeat(1)
	look("a heartbeat after it", true)
	payload()
	heartbeat(1)
	look("as many as before the payload", true)
	look("the same again", false)
	payload()
	payload()
	look("silence after two", false)
}
