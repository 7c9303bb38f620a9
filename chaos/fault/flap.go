package fault

import "time"

// minFlap is the shortest part of a flap: a dozen probes.
const minFlap = 60 * time.Millisecond

// Flap cuts traffic again and again.
func (kinds) Flap() Kind {
	return Kind{
		Name:    "flap",
		Summary: "traffic is cut, passes, is cut again, and so on",
		Fields: traffic(
			mode(),
			Field{"down", "300ms", "for how long it is cut: at least 60ms", true},
			Field{"up", "700ms", "for how long it passes then: at least 60ms", true},
		),
		read: func(f fields) Fault {
			f.need("down")
			f.need("up")
			down, up := f.duration("down", minFlap), f.duration("up", minFlap)
			fault := readCut(f)
			fault.Cut = "flapping"
			fault.windows = func(from, until time.Duration) (windows []Window) {
				for at := from; at < until && (at == from || until-at >= minFlap); at += down + up {
					windows = append(windows, Window{at, min(at+down, until)})
				}
				return windows
			}
			return fault
		},
	}
}
