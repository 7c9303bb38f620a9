package reports

import (
	"bytes"
	"strings"
	"text/template"

	"locklab/reports/lang"
)

// markdown fills a template of GitHub-flavoured Markdown. What comes from files goes
// through md or code there.
func markdown(say *lang.Lang, name, file string, data any) ([]byte, error) {
	funcs, err := texts(say, file)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Funcs(funcs).Funcs(template.FuncMap{"md": md, "code": code}).ParseFS(assets, "assets/report.md", "assets/claims.md", "assets/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, err
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n'), nil
}

// md makes text literal in Markdown, inside tables too.
func md(text string) string {
	var b strings.Builder
	for _, r := range plain(text) {
		switch {
		case strings.ContainsRune("\\`*_{}[]|~", r):
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// code makes a code span; a bar would end a table's cell even in there.
func code(text string) string {
	text = strings.ReplaceAll(plain(text), "|", "\\|")
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}
