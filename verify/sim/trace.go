package sim

import (
	"fmt"
	"io"

	"locklab/locks/peerlock/peercore"
)

// tracer writes a line for everything that happens. What it cannot write is lost: a
// trace is read by people.
type tracer struct{ out io.Writer }

// line writes the time in milliseconds of virtual time, and what happens.
func (t *tracer) line(at int64, format string, args ...any) {
	fmt.Fprintf(t.out, "%12.6f  %s\n", float64(at)/1e6, fmt.Sprintf(format, args...))
}

func (t *tracer) sent(at int64, from int, to peercore.Set, msg any) {
	t.line(at, "p%-3d -> %v  %v", from, to, msg)
}

func (t *tracer) received(at int64, to, from int, msg any) {
	t.line(at, "p%-3d <- p%d  %v", to, from, msg)
}

func (t *tracer) note(at int64, i int, what string) { t.line(at, "p%-3d %s", i, what) }

func (t *tracer) held(at int64, i int, token uint64) {
	if token == 0 {
		t.line(at, "p%-3d HOLDS", i)
		return
	}
	t.line(at, "p%-3d HOLDS with token %d", i, token)
}

func (t *tracer) connection(at int64, i, peer int, what string) {
	t.line(at, "p%-3d connection to p%d %s", i, peer, what)
}

func (t *tracer) fault(at int64, f Fault, what string) { t.line(at, "---- fault %s (%v)", what, f) }

func (t *tracer) finding(f Finding) { t.line(int64(f.At), "**** %v", f) }
