package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"locklab/internal/must"
)

// TestPortable: the program has no type error on the systems that it is not built on here. Types are
// checked from source, without the bodies of other modules' functions: compiling takes 20 times as long.
func TestPortable(t *testing.T) {
	root, err := filepath.Abs("../..")
	must.Do(t, err)
	for _, system := range []string{"darwin", "freebsd"} {
		t.Run(system, func(t *testing.T) {
			list, err := packages.Load(&packages.Config{
				Mode: packages.LoadAllSyntax,
				Dir:  root + "/cmd",
				Env:  append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system),
				ParseFile: func(files *token.FileSet, name string, text []byte) (*ast.File, error) {
					file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
					if file != nil && !strings.HasPrefix(name, root) {
						for _, d := range file.Decls {
							if f, ok := d.(*ast.FuncDecl); ok {
								f.Body = nil
							}
						}
					}
					return file, err
				},
			}, "./...")
			must.Do(t, err)
			packages.Visit(list, nil, func(p *packages.Package) {
				for _, e := range p.Errors {
					if strings.HasPrefix(p.PkgPath, "locklab") {
						t.Error(e)
					}
				}
			})
		})
	}
}
