package result

import (
	"fmt"
	"reflect"
	"slices"

	"locklab/internal/sentence"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"locklab/internal/atomicfile"
)

// Write validates f and writes it to path, atomically: a reader sees the old
// file or the new one, never half of one. A figure that is not a finite number
// (JSON has none) is left out and named in the run's warnings, so that one
// division by zero does not cost the result of a whole run.
func Write(path string, f File) error {
	f = Clean(f)
	if err := f.validate(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	data, err := json.Marshal(f, jsonv1.DefaultOptionsV1(), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return atomicfile.Write(path, append(data, '\n'))
}

// Clean returns a copy of f without figures that are not finite numbers; each is
// named in the run's warnings.
func Clean(f File) File {
	f.Run.Warnings, f.Run.Warned = slices.Clone(f.Run.Warnings), slices.Clone(f.Run.Warned)
	f.Results = slices.Clone(f.Results)
	if f.Results == nil {
		f.Results = []Row{} // a list in the file, not null
	}
	for i := range f.Results {
		row := &f.Results[i]
		row.Peers = slices.Clone(row.Peers)
		row.Hosts = slices.Clone(row.Hosts)
		eachNumber(reflect.ValueOf(row).Elem(), "", nil, func(path string, v reflect.Value, drop func()) {
			if v.CanFloat() && !finite(v.Float()) {
				drop()
				f.Run.Warn(sentence.Of(
					"%s under %s with %s: %s was not a number and is left out", row.Lock, row.Scenario, row.Workload, path))
			}
		})
		row.Faults = slices.Clone(row.Faults)
		for j := range row.Faults {
			fault := &row.Faults[j]
			for _, at := range []*float64{&fault.AskedMS, &fault.BeganMS, &fault.EndedMS} {
				if !finite(*at) {
					*at = 0
					fault.Proven = false // a fault without its times proves nothing
				}
			}
		}
	}
	if c := f.Run.LinkCost; c != nil && (!finite(c.DirectP50US) || !finite(c.LinkP50US) || !finite(c.Ratio)) {
		f.Run.LinkCost = nil
		f.Run.Warn(sentence.Of("link_cost was not a number and is left out"))
	}
	return f
}
