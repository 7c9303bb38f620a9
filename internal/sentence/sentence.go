// Package sentence has what is told as a form and the values that are put into it, so that
// who tells it needs no language, and who reads it can have any: the form, in English, is
// the key of the catalogue in reports/lang.
package sentence

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Text is a clause: a form of package fmt with what stands for its verbs, or a name or
// number, which is the same in every language. In JSON a name is a string.
type Text struct {
	Form string
	Args []Text
	Name string
}

// Of is a clause. Its form is a constant, which a test looks for in the catalogues; a value
// is a Text, a length of time, which is told as Lasting does, or is written as its verb says.
func Of(form string, args ...any) Text {
	t := Text{Form: form}
	next := 0
	for _, v := range verb.FindAllString(form, -1) {
		if v == "%%" || next == len(args) {
			continue
		}
		switch arg := args[next].(type) {
		case Text:
			t.Args = append(t.Args, arg)
		case time.Duration:
			t.Args = append(t.Args, Lasting(arg))
		default:
			t.Args = append(t.Args, Name(fmt.Sprintf(v, arg)))
		}
		next++
	}
	return t
}

// Count is a clause about a number of things, which is the first value of the second form.
func Count(n int64, one, many string, args ...any) Text {
	if n == 1 {
		return Of(one, args...)
	}
	return Of(many, append([]any{Name(Group(n))}, args...)...)
}

// Term is a word of a list that the test of the catalogues knows.
func Term(word string) Text { return Text{Form: word} }

// Name is what is said alike in every language.
func Name(name string) Text { return Text{Name: name} }

// Key marks a word that is told as a Term elsewhere.
func Key(word string) string { return word }

// And joins clauses: a and b and c.
func And(all ...Text) Text {
	return joined(all, func(a, b Text) Text { return Of("%s and %s", a, b) })
}

// Or joins alternatives: a or b or c.
func Or(all ...Text) Text {
	return joined(all, func(a, b Text) Text { return Of("%s or %s", a, b) })
}

func joined(all []Text, join func(a, b Text) Text) Text {
	if len(all) == 0 {
		return Text{}
	}
	t := all[0]
	for _, next := range all[1:] {
		t = join(t, next)
	}
	return t
}

// First is the first of them that says something.
func First(all ...Text) Text {
	for _, t := range all {
		if !t.IsZero() {
			return t
		}
	}
	return Text{}
}

// IsZero says that it says nothing.
func (t Text) IsZero() bool { return t.Form == "" && t.Name == "" }

// Deepest is how deep clauses may be put into each other where they are written to a file. None
// that is said comes near it, and strictjson reads twice that many objects and lists, and what
// they stand in.
const Deepest = 40

// Depth is how deep clauses are put into each other: 1 if none is, 0 of a name.
func (t Text) Depth() int {
	if t.Form == "" {
		return 0
	}
	deepest := 0
	for _, inner := range t.Args {
		deepest = max(deepest, inner.Depth())
	}
	return deepest + 1
}

// String is the English.
func (t Text) String() string { return t.In(func(english string) string { return english }) }

// Whole is the English as a sentence: with a capital and a full stop.
func (t Text) Whole() string {
	text := t.String()
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

// verb is one of fmt, with the number of its argument if it has one.
var verb = regexp.MustCompile(`%(?:\[(\d+)\])?[+#-]*[\d.]*[a-z%]`)

// longest is about how many bytes a clause of a file is told in: a value that is taken twice, of
// one that takes its own twice, and so on, would fill any memory.
const longest = 1 << 20

// In is the clause with its forms translated. A translation may take the values in another
// order, as in %[2]s. What would be far too long ends in dots.
func (t Text) In(translate func(form string) string) string {
	left := longest
	return t.in(translate, &left)
}

func (t Text) in(translate func(form string) string, left *int) string {
	if *left <= 0 {
		return "…"
	}
	*left -= 1 + len(t.Form) + len(t.Name)
	if t.Form == "" {
		return t.Name
	}
	form, next := translate(t.Form), 0
	if len(t.Args) == 0 && !strings.Contains(form, "%%") {
		return form
	}
	return verb.ReplaceAllStringFunc(form, func(v string) string {
		if v == "%%" {
			return "%"
		}
		if n := verb.FindStringSubmatch(v)[1]; n != "" {
			next, _ = strconv.Atoi(n) // the pattern is of digits
			next--
		}
		next++
		if next < 1 || next > len(t.Args) {
			return v
		}
		return t.Args[next-1].in(translate, left)
	})
}

// clause is a Text in JSON.
type clause struct {
	Form string `json:"form"`
	Args []Text `json:"args,omitempty"`
}

// MarshalJSONTo writes a name as a string, and a clause as an object.
func (t Text) MarshalJSONTo(out *jsontext.Encoder) error {
	if t.Form == "" {
		return out.WriteToken(jsontext.String(t.Name))
	}
	return json.MarshalEncode(out, clause{t.Form, t.Args})
}

// UnmarshalJSONFrom reads what MarshalJSONTo wrote.
func (t *Text) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	if in.PeekKind() == '"' {
		*t = Text{}
		return json.UnmarshalDecode(in, &t.Name)
	}
	var c clause
	err := json.UnmarshalDecode(in, &c)
	*t = Text{Form: c.Form, Args: c.Args}
	return err
}
