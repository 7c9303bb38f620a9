package peercore

import "fmt"

// Run steps the core s, or its mutant if there is one.
func Run[S, M any, P Machine[S, M]](a *Algorithm[S, M], s *S, ev Event[M], out []Effect[M]) []Effect[M] {
	if a.Mutant.Step != nil {
		return append(out, a.Mutant.Step(s, ev)...)
	}
	return P(s).Step(ev, out)
}

// Restart turns fresh, a new state, into that of a process that has read the stored data of old. It
// does nothing unless the core is [Durable], and encodes and decodes as production does.
func Restart[S, M any, P Machine[S, M]](a *Algorithm[S, M], old, fresh *S) {
	from, durable := any(P(old)).(Durable)
	if !durable {
		return
	}
	var stored []byte
	if a.Mutant.AppendStored != nil {
		stored = a.Mutant.AppendStored(old, nil)
	} else {
		stored = from.AppendStored(nil)
	}
	load := any(P(fresh)).(Durable).LoadStored
	if a.Mutant.LoadStored != nil {
		load = func(b []byte) error { return a.Mutant.LoadStored(fresh, b) }
	}
	if err := load(stored); err != nil {
		panic(fmt.Sprintf("%s: what AppendStored wrote, LoadStored does not read: %v", a.Spec, err))
	}
}
