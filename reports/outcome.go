package reports

import (
	"bytes"
	"errors"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// Outcome is what a row came to, in few words, for a page that follows a comparison.
type Outcome struct {
	Shape, Word, Class string // of the verdict
	Lines              []OutcomeLine
}

// OutcomeLine is one of the figures that every lock is told by.
type OutcomeLine struct{ Shape, Name, Value, Class string }

// OutcomeOf says what a row came to as the matrix of its report does.
func OutcomeOf(say *lang.Lang, row result.Row) Outcome {
	row = result.Clean(result.File{Results: []result.Row{row}}).Results[0]
	c := cellOf(say, row, violationOf([]result.Row{row}))
	o := Outcome{Shape: c.Status.Shape, Word: c.Status.Word, Class: c.Status.Class}
	for i, l := range c.Lines {
		var parts []string
		for _, p := range c.Lines[i+1:] {
			if !p.Part {
				break
			}
			parts = append(parts, p.Name+" "+p.Value)
		}
		if !l.Part {
			o.Lines = append(o.Lines, OutcomeLine{l.Meaning.Shape(), l.Name, strings.TrimSpace(l.Value + " " + bracketed(strings.Join(parts, ", "))), l.Meaning.Class()})
		}
	}
	return o
}

// Style is the style sheet of the pages, with colours for both schemes that an attribute of
// the page, data-theme, can fix as light or dark.
func Style() ([]byte, error) {
	css, err := assets.ReadFile("assets/page.css")
	if err != nil {
		return nil, err
	}
	light, dark, err := schemes(css)
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{
		css,
		[]byte(":root[data-theme=light] {"), light, []byte(" color-scheme: light; }\n:root[data-theme=dark] {"), dark, []byte(" color-scheme: dark; }\n"),
	}, nil), nil
}

// schemes are the declarations of the two colour schemes of the style sheet: those of its
// first :root, and those of the one for dark screens.
func schemes(css []byte) (light, dark []byte, err error) {
	_, after, found := bytes.Cut(css, []byte(":root {"))
	light, after, closed := bytes.Cut(after, []byte("}"))
	_, after, second := bytes.Cut(after, []byte("(prefers-color-scheme: dark) {"))
	_, after, inside := bytes.Cut(after, []byte(":root {"))
	dark, _, also := bytes.Cut(after, []byte("}"))
	if !found || !closed || !second || !inside || !also {
		return nil, nil, errors.New("page.css: want :root { ... } and then one for prefers-color-scheme: dark")
	}
	return light, dark, nil
}
