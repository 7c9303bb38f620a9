package result

// ControllerHost is the HostLoad.Host of the controller's machine.
const ControllerHost = "controller"

// HostLoad is what the CPUs of one machine did in the measured part, over all repeats.
// What its system does not tell is absent.
type HostLoad struct {
	// Host is a host of the topology, or [ControllerHost]: the controller's machine,
	// which also carries all hosts that are not listed.
	Host string `json:"host"`
	CPUs int    `json:"cpus"`

	CPUBusy      *float64 `json:"cpu_busy,omitempty"`      // share of the time, 0 to 1, over all CPUs
	CPUBusyMax   *float64 `json:"cpu_busy_max,omitempty"`  // the same in the busiest second
	CPUOthers    *float64 `json:"cpu_others,omitempty"`    // what was busy with anything but the lab's processes, as a share of all CPUs
	PressureSome *float64 `json:"pressure_some,omitempty"` // share of the time in which some process waited for a CPU
	// ThrottledCPUs is the number of CPUs that a quota kept from the lab, on average.
	ThrottledCPUs *float64 `json:"throttled_cpus,omitempty"`
	// Slowdown is how many times longer than on an idle machine the work of the lab's
	// processes there took: CPU time and waiting for a CPU, over CPU time.
	Slowdown *float64 `json:"slowdown,omitempty"`
	// LateWakeMS is the longest that a timer of the process that samples went off too late.
	LateWakeMS float64 `json:"late_wake_ms"`

	// FsyncMaxMS is the longest that a page took to be safe on the disk of the nodes' data.
	FsyncMaxMS *float64 `json:"fsync_max_ms,omitempty"`

	Saturated bool `json:"saturated"` // so the row is inconclusive
}
