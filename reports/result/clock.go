package result

import "fmt"

// Clock is how the clock of a host on another machine lay to the controller's: the
// reading with the largest error of all runs.
type Clock struct {
	Host string `json:"host"`
	// OffsetNS was added to the host's monotonic clock.
	OffsetNS int64 `json:"offset_ns"`
	// ErrorNS is how far the host's times may be off after that, either way, with
	// what its clock drifted in the run.
	ErrorNS int64 `json:"error_ns"`
	// KernelMaxErrorUS is the host's own bound for its wall clock when the run began;
	// it means something only if Synced, which says that the host keeps it right.
	KernelMaxErrorUS int64 `json:"kernel_max_error_us"`
	Synced           bool  `json:"synced"`
}

func validateClocks(clocks []Clock) error {
	seen := map[string]bool{}
	for i, c := range clocks {
		field := fmt.Sprintf("run.clocks[%d].", i)
		switch {
		case c.Host == "":
			return invalid(field+"host", c.Host, "a name")
		case seen[c.Host]:
			return invalid(field+"host", c.Host, "each host once")
		case c.ErrorNS < 0:
			return invalid(field+"error_ns", c.ErrorNS, "0 or more")
		case c.KernelMaxErrorUS < 0:
			return invalid(field+"kernel_max_error_us", c.KernelMaxErrorUS, "0 or more")
		}
		seen[c.Host] = true
	}
	return nil
}
