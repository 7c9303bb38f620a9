package reports

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/reports/result"
)

// fact is one line about the run.
type fact struct {
	Name, Value string
	Code        bool // to be typed as it stands
}

func facts(f result.File) []fact {
	r := f.Run
	all := []fact{
		{"run", plain(r.ID), true},
		{"started", startedText(r.Started), false},
		{"took", tookText(r.DurationMS), false},
		{"seed", strconv.FormatUint(r.Seed, 10), true},
		{"commit", plain(r.Commit), true},
		{"topology", plain(r.Topology), false},
		{"command", plain(r.Command), true},
		{"host", hostText(r.Host), false},
		{"Go", plain(r.Host.Go), false},
	}
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		all = append(all, fact{plain(name), plain(r.Versions[name]), false})
	}
	all = append(all, fact{"link cost", linkText(r.LinkCost), false})
	for i := range all {
		if all[i].Value == "" {
			all[i].Value, all[i].Code = "not recorded", false
		}
	}
	return all
}

func startedText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func tookText(ms int64) string {
	if ms <= 0 {
		return ""
	}
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}

func hostText(h result.Host) string {
	var parts []string
	if h.OS != "" {
		parts = append(parts, strings.TrimSuffix(plain(h.OS)+"/"+plain(h.Arch), "/"))
	}
	if h.Kernel != "" {
		parts = append(parts, "kernel "+plain(h.Kernel))
	}
	if h.CPUs > 0 {
		cpu := plural(int64(h.CPUs), "CPU")
		if h.CPUModel != "" {
			cpu += " (" + plain(h.CPUModel) + ")"
		}
		parts = append(parts, cpu)
	}
	if h.MemoryMiB > 0 {
		parts = append(parts, count(h.MemoryMiB)+" MiB of memory")
	}
	return strings.Join(parts, ", ")
}

func linkText(c *result.LinkCost) string {
	if c == nil {
		return "not measured"
	}
	return fmt.Sprintf("round trip of one small message, p50: %s µs through the proxy of a link, %s µs without it (%s)",
		figure(c.LinkP50US), figure(c.DirectP50US), times(c.Ratio))
}
