package reports

import (
	"cmp"
	"maps"
	"math"
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
		{say.Text("load"), plain(r.Load), true},
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

// measured says how many runs the figures of the rows are of, how long they were, and for how
// long of that something was broken; "" where the rows do not say it.
func measured(say *lang.Lang, rows []result.Row) string {
	var repeats, lengths, rates, holds, broken spread
	for _, r := range rows {
		if r.Repeats <= 0 || r.MeasuredMS <= 0 {
			continue
		}
		repeats.add(float64(r.Repeats))
		lengths.add(runLength(r))
		if r.OfferedPerS > 0 {
			rates.add(r.OfferedPerS)
		}
		if r.HoldMS != nil && r.Workload != "matchmaking" { // scenarios set how long clients hold
			holds.add(r.HoldMS.P50)
		}
		if ms := inForce(r); ms > 0 {
			broken.add(ms)
		}
	}
	if repeats.n == 0 {
		return ""
	}
	number := func(n float64) string { return lang.Group(int64(math.RoundToEven(n))) } // as the tables do
	rough := func(ms float64) string {
		if ms < 100 {
			return span(say, ms)
		}
		return span(say, math.Round(ms/100)*100)
	}
	text := say.Count(int64(repeats.most), "1 run of each, %[2]s measured", "%[1]s runs of each, %[2]s measured in each", repeats.text(number), lengths.text(rough))
	if rates.n > 0 {
		text = say.Sprintf("%s, %s requests/s", text, rates.text(number))
	}
	if holds.n > 0 {
		text = say.Sprintf("%s, locks held for %s (p50)", text, holds.text(func(ms float64) string { return span(say, ms) }))
	}
	if broken.n > 0 {
		text = say.Sprintf("%s; where something was broken, it was for %s of that, from the order on", text, broken.text(rough))
	}
	text += "."
	if slices.ContainsFunc(rows, mastersDied) {
		text += " " + say.Text("Its clients run inside the masters: one that was killed asked for nothing until it was back, and what they waited for in it is in no count.")
	}
	return text
}

// mastersDied says that a master was killed that had clients of a raw workload in it.
func mastersDied(r result.Row) bool {
	master := func(name string) bool {
		return slices.ContainsFunc(r.Nodes, func(n result.NodeLoad) bool { return n.Node == name && n.Role == "master" })
	}
	return r.Workload != "matchmaking" && slices.ContainsFunc(r.Faults, func(f result.Fault) bool {
		return slices.Contains([]string{"kill", "restart", "zone-failure"}, f.Kind) && slices.ContainsFunc(f.Nodes, master)
	})
}

// broken is when something was broken in one run, in ms, each fault from when it was asked for until
// it had ended, or to the end of the measured part if it began and never did; nil if it is not known
// of all of them that they began. Repeats are taken as alike.
func broken(r result.Row) (all [][2]float64) {
	for _, f := range eachRun(r)[0] {
		ended := f.EndedMS
		switch {
		case ended == result.Never && f.BeganMS != result.Never:
			ended = max(f.AskedMS, runLength(r))
		case ended < f.AskedMS:
			return nil
		}
		all = append(all, [2]float64{f.AskedMS, ended})
	}
	return all
}

// eachRun has the faults of each repeat, whose times are its own: a row has those of the first, then
// those of the next. Where repeats differ in their number they cannot be told apart.
func eachRun(r result.Row) [][]result.Fault {
	n := max(r.Repeats, 1)
	if len(r.Faults) == 0 || len(r.Faults)%n != 0 {
		return [][]result.Fault{r.Faults}
	}
	return slices.Collect(slices.Chunk(r.Faults, len(r.Faults)/n))
}

// lasted is from the first fault of a run to the end of the last one, in ms; 0 if that is not known.
func lasted(r result.Row) float64 {
	all := broken(r)
	if len(all) == 0 {
		return 0
	}
	from, to := math.Inf(1), math.Inf(-1)
	for _, f := range all {
		from, to = min(from, f[0]), max(to, f[1])
	}
	return to - from
}

// inForce is for how long of the measured part something was broken.
func inForce(r result.Row) (ms float64) {
	all := broken(r)
	end := runLength(r)
	slices.SortFunc(all, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	to := 0.0
	for _, f := range all {
		ms += max(min(f[1], end)-max(f[0], to), 0)
		to = max(to, f[1])
	}
	return ms
}

// notBack says that something that was broken was so when the measured part ended.
func notBack(r result.Row) bool {
	return slices.ContainsFunc(r.Faults, func(f result.Fault) bool {
		return f.BeganMS != result.Never && r.MeasuredMS > 0 && (f.EndedMS == result.Never || f.EndedMS >= runLength(r))
	})
}

// runLength is how long one run of a row was measured, in ms.
func runLength(r result.Row) float64 { return float64(r.MeasuredMS) / float64(max(r.Repeats, 1)) }

// spread is from the least to the most of some numbers.
type spread struct {
	least, most float64
	n           int
}

func (s *spread) add(v float64) {
	if s.n == 0 {
		s.least, s.most = v, v
	}
	s.least, s.most, s.n = min(s.least, v), max(s.most, v), s.n+1
}

// text is both ends, or the one where they read alike.
func (s *spread) text(of func(float64) string) string {
	if least := of(s.least); least != of(s.most) {
		return least + "–" + of(s.most)
	}
	return of(s.most)
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
