package lab

import (
	"path/filepath"

	"locklab/reports/result"
)

// table is the result of a comparison while it grows. It is on disk after every change,
// so that whatever ends this process leaves what was measured.
type table struct {
	file  *result.File
	path  string
	order []rowKey
	rows  map[rowKey]result.Row
}

type rowKey struct{ lock, scenario string }

// newTable begins a table that shows lock by lock, in the user's order, although the
// comparison runs scenario by scenario.
func (c *Config) newTable(file *result.File) *table {
	t := &table{file: file, path: filepath.Join(c.Dir, result.FileName), rows: map[rowKey]result.Row{}}
	for _, lock := range c.Locks {
		for _, s := range c.Scenarios {
			t.order = append(t.order, rowKey{lock.String(), s.Name})
		}
	}
	return t
}

// put adds the row, or replaces the one of fewer repeats.
func (t *table) put(row result.Row) error {
	t.rows[rowKey{row.Lock, row.Scenario}] = row
	t.file.Results = t.file.Results[:0:0] // whoever has the old list keeps it
	for _, key := range t.order {
		if row, done := t.rows[key]; done {
			t.file.Results = append(t.file.Results, row)
		}
	}
	return t.save()
}

func (t *table) save() error { return result.Write(t.path, *t.file) }
