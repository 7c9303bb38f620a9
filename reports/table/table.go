// Package table has the one table of all reports: columns and rows of cells, made by package view, and its writers
// for a console, Markdown, CSV and HTML. It also has the one way to print numbers.
package table

import (
	"encoding/csv"
	"html/template"
	"io"
	"strings"
	"unicode"
)

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

// Markdown writes the table in GitHub's flavour.
func Markdown(w io.Writer, t Table) error {
	var out strings.Builder
	if t.Title != "" {
		out.WriteString("**" + Escape(t.Title) + "**\n\n")
	}
	for _, c := range t.Columns {
		out.WriteString("| " + Escape(c.title()) + " ")
	}
	out.WriteString("|\n|")
	for _, c := range t.Columns {
		out.WriteString(map[bool]string{true: "--:|", false: "---|"}[c.Right])
	}
	out.WriteString("\n")
	for _, row := range t.Rows {
		for _, c := range row {
			text := Escape(c.String())
			if c.Link != "" {
				text = "[" + text + "](<" + strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", "\n", "").Replace(c.Link) + ">)"
			}
			out.WriteString("| " + text + " ")
		}
		out.WriteString("|\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Escape makes text literal in Markdown, inside tables too.
func Escape(text string) string {
	var out strings.Builder
	letters := []rune(Plain(text))
	word := func(i int) bool {
		return i >= 0 && i < len(letters) && (unicode.IsLetter(letters[i]) || unicode.IsDigit(letters[i]))
	}
	for i, r := range letters {
		if strings.ContainsRune("\\`*{}[]|~<>&", r) || r == '_' && (!word(i-1) || !word(i+1)) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// CSV writes the cells' texts, none of which a spreadsheet runs as a formula.
func CSV(w io.Writer, t Table) error {
	lines := make([][]string, 1+len(t.Rows))
	for _, c := range t.Columns {
		lines[0] = append(lines[0], harmless(c.title()))
	}
	for i, row := range t.Rows {
		for _, c := range row {
			lines[1+i] = append(lines[1+i], harmless(c.Text))
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

func harmless(text string) string {
	if text = Plain(text); text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// HTML is the table for a page. A cell has the class of its mark, the class "unexpected" if it is, and its note
// for pointers and screen readers.
func HTML(t Table) template.HTML {
	var out strings.Builder
	if err := page.Execute(&out, t); err != nil {
		return template.HTML(template.HTMLEscapeString(err.Error())) //nolint:gosec // escaped
	}
	return template.HTML(out.String()) //nolint:gosec // a template of html/template made it
}

//nolint:gochecknoglobals // parsed once; it does not change
var page = template.Must(template.New("").Funcs(template.FuncMap{"plain": Plain, "title": Column.title}).Parse(`<table>
{{- with .Title}}<caption>{{plain .}}</caption>{{end}}
<thead><tr>{{range .Columns}}<th scope="col"{{if .Right}} class="num"{{end}}{{with .Note}} title="{{.}}"{{end}}>
{{- plain (title .)}}</th>{{end}}</tr></thead>
<tbody>{{$columns := .Columns}}{{range .Rows}}
<tr>{{range $i, $c := .}}{{with $c}}{{$column := index $columns $i}}
{{- if $column.Key}}<th scope="row"{{else}}<td class="{{.Mark.Class}}{{if .Unexpected}} unexpected{{end}}
{{- if $column.Right}} num{{end}}"{{end}}{{with .Note}} title="{{.}}"{{end}}>
{{- if .Link}}<a href="{{.Link}}">{{end}}
{{- with .Mark.Glyph}}<span aria-hidden="true">{{.}}</span> {{end}}{{plain .Text}}{{if .Unexpected}}!{{end}}
{{- if not $column.Key}}{{with .Note}}<span class="aloud"> {{.}}</span>{{end}}{{end}}
{{- if .Link}}</a>{{end}}
{{- if $column.Key}}</th>{{else}}</td>{{end}}{{end}}{{end}}</tr>{{end}}
</tbody></table>
`))

// title is the column's on one line.
func (c Column) title() string { return strings.ReplaceAll(c.Title, "\n", " ") }

// Plain makes text of a file safe to print on one line: it replaces control and format characters, among them
// terminal escapes and line ends, by U+FFFD.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) {
			return '\uFFFD'
		}
		return r
	}, text)
}
