// Package table has the one table of all reports: columns and rows of cells, made by package view, and its writers
// for a console, Markdown, CSV and HTML. It also has the one way to print numbers.
package table

import "strings"

// Table is columns and rows of cells.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]Cell
}

// Column is how a column is titled and laid out.
type Column struct {
	Title string // a line end breaks it on a console
	Note  string // the meaning, for pages
	Key   bool   // it names the row; every part of a broken table has it
	Right bool   // of numbers
}

// Cell is one value.
type Cell struct {
	Text       string
	Mark       Mark
	Unexpected bool   // not as the scenario expected
	Link       string // of its evidence, for pages
	Note       string // the mark in words, for pages and screen readers
}

// Heads makes columns: a title that begins with = names the row, one that ends in > is of numbers.
func Heads(titles ...string) (columns []Column) {
	for _, t := range titles {
		columns = append(columns, Column{
			Title: strings.TrimPrefix(strings.TrimSuffix(t, ">"), "="),
			Key:   strings.HasPrefix(t, "="), Right: strings.HasSuffix(t, ">"),
		})
	}
	return columns
}

// Row is a row of texts.
func Row(texts ...string) (row []Cell) {
	for _, t := range texts {
		row = append(row, Cell{Text: t})
	}
	return row
}

// Mark is the worst thing that a cell shows.
type Mark int

// The marks, the worst last.
const (
	None Mark = iota
	OK
	Unknown
	Outage
	Violation
)

// Glyph is the mark as one character.
func (m Mark) Glyph() string { return []string{"", "✓", "?", "■", "✗"}[m] }

// Class is the mark as a class of CSS.
func (m Mark) Class() string { return []string{"", "ok", "unknown", "outage", "violation"}[m] }

// String is the cell on one line: glyph, figure, and ! if it is not as expected.
func (c Cell) String() string {
	text := Plain(c.Text)
	if c.Mark != None {
		text = strings.TrimRight(c.Mark.Glyph()+" "+text, " ")
	}
	if c.Unexpected {
		text += "!"
	}
	return text
}
