// Package lang has the texts of reports and of the console in the languages that they are
// written in.
//
// A text is written where it is used, in English, and that is its key:
//
//	say.Text("No faults.")
//	say.Sprintf("%s under %s", lock, scenario)
//	table.Heads(say.Titles("=lock", "runs>")...)
//	{{t "No faults."}}, {{tf "%d runs side by side" .N}} in a template
//
// ko.yaml has the same in Korean. A test takes all texts from the code and the templates, and fails if one is
// missing there, is left over, or takes other values. Texts are sentences or clauses, because other languages
// order their parts differently. In Korean no particle follows a name, because particles depend on its last sound.
//
// A package that knows no language makes a [sentence.Text], with a key of the same catalogue and its values: see
// [Lang.Tell]. Errors are in English only.
package lang

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"locklab/internal/sentence"
)

// The languages, by their BCP 47 tags.
const (
	EnglishTag = "en"
	KoreanTag  = "ko"
)

//go:embed ko.yaml
var korean []byte

// Lang is a language with its texts. English needs no catalogue: its texts are the keys.
type Lang struct {
	Tag, Name string // the name is in the language itself
	texts     map[string]string
}

// All returns the languages that a report is written in, the default first.
func All() []*Lang { return []*Lang{English(), {KoreanTag, "한국어", koreanTexts()}} }

//nolint:gochecknoglobals // read once; it does not change
var koreanTexts = sync.OnceValue(func() map[string]string {
	var c struct{ Texts map[string]string }
	if err := yaml.Unmarshal(korean, &c); err != nil {
		panic("ko.yaml, which is built in: " + err.Error())
	}
	return c.Texts
})

// English is the language of the code.
func English() *Lang { return &Lang{Tag: EnglishTag, Name: "English"} }

// Of returns the language with a tag.
func Of(tag string) (*Lang, error) {
	all := All()
	if i := slices.IndexFunc(all, func(l *Lang) bool { return l.Tag == tag }); i >= 0 {
		return all[i], nil
	}
	return nil, errors.New("want " + strings.Join(Tags(), " or "))
}

// Tags are the tags of all languages.
func Tags() []string { return []string{EnglishTag, KoreanTag} }

// Text translates a text. A missing one stays English; a test finds it.
func (l *Lang) Text(english string) string {
	if text, found := l.texts[english]; found {
		return text
	}
	return english
}

// Sprintf translates a text with values; a translation may take them in another order, as in %[2]s.
func (l *Lang) Sprintf(english string, args ...any) string {
	if l.Tag == EnglishTag {
		return fmt.Sprintf(english, args...)
	}
	return fmt.Sprintf(l.Text(english), args...)
}

// Count translates a text about a number of things, as in Count(n, "1 lock", "%s locks").
func (l *Lang) Count(n int, one, many string) string {
	if n == 1 {
		return l.Text(one)
	}
	return l.Sprintf(many, sentence.Group(int64(n)))
}

// Titles translates titles of columns and keeps the marks of table.Heads, = before and > behind.
func (l *Lang) Titles(english ...string) (titles []string) {
	for _, title := range english {
		text := strings.Trim(title, "=>")
		titles = append(titles, strings.Replace(title, text, l.Text(text), 1))
	}
	return titles
}

// Term translates a word that is no constant of the code but in a list that the test knows, such as a figure's
// title.
func (l *Lang) Term(english string) string { return l.Text(english) }

// Tell translates a text of a package that knows no language.
func (l *Lang) Tell(t sentence.Text) string { return t.In(l.Text) }

// Key marks a text that is translated elsewhere.
func Key(english string) string { return english }
