package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/noise"
	"locklab/reports/result"
)

// mismatch is what two runs differ in besides what is to be compared.
type mismatch struct {
	What, Was, Is string
	// Refuses says that another thing was asked of the locks, so that no difference of their
	// figures means anything. Otherwise it is a warning.
	Refuses bool
}

// mismatches are only what differs: not all that is known of a host because of its kernel.
func mismatches(say *lang.Lang, first, f result.File) []mismatch {
	var all []mismatch
	tell := func(refuses bool, what, was, is string) {
		if was == is {
			return
		}
		for _, value := range []*string{&was, &is} {
			if *value = plain(*value); *value == "" {
				*value = say.Text("not recorded")
			}
		}
		all = append(all, mismatch{what, was, is, refuses})
	}
	a, b := first.Run, f.Run
	tell(true, say.Text("topology"), a.Topology, b.Topology)
	if a.Load != "" && b.Load != "" {
		was, is := settings(a.Load), settings(b.Load)
		for _, name := range names(was, is) {
			tell(true, name, was[name], is[name])
		}
	} else if x, y := offered(first), offered(f); math.Abs(x-y) > 0.1*max(x, y) { // of an older program
		tell(true, say.Text("offered rate"), say.Sprintf("%s per second", figure(x)), say.Sprintf("%s per second", figure(y)))
	}
	tell(false, say.Text("system"), a.Host.OS+"/"+a.Host.Arch, b.Host.OS+"/"+b.Host.Arch)
	tell(false, say.Text("kernel"), a.Host.Kernel, b.Host.Kernel)
	tell(false, say.Text("CPUs"), cpusText(a.Host), cpusText(b.Host))
	if math.Abs(float64(a.Host.MemoryMiB-b.Host.MemoryMiB)) > 0.05*float64(a.Host.MemoryMiB) {
		tell(false, say.Text("memory"), count(a.Host.MemoryMiB)+" MiB", count(b.Host.MemoryMiB)+" MiB")
	}
	tell(false, "Go", a.Host.Go, b.Host.Go)
	for _, name := range names(a.Versions, b.Versions) {
		tell(false, plain(name), a.Versions[name], b.Versions[name])
	}
	was, told := othersOf(first)
	is, tells := othersOf(f)
	if told && tells && math.Abs(was-is) > noise.Quiet {
		tell(false, say.Text("CPUs that others used"), percent(was), percent(is))
	}
	return all
}

func cpusText(h result.Host) string {
	return strings.TrimSpace(fmt.Sprintf("%d × %s", h.CPUs, h.CPUModel))
}

// settings reads name=value name=value.
func settings(load string) map[string]string {
	all := map[string]string{}
	for setting := range strings.FieldsSeq(load) {
		name, value, _ := strings.Cut(setting, "=")
		all[plain(name)] = value
	}
	return all
}

func names(a, b map[string]string) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// offered is the rate, per second, of an average row.
func offered(f result.File) (mean float64) {
	for _, r := range f.Results {
		mean += r.OfferedPerS / float64(len(f.Results))
	}
	return mean
}

// othersOf is the share of the CPUs that others used, of an average row.
func othersOf(f result.File) (mean float64, known bool) {
	figure, _ := result.Lookup(result.OthersField)
	n := 0.0
	for _, r := range f.Results {
		if v, has := figure.Of(r); has {
			mean, n = mean+v, n+1
		}
	}
	return mean / max(n, 1), n > 0
}
