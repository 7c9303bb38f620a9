package agent

import "runtime"

// starter starts processes from one thread that lives as long as it: the kernel
// sends a child its parent-death signal when the thread that forked it ends, not
// the process, and the Go runtime ends threads as it likes.
type starter struct {
	jobs chan func()
	done chan struct{}
}

func newStarter() *starter {
	s := &starter{jobs: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

// do runs f on the thread and waits for it.
func (s *starter) do(f func() error) error {
	result := make(chan error, 1)
	s.jobs <- func() { result <- f() }
	return <-result
}

// close ends the thread. No child may be left.
func (s *starter) close() {
	close(s.jobs)
	<-s.done
}
