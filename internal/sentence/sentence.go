// Package sentence has texts as an English format with its arguments: package reports/lang translates the format.
package sentence

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Text is a clause: a form of package fmt with what stands for its verbs, or a name or
// number, which is the same in every language.
type Text struct {
	Form string
	Args []Text
	Name string
}

// Of is a clause. Its form is a constant, which a test looks for in the catalogues; a value
// is a Text, or is written as its verb says.
func Of(form string, args ...any) Text {
	t := Text{Form: form}
	next := 0
	for _, v := range verb.FindAllString(form, -1) {
		if v == "%%" || next == len(args) {
			continue
		}
		arg, is := args[next].(Text)
		if !is {
			arg = Name(fmt.Sprintf(v, args[next]))
		}
		t.Args = append(t.Args, arg)
		next++
	}
	return t
}

// Name is what is said alike in every language.
func Name(name string) Text { return Text{Name: name} }

// String is the English.
func (t Text) String() string { return t.In(func(english string) string { return english }) }

// verb is one of fmt, with the number of its argument if it has one.
var verb = regexp.MustCompile(`%(?:\[(\d+)\])?[+#-]*[\d.]*[a-z%]`)

// In is the clause with its forms translated. A translation may take the values in another
// order, as in %[2]s.
func (t Text) In(translate func(form string) string) string {
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
		return t.Args[next-1].In(translate)
	})
}
