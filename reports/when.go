package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
	"locklab/workloads/history"
)

// when names the circumstances of a row by what was broken, and by how much of it. Whether a holder
// was hit is not known where that is not proven.
func when(say *lang.Lang, r result.Row) string {
	if r.Played && len(r.Faults) > 0 { // no scenario broke it: most of the session may have been whole
		return say.Sprintf("under %s", plain(r.Scenario))
	}
	words := map[string]string{
		"latency": say.Text("when the network was slow"), "jitter": say.Text("when the network was slow"), "bandwidth": say.Text("when the network was narrow"),
		"flaky": say.Text("when links were flaky"), "flap": say.Text("when links came and went"), "partition": say.Text("when the network was cut"),
		"zone-failure": say.Text("when a zone died"),
	}
	if diedWithMajority(r) {
		words["zone-failure"] = say.Text("when the zone with the majority of its servers died")
	}
	who, several := struck(say, r)
	for kind, forms := range map[string][2]string{
		"pause":   {say.Sprintf("when %s stood still", who), say.Sprintf("when %s stood still", who)},
		"kill":    {say.Sprintf("when %s was killed", who), say.Sprintf("when %s were killed", who)},
		"restart": {say.Sprintf("when %s was restarted", who), say.Sprintf("when %s were restarted", who)},
	} {
		if words[kind] = forms[0]; several {
			words[kind] = forms[1]
		}
	}
	if slices.ContainsFunc(r.Faults, func(f result.Fault) bool { return f.Kind == "restart" && f.EndedMS == result.Never }) {
		words["restart"] = words["kill"] // they were not seen again
	}
	kind := ""
	for _, f := range r.Faults {
		if kind != "" && f.Kind != kind || words[f.Kind] == "" || oneWay(f) || !f.Proven && strings.HasPrefix(f.Target, history.TargetHolder) {
			return say.Sprintf("under %s", plain(r.Scenario))
		}
		kind = f.Kind
	}
	return cmp.Or(words[kind], say.Text("with nothing broken"))
}

// oneWay says that a fault cut nobody off: those whom what was sent does not reach, or late, still send.
func oneWay(f result.Fault) bool {
	return f.Kind == "partition" && history.OneWay(f.Target)
}

// struck names the processes that the faults of a row had in their grip, when they were most:
// one of many servers is another matter than all of them. Several says that they are.
func struck(say *lang.Lang, r result.Row) (who string, several bool) {
	var most map[string]bool
	target := ""
	for _, faults := range eachRun(r) {
		for _, f := range faults {
			if at := heldAt(f.BeganMS, faults); len(at) > len(most) {
				most, target = at, f.Target
			}
		}
	}
	chosen, _, _ := strings.Cut(target, " ")
	switch {
	case len(most) == 1 && chosen == "holder":
		return say.Text("the one that held it"), false
	case len(most) == 1 && chosen == "leader":
		return say.Text("its leader"), false
	case len(most) == 1 && chosen == "primary":
		return say.Text("its primary"), false
	}
	all := servers(r)
	for _, role := range slices.Sorted(maps.Keys(all)) {
		of, hit := 0, 0
		for _, n := range all[role] {
			of += n
		}
		for _, n := range r.Nodes {
			if n.Role == role && most[n.Node] {
				hit++
			}
		}
		if hit == 1 && of == 1 && len(most) == 1 {
			return say.Sprintf("its only %s server", plain(role)), false
		}
		if hit > 0 && hit == len(most) {
			return say.Sprintf("%d of its %d %s servers", hit, of, plain(role)), hit > 1
		}
	}
	if len(most) > 1 {
		return say.Sprintf("%d processes", len(most)), true
	}
	return say.Text("a process"), false
}

// heldAt are the processes that faults of a run had in their grip at a moment, those that began then too.
func heldAt(ms float64, faults []result.Fault) map[string]bool {
	at := map[string]bool{}
	for _, f := range faults {
		if f.BeganMS > ms || f.BeganMS < ms && f.EndedMS <= ms && f.EndedMS != result.Never {
			continue
		}
		for _, node := range f.Nodes {
			at[node] = true
		}
	}
	return at
}
