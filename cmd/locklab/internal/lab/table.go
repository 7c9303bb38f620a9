package lab

import (
	"path/filepath"
	"slices"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
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

type rowKey struct{ lock, scenario, workload string }

func keyOf(row result.Row) rowKey { return rowKey{row.Lock, row.Scenario, row.Workload} }

func (c *Config) key(lock catalog.Lock, s scenario.Scenario) rowKey {
	return rowKey{lock.String(), s.Name, c.Workload.Name}
}

// newTable begins a table that shows lock by lock, in the user's order, although each
// comparison runs scenario by scenario.
func newTable(parts []Config, file *result.File) *table {
	t := &table{file: file, path: filepath.Join(parts[0].Dir, result.FileName), rows: map[rowKey]result.Row{}}
	for i := range parts {
		for _, lock := range parts[i].Locks {
			for _, s := range parts[i].Scenarios {
				t.order = append(t.order, parts[i].key(lock, s))
			}
		}
	}
	return t
}

// keep takes over the rows of an earlier result, as they were before --fail-on: also those
// that are to be run again, until that begins, and those that nobody asks for any more.
func (t *table) keep(earlier result.File) {
	for _, row := range earlier.Results {
		row.Verdict.Restore()
		t.rows[keyOf(row)] = row
		if !slices.Contains(t.order, keyOf(row)) {
			t.order = append(t.order, keyOf(row))
		}
	}
	t.file.Run.DurationMS = earlier.Run.DurationMS
	t.list()
}

// done says that there is a whole row already.
func (t *table) done(key rowKey) bool {
	row, there := t.rows[key]
	return there && !row.Partial
}

// put adds the row, or replaces the one of fewer repeats.
func (t *table) put(row result.Row) error {
	if !slices.Contains(t.order, keyOf(row)) {
		t.order = append(t.order, keyOf(row))
	}
	t.rows[keyOf(row)] = row
	t.list()
	return t.save()
}

// drop takes a row out that is to be measured anew.
func (t *table) drop(key rowKey) error {
	delete(t.rows, key)
	t.list()
	return t.save()
}

func (t *table) list() {
	t.file.Results = t.file.Results[:0:0] // whoever has the old list keeps it
	for _, key := range t.order {
		if row, done := t.rows[key]; done {
			t.file.Results = append(t.file.Results, row)
		}
	}
}

func (t *table) save() error { return result.Write(t.path, *t.file) }
