package record

import "slices"

// table numbers strings. Those of which there are many have a map of their own: a small map
// stays near the CPU.
type table struct {
	few, many map[string]Name
	list      []string
}

func newTable() table {
	return table{map[string]Name{"": 0}, map[string]Name{"": 0}, []string{""}}
}

// name numbers a string that comes often.
func (t *table) name(s string) Name { return t.number(t.few, s) }

// unique numbers the name of a hold, an order or a room.
func (t *table) unique(s string) Name { return t.number(t.many, s) }

func (t *table) number(in map[string]Name, s string) Name {
	n, known := in[s]
	if !known {
		n = Name(len(t.list)) //nolint:gosec // far below
		in[s], t.list = n, push(t.list, s)
	}
	return n
}

// push appends to what may become long: append alone grows that by a quarter each time, and
// copies it four times more often.
func push[T any](list []T, one T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, len(list)+1)
	}
	return append(list, one)
}
