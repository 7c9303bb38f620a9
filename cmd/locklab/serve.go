package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// serveReports shows the reports below a directory to browsers until ctx ends:
// files as they are, and the list of reports at the root. It changes nothing.
func serveReports(ctx context.Context, addr, dir string, stderr io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("--serve %s: want HOST:PORT of this machine: %w", addr, err)
	}
	server := &http.Server{
		Handler:           reportPages(dir),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // answers are files: nothing is lost
	defer stop()
	fmt.Fprintf(stderr, "locklab: reports below %s at http://%s\n", dir, listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--serve %s: %w", addr, err)
	}
	return nil
}

// reportPages serves the directory, which may appear later.
func reportPages(dir string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = listPage().Execute(w, finishedReports(dir)) // a browser that went away needs no list
	})
	mux.HandleFunc("GET /{path...}", func(w http.ResponseWriter, r *http.Request) {
		name := path.Clean(r.PathValue("path"))
		root, err := os.OpenRoot(dir) // no link leads out of it
		if err != nil || slices.ContainsFunc(strings.Split(name, "/"), hidden) {
			http.NotFound(w, r)
			return
		}
		defer func() { _ = root.Close() }() // only read
		http.FileServerFS(root.FS()).ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache")
		mux.ServeHTTP(w, r)
	})
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// finishedReports are the directories with a page, newest first.
func finishedReports(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there is none yet
	}
	type report struct {
		name string
		at   time.Time
	}
	var found []report
	for _, e := range entries {
		page, err := fs.Stat(os.DirFS(dir), path.Join(e.Name(), "index.html"))
		if err == nil && e.IsDir() && !hidden(e.Name()) {
			found = append(found, report{e.Name(), page.ModTime()})
		}
	}
	slices.SortFunc(found, func(a, b report) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.name, a.name)) })
	var names []string
	for _, r := range found {
		names = append(names, r.name)
	}
	return names
}

func listPage() *template.Template {
	return template.Must(template.New("list").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>locklab reports</title>
<style>body{font:1rem/1.6 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}</style>
<h1>Reports</h1>
{{if .}}<ul>{{range .}}<li><a href="{{.}}/">{{.}}</a></li>{{end}}</ul>
{{else}}<p>None is finished yet. Reload this page when the comparison has ended.</p>{{end}}
</html>
`))
}
