package view

import "locklab/reports/table"

// Figures are every figure of every cell: medians of repeats.
func (v *View) Figures() table.Table { return table.Table{} }

// Faults are the ledger's: what was broken in each scenario, when, and whether it was proven.
func (v *View) Faults() table.Table { return table.Table{} }

// Machines are how busy the machines were.
func (v *View) Machines() table.Table { return table.Table{} }

// Nodes are what the processes of each role used.
func (v *View) Nodes() table.Table { return table.Table{} }

// Peers are how the masters fared.
func (v *View) Peers() table.Table { return table.Table{} }

// Claims are those of a suite, as the rows decide them.
func (v *View) Claims() table.Table { return table.Table{} }

// Facts are lines about the run: where, when and with what.
func (v *View) Facts() table.Table { return table.Table{} }
