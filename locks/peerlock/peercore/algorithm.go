package peercore

import "fmt"

// Run has the core s of a peer take an event, as the mutant does if there is one.
func Run[S, M any, P Machine[S, M]](a *Algorithm[S, M], s *S, ev Event[M], out []Effect[M]) []Effect[M] {
	if a.Mutant.Step != nil {
		return append(out, a.Mutant.Step(s, ev)...)
	}
	return P(s).Step(ev, out)
}

// Restart makes fresh, which has just been made, the state of a new process that has read
// what old had stored, if it stores anything: by the way that production takes.
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
