package reports

import (
	"fmt"
	"html/template"
	"path"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// texts is what templates say texts with: t a text, tf one with values, tm one that has
// markup of ours and values that have none, term a word of a list; and what the page of a
// file has to know of its language.
func texts(say *lang.Lang, file string) (map[string]any, error) {
	all, err := lang.All()
	if err != nil {
		return nil, err
	}
	type page struct{ Href, Tag, Name string }
	var others []page
	for _, l := range all {
		if l.Tag != say.Tag {
			others = append(others, page{FileIn(l, file), l.Tag, l.Name})
		}
	}
	format := say.Sprintf
	return map[string]any{
		"t": say.Text, "tf": format, "term": say.Term,
		"tm": func(markup string, args ...any) template.HTML {
			for i, arg := range args {
				if _, safe := arg.(template.HTML); !safe {
					args[i] = template.HTMLEscapeString(fmt.Sprint(arg))
				}
			}
			return template.HTML(format(markup, args...)) //nolint:gosec // our own texts, with values that were escaped
		},
		"codes": func(words []string) template.HTML {
			marked := make([]string, len(words))
			for i, word := range words {
				marked[i] = "<code>" + template.HTMLEscapeString(word) + "</code>"
			}
			return template.HTML(strings.Join(marked, ", ")) //nolint:gosec // they were escaped
		},
		"breaks": func(spec string) template.HTML { // between the options of a lock, where a line may end if it is long
			const long = 18
			if len(spec) < long {
				return template.HTML(template.HTMLEscapeString(spec)) //nolint:gosec // it was escaped
			}
			return template.HTML(strings.NewReplacer(":", ":<wbr>", ",", ",<wbr>").Replace(template.HTMLEscapeString(spec))) //nolint:gosec // it was escaped
		},
		"lang":   func() string { return say.Tag },
		"file":   func(name string) string { return FileIn(say, name) },
		"others": func() []page { return others },
	}, nil
}

// FileIn is the name of a file of a report in a language: index.html, index.ko.html.
func FileIn(say *lang.Lang, name string) string {
	if say.Tag == lang.EnglishTag {
		return name
	}
	ending := path.Ext(name)
	return strings.TrimSuffix(name, ending) + "." + say.Tag + ending
}

// why is what decided a verdict, safe to print.
func why(say *lang.Lang, v result.Verdict) string { return plain(say.Whole(v.Told())) }

// warnings are those of a run, safe to print.
func warnings(say *lang.Lang, r result.Run) []string {
	out := make([]string, len(r.Warnings))
	for i := range out {
		out[i] = plain(say.Tell(r.Warning(i)))
	}
	return out
}
