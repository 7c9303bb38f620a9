package lang

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pattern is the form of a recorded sentence: what matches it is told as the translation
// says, with what stands for each verb, translated likewise.
type pattern struct {
	english *regexp.Regexp
	needle  string // what the sentence has whatever its values are, to pass over others fast
	text    string
}

// verb is one of fmt, with the number of its argument if it has one.
var verb = regexp.MustCompile(`%(?:\[(\d+)\])?[+#-]*[\d.]*([sdvqfg%])`)

// patternsOf has what is longest, and so says most, first.
func patternsOf(recorded map[string]string) ([]pattern, error) {
	var all []pattern
	longest := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	for _, english := range slices.SortedFunc(maps.Keys(recorded), longest) {
		var form strings.Builder
		rest, needle := english, ""
		literal := func(text string) {
			form.WriteString(regexp.QuoteMeta(text))
			if len(text)-1 > len(needle) { // the first letter may be a capital
				needle = text[1:]
			}
		}
		for {
			at := verb.FindStringSubmatchIndex(rest)
			if at == nil {
				break
			}
			literal(rest[:at[0]])
			switch rest[at[4]:at[5]] {
			case "d":
				form.WriteString(`(-?[\d,]+)`)
			case "f", "g":
				form.WriteString(`([+-]?[\d,.]+)`)
			case "q":
				form.WriteString(`("(?:[^"\\]|\\.)*")`)
			case "%":
				form.WriteString("%")
			default:
				form.WriteString(`(.+?)`)
			}
			rest = rest[at[1]:]
		}
		literal(rest)
		re, err := regexp.Compile("^(?is)" + form.String() + "$")
		if err != nil {
			return nil, fmt.Errorf("recorded %q: %w", english, err)
		}
		all = append(all, pattern{re, needle, recorded[english]})
	}
	return all, nil
}

// Recorded is an error that somebody is told on the live page, whoever made it. What has no
// known form stays as it is.
func (l *Lang) Recorded(text string) string { return l.known(text, 9) }

// known goes as many levels deep as sentences stand in sentences.
func (l *Lang) known(text string, levels int) string {
	if levels == 0 || text == "" || l.Tag == EnglishTag {
		return text
	}
	if told, found := l.texts[text]; found {
		return told
	}
	if body, ends := strings.CutSuffix(text, "."); ends {
		return l.known(body, levels-1) + "."
	}
	for _, p := range l.recorded {
		if !strings.Contains(text, p.needle) {
			continue
		}
		found := p.english.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		next := 0
		return verb.ReplaceAllStringFunc(p.text, func(v string) string {
			if strings.HasSuffix(v, "%") {
				return "%"
			}
			at := next
			if m := verb.FindStringSubmatch(v); m[1] != "" {
				at, _ = strconv.Atoi(m[1]) // the pattern is of digits
				at--
			} else {
				next++
			}
			if at < 0 || at+1 >= len(found) {
				return v
			}
			return l.known(found[at+1], levels-1)
		})
	}
	return text
}
