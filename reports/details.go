package reports

import "locklab/reports/result"

// details is the table of all fields. Columns without any figure are only named.
type details struct {
	Groups  []columnGroup
	Columns []column
	Rows    []detailRow
	Missing []string
}

type columnGroup struct {
	Name string
	Span int
}

type detailRow struct {
	Lock  string // the row's header
	Cells []detailCell
}

type detailCell struct {
	Shown, Raw string
	Text, Long bool
}

func detailsOf(rows []result.Row) details {
	var d details
	for _, c := range columns() {
		used := false
		for _, r := range rows {
			used = used || c.Raw(r) != ""
		}
		if !used {
			d.Missing = append(d.Missing, c.Name)
			continue
		}
		d.Columns = append(d.Columns, c)
		if n := len(d.Groups); n > 0 && d.Groups[n-1].Name == c.Group {
			d.Groups[n-1].Span++
		} else {
			d.Groups = append(d.Groups, columnGroup{c.Group, 1})
		}
	}
	for _, r := range rows {
		line := detailRow{Lock: plain(r.Lock)}
		for _, c := range d.Columns {
			if c.Name != "lock" {
				line.Cells = append(line.Cells, detailCell{c.Shown(r), plain(c.Raw(r)), c.Text, c.Long})
			}
		}
		d.Rows = append(d.Rows, line)
	}
	return d
}
