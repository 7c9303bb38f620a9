package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/internal/httpapi"
	"locklab/reports/lang"
	"locklab/reports/page"
	"locklab/reports/table"
	"locklab/reports/view"
	"locklab/workloads/result"
)

// serveReports shows the reports below a directory to browsers until ctx ends:
// files as they are, and the list of reports at the root. It changes nothing.
func serveReports(ctx context.Context, addr, dir string, stderr io.Writer) error {
	listener, err := listenOn(ctx, "--serve", addr, "want HOST:PORT of this machine")
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "locklab: reports below %s at http://%s\n", dir, listener.Addr())
	if err := httpapi.Serve(ctx, listener, reportPages(dir), slog.New(slog.DiscardHandler)); err != nil {
		return fmt.Errorf("--serve %s: %w", addr, err)
	}
	return nil
}

// reportPages serves the directory, which may appear later.
func reportPages(dir string) http.Handler {
	mux := http.NewServeMux()
	list := func(tag string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			page, err := listPage(tag, dir)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(page) // a browser that went away needs no list
		}
	}
	mux.HandleFunc("GET /{$}", list(lang.EnglishTag))
	mux.HandleFunc("GET /index.ko.html", list(lang.KoreanTag))
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

// listPage is the list of the reports, in a language.
func listPage(tag, dir string) ([]byte, error) {
	say, err := lang.Of(tag)
	if err != nil {
		return nil, err
	}
	list := page.Section{Title: say.Text("Reports")}
	list.Table.Columns = table.Heads(say.Titles("=report", "started", "compared", "lab")...)
	for _, f := range finishedReports(say, dir) {
		row := table.Row(f.Name, f.started(), f.title, f.lab)
		row[0].Link = path.Join(f.Name, f.page)
		list.Table.Rows = append(list.Table.Rows, row)
	}
	if len(list.Table.Rows) == 0 {
		list.Notes = []string{say.Text("None is finished yet.")}
	}
	sheet := page.Sheet{Title: say.Text("Reports"), Sections: []page.Section{list}}
	return sheet.HTML(say, page.File)
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// finished is a directory with a report. There is no title of one whose result cannot be read.
type finished struct {
	Name       string
	page       string // in the language, where there is one
	at         time.Time
	title, lab string
}

func (f finished) started() string { return f.at.UTC().Format("2006-01-02 15:04:05 UTC") }

// finishedReports are the directories with a page, newest first.
func finishedReports(say *lang.Lang, dir string) []finished {
	pages, _ := filepath.Glob(filepath.Join(dir, "*", page.File)) // there may be none yet
	var found []finished
	for _, path := range pages {
		of := filepath.Dir(path)
		info, err := os.Stat(path)
		if err != nil || hidden(filepath.Base(of)) {
			continue
		}
		f := finished{Name: filepath.Base(of), page: page.FileIn(say, page.File), at: info.ModTime()}
		if _, err := os.Stat(filepath.Join(of, f.page)); err != nil {
			f.page = page.File
		}
		if r, err := result.Read(filepath.Join(of, result.FileName)); err == nil {
			v := view.Of(say, r, view.Options{})
			f.title, f.lab = v.Head, v.Lab
			if !r.Run.Started.IsZero() { // its page may have been rebuilt since
				f.at = r.Run.Started
			}
		} else if errors.Is(err, fs.ErrNotExist) {
			f.title = say.Text("runs against each other")
		}
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b finished) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.Name, a.Name))
	})
	return found
}
