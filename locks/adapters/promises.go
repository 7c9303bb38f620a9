package adapters

import (
	"debug/buildinfo"
	"errors"
	"os/exec"
	"runtime/debug"
	"strings"

	_ "embed" // the promises

	"locklab/internal/strictyaml"
)

//go:embed promises.yaml
var promises []byte

// Promise is what the documentation of a library says that it prevents.
type Promise struct {
	page string
	says map[string]string // by the letters of the anomalies that a sentence rules out
	pack string            // Debian's package, or the Go module
	name string            // of the adapter
}

// Of is what the documentation says about an anomaly, with its address; "" if it promises nothing.
func (p Promise) Of(letter string) string {
	for letters, says := range p.says {
		if strings.Contains(letters, letter) {
			return says + " (" + p.page + ")"
		}
	}
	return ""
}

// Version is that of the library on this machine; "" if it is not known.
func (p Promise) Version() string {
	out, err := exec.Command("dpkg-query", "-W", "-f", "${Version}", p.pack).Output() //nolint:noctx // it only looks
	if err == nil {
		return p.pack + " " + string(out)
	}
	info, own := debug.ReadBuildInfo() // of a library in this program
	if a, is := Find(p.name); is {
		words, err := a.finds()
		if err != nil {
			return ""
		}
		info, err = buildinfo.ReadFile(words[0])
		own = err == nil
	}
	for i := 0; own && i < len(info.Deps); i++ {
		if m := info.Deps[i]; m.Path == p.pack {
			return m.Path + " " + m.Version
		}
	}
	return ""
}

// Promises are those of libraries, by the names of their adapters.
func Promises() map[string]Promise {
	all := map[string]Promise{}
	doc, err := strictyaml.Parse("promises.yaml", promises, ErrNotInstalled)
	for _, n := range doc.Root.List() {
		f := n.Fields("rows", "package", "page", "promises")
		p := Promise{page: f.Get("page").Text(), pack: f.Get("package").Text(), says: map[string]string{}}
		letters := f.Get("promises").Fields()
		for _, name := range letters.Names() {
			p.says[name] = letters.Get(name).Text()
		}
		for _, row := range f.Get("rows").List() {
			p.name = row.Text()
			all[p.name] = p
		}
	}
	if err := errors.Join(err, doc.Err()); err != nil {
		panic(err) // a test reads it
	}
	return all
}
