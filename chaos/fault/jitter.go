package fault

import "locklab/chaos/toxic"

// Jitter adds a delay that varies.
func (kinds) Jitter() Kind {
	return Kind{
		Name:    "jitter",
		Summary: "traffic arrives later, by a time that varies",
		Fields: traffic(Field{
			"jitter", "20ms",
			"up to so much later, one way, drawn for each chunk of bytes: at least 2ms", true,
		}),
		read: func(f fields) Fault {
			f.need("jitter")
			l := &toxic.Latency{Jitter: f.duration("jitter", 2*leastShift)}
			half := l.Jitter / 2 // by which half of the chunks are late
			return onLinks(f.sides(), l, bychance{slower{half, half}, half, 0.5})
		},
	}
}
