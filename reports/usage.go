package reports

import (
	"html/template"
	"slices"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/result"
	"locklab/reports/series"
)

// usage is what the nodes of a row used.
type usage struct {
	Heads []usageHead
	Nodes []usageNode
	Roles []legendEntry
	SVG   template.HTML // over time; "" if no history tells
}

// usageHead is a column of the table.
type usageHead struct {
	Title string
	of    func(result.NodeLoad) *float64
}

type usageNode struct {
	Node, Zone, Ink string
	Cells           []string // as the heads
}

func usageHeads(say *lang.Lang) []usageHead {
	return []usageHead{
		{say.Text("CPUs"), func(n result.NodeLoad) *float64 { return n.CPUs }},
		{say.Text("in the busiest second"), func(n result.NodeLoad) *float64 { return n.CPUsMax }},
		{say.Text("memory, MiB"), func(n result.NodeLoad) *float64 { return n.MemoryMaxMiB }},
		{say.Text("in, bytes/s"), func(n result.NodeLoad) *float64 { return n.InBytesPerS }},
		{say.Text("out, bytes/s"), func(n result.NodeLoad) *float64 { return n.OutBytesPerS }},
	}
}

// usageOf is nil if nothing is known of any node.
func usageOf(say *lang.Lang, r result.Row, over series.Series, title string) *usage {
	if len(r.Nodes) == 0 {
		return nil
	}
	u := &usage{Heads: usageHeads(say)}
	inks := map[string]plots.Ink{}
	for _, n := range r.Nodes {
		ink, known := inks[n.Role]
		if !known {
			ink = plots.LockInk(len(inks))
			inks[n.Role] = ink
			u.Roles = append(u.Roles, legendEntry{plain(orAbsent(n.Role)), string(ink)})
		}
		line := usageNode{Node: plain(n.Node), Zone: orAbsent(plain(n.Zone)), Ink: string(ink)}
		for _, h := range u.Heads {
			text := absent
			if v := h.of(n); v != nil {
				text = figure(*v)
			}
			line.Cells = append(line.Cells, text)
		}
		u.Nodes = append(u.Nodes, line)
	}
	over.Faults = windowsOf(r.Faults, over.DurationMS)
	var lines []plots.UsageLine
	for _, one := range over.Usage {
		i := slices.IndexFunc(r.Nodes, func(n result.NodeLoad) bool { return n.Node == one.Node })
		if i >= 0 {
			one.Node = plain(one.Node)
			lines = append(lines, plots.UsageLine{Ink: inks[r.Nodes[i].Role], Usage: one})
		}
	}
	if len(lines) > 0 {
		u.SVG = template.HTML(plots.Usage(say, title, lines, over)) //nolint:gosec // drawn and escaped by plots
	}
	return u
}
