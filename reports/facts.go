package reports

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// fact is one line about the run.
type fact struct {
	Name, Value string
	Code        bool // to be typed as it stands
}

func facts(say *lang.Lang, f result.File) []fact {
	r := f.Run
	all := []fact{
		{say.Text("run"), plain(r.ID), true},
		{say.Text("started"), startedText(r.Started), false},
		{say.Text("took"), tookText(say, r.DurationMS), false},
		{say.Text("seed"), strconv.FormatUint(r.Seed, 10), true},
		{say.Text("commit"), plain(r.Commit), true},
		{say.Text("topology"), plain(r.Topology), false},
		{say.Text("command"), plain(r.Command), true},
		{say.Text("host"), hostText(say, r.Host), false},
		{"Go", plain(r.Host.Go), false},
	}
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		all = append(all, fact{plain(name), plain(r.Versions[name]), false})
	}
	all = append(all, fact{say.Text("link cost"), linkText(say, r.LinkCost), false})
	for i := range all {
		if all[i].Value == "" {
			all[i].Value, all[i].Code = say.Text("not recorded"), false
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

func tookText(say *lang.Lang, ms int64) string {
	if ms <= 0 {
		return ""
	}
	return say.Lasting(time.Duration(ms) * time.Millisecond)
}

func hostText(say *lang.Lang, h result.Host) string {
	var parts []string
	if h.OS != "" {
		parts = append(parts, strings.TrimSuffix(plain(h.OS)+"/"+plain(h.Arch), "/"))
	}
	if h.Kernel != "" {
		parts = append(parts, say.Sprintf("kernel %s", plain(h.Kernel)))
	}
	if h.CPUs > 0 {
		cpu := say.Count(int64(h.CPUs), "1 CPU", "%s CPUs")
		if h.CPUModel != "" {
			cpu += " (" + plain(h.CPUModel) + ")"
		}
		parts = append(parts, cpu)
	}
	if h.MemoryMiB > 0 {
		parts = append(parts, say.Sprintf("%s MiB of memory", count(h.MemoryMiB)))
	}
	return strings.Join(parts, ", ")
}

func linkText(say *lang.Lang, c *result.LinkCost) string {
	if c == nil {
		return say.Text("not measured")
	}
	return say.Sprintf("round trip of one small message, p50: %s µs through the proxy of a link, %s µs without it (%s)",
		figure(c.LinkP50US), figure(c.DirectP50US), times(say, c.Ratio))
}
