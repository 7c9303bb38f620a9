package main

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"html"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"locklab/cmd/locklab/internal/suite"
	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/reports/compare"
	"locklab/workloads/result"
)

// texts are the keys of the catalogue that the program needs, each with where it was found.
type texts map[string]string

// TestTextsAreAllTranslated takes the texts from the code, the templates and the lists that
// reports show, and compares them with the catalogue.
func TestTextsAreAllTranslated(t *testing.T) {
	root := filepath.Join("..", "..")
	needed := texts{}
	for _, dir := range []string{"chaos", "cmd", "internal", "locks", "nodes", "reports", "verify", "workloads"} {
		for name, files := range sources(t, filepath.Join(root, dir)) {
			needed.ofCode(t, name, files)
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, "reports", "view", "assets", "*.html"))
	if err != nil || len(pages) < 4 {
		t.Fatalf("found %d templates: %v", len(pages), err)
	}
	live, err := filepath.Glob(filepath.Join(root, "reports", "live", "assets", "*.html"))
	if err != nil || len(live) < 2 {
		t.Fatalf("found %d templates of the live page: %v", len(live), err)
	}
	for _, page := range append(pages, live...) {
		needed.ofTemplate(t, page)
	}
	needed.ofLists(t)

	var korean struct{ Texts map[string]string }
	must.Do(t, yaml.Unmarshal(testfile.Read(t, filepath.Join(root, "reports", "lang", "ko.yaml")), &korean))
	for _, text := range slices.Sorted(maps.Keys(needed)) {
		if korean.Texts[text] == "" {
			t.Errorf("ko.yaml has no Korean for %q (%s)", text, needed[text])
		}
	}
	for text, translated := range korean.Texts {
		if needed[text] == "" {
			t.Errorf("ko.yaml has %q, which nothing says any more", text)
		}
		if have, want := values(translated), values(text); !slices.Equal(have, want) && strings.Contains(text, "%") {
			t.Errorf("%q puts in %v, its Korean %v", text, want, have)
		}
	}
}

// values are the verbs of a format by the numbers of their arguments.
func values(format string) []string {
	all := map[int]string{}
	next := 1
	for _, m := range regexp.MustCompile(`%(?:\[(\d+)\])?([+#-]*[\d.]*[sdvqfg%])`).FindAllStringSubmatch(format, -1) {
		switch {
		case m[2] == "%":
			continue
		case m[1] != "":
			next = int(m[1][0] - '0')
		}
		all[next] = m[2]
		next++
	}
	var out []string
	for _, n := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[n])
	}
	return out
}

// sources are the files of each package below a directory, without tests.
func sources(t *testing.T, root string) map[string][]*ast.File {
	t.Helper()
	packages := map[string][]*ast.File{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
		return err
	})
	must.Do(t, err)
	return packages
}

// ofCode takes what say, lang and sentence are told: constants only, so that nothing is
// missed.
func (all texts) ofCode(t *testing.T, name string, files []*ast.File) {
	t.Helper()
	constants := map[string]ast.Expr{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
				for i, id := range spec.Names {
					constants[id.Name] = spec.Values[i]
				}
			}
			return true
		})
	}
	var text func(e ast.Expr) (string, bool)
	text = func(e ast.Expr) (string, bool) {
		switch e := e.(type) {
		case *ast.BasicLit:
			return constant.StringVal(constant.MakeFromLiteral(e.Value, e.Kind, 0)), e.Kind == token.STRING
		case *ast.BinaryExpr:
			a, known := text(e.X)
			b, also := text(e.Y)
			return a + b, known && also
		case *ast.Ident:
			value, known := constants[e.Name]
			if !known {
				return "", false
			}
			return text(value)
		}
		return "", false
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			who := "" // say, or the field say of a view
			switch x := method.X.(type) {
			case *ast.Ident:
				who = x.Name
			case *ast.SelectorExpr:
				who = x.Sel.Name
			}
			if !slices.Contains([]string{"say", "lang", "sentence"}, who) {
				return true
			}
			takes := map[string][]int{"Text": {0}, "Sprintf": {0}, "Count": {1, 2}, "Key": {0}}[method.Sel.Name]
			if who == "sentence" && method.Sel.Name == "Of" {
				takes = []int{0}
			}
			if method.Sel.Name == "Titles" {
				for i := range call.Args {
					takes = append(takes, i)
				}
			}
			for _, i := range takes {
				english, known := text(call.Args[i])
				if !known {
					t.Errorf("%s: %s.%s is told what is no constant; a word of a list goes through Term", name, who, method.Sel.Name)
					continue
				}
				all[strings.Trim(english, "=>")] = name
			}
			return true
		})
	}
}

// ofTemplate takes what t, tf and tm are told, and finds words that no one of them says.
func (all texts) ofTemplate(t *testing.T, path string) {
	t.Helper()
	data := testfile.Read(t, path)
	for _, call := range regexp.MustCompile(`\b(?:t|tf|tm) ("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(string(data), -1) {
		english, err := strconv.Unquote(call[1])
		must.Do(t, err)
		all[english] = path
	}
	// What a template says by itself is no language: names of files, of commands, of us.
	static := regexp.MustCompile(`(?s)<code>.*?</code>|\{\{.*?\}\}`).ReplaceAllString(string(data), "\x00")
	for _, attribute := range regexp.MustCompile(`(?:aria-label|title|alt|data-label)="([^"\x00]*[A-Za-z][^"\x00]*)"`).FindAllStringSubmatch(static, -1) {
		t.Errorf("%s: %q is in no catalogue", path, attribute[1])
	}
	if strings.HasSuffix(path, ".html") {
		static = html.UnescapeString(regexp.MustCompile(`(?s)<[^>]*>`).ReplaceAllString(static, " "))
	}
	static = regexp.MustCompile(`locklab( check .*--explain 1)?|<br>|results\.csv|result\.json`).ReplaceAllString(static, " ")
	for _, word := range regexp.MustCompile(`[A-Za-z]{2,}[^<>\x00]*`).FindAllString(static, -1) {
		t.Errorf("%s: %q is in no catalogue", path, strings.TrimSpace(word))
	}
}

// ofLists takes what Term is told word by word.
func (all texts) ofLists(t *testing.T) {
	t.Helper()
	add := func(where string, words ...string) {
		for _, word := range words {
			if regexp.MustCompile(`[a-z]{2}|/s`).MatchString(word) {
				all[word] = where
			}
		}
	}
	for _, f := range result.Figures() {
		add("figures.go", f.Means)
	}
	add("codes.go", slices.Collect(maps.Values(result.Titles()))...)
	add("result.go", result.Safe, result.Unsafe, result.Live, result.Stalls, result.Down, result.Dead, result.NotJudged,
		string(result.OK), string(result.Failed), string(result.Unknown),
		string(result.AsExpected), string(result.NotAsExpected), string(result.Silent), string(result.Unsound),
		result.ClaimShown, result.ClaimRefuted, result.ClaimPartly, result.ClaimUndecided, result.ClaimNotRun)
	add("compare", string(compare.Worse), string(compare.Better), string(compare.Other))
	add("page", "unreachable")
	for _, name := range suite.Names() {
		s, err := suite.Load(name)
		must.Do(t, err)
		for _, c := range s.Claims {
			add("suite "+s.Name, c.Claim, c.Source)
		}
	}
}
