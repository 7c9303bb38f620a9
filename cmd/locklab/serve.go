package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/internal/httpapi"
	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/reports/view"
	"locklab/workloads/result"
)

// serveReports serves the reports below a directory, and at the root their list, until ctx ends.
func serveReports(ctx context.Context, addr, dir string, stderr io.Writer) error {
	listener, err := listenOn(ctx, "--serve", addr, "want HOST:PORT of this machine")
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "locklab: reports below %s at http://%s\n", dir, listener.Addr())
	host, _, _ := net.SplitHostPort(addr) // it is listened on
	if err := httpapi.Serve(ctx, listener, reportPages(dir, host), slog.New(slog.DiscardHandler)); err != nil {
		return fmt.Errorf("--serve %s: %w", addr, err)
	}
	return nil
}

// reportPages serves the directory, which may appear later. Its host may be a name, besides IP addresses and localhost.
func reportPages(dir, host string) http.Handler {
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
		if err := httpapi.CheckHost(r, host); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// listPage is the list of the reports, the newest first, in a language.
func listPage(tag, dir string) ([]byte, error) {
	say, err := lang.Of(tag)
	if err != nil {
		return nil, err
	}
	type listed struct {
		at  time.Time
		row []table.Cell
	}
	var all []listed
	pages, _ := filepath.Glob(filepath.Join(dir, "*", view.PageFile)) // there may be none yet
	for _, path := range pages {
		name := filepath.Base(filepath.Dir(path))
		info, err := os.Stat(path)
		if err != nil || hidden(name) {
			continue
		}
		at, title, lab := info.ModTime(), "", ""
		if r, err := result.Read(filepath.Dir(path)); err == nil {
			v := view.Of(say, r, view.Options{})
			title, lab = v.Head, v.Lab
			if !r.Run.Started.IsZero() { // its page may have been rebuilt since
				at = r.Run.Started
			}
		} else if errors.Is(err, fs.ErrNotExist) {
			title = say.Text("runs against each other")
		}
		row := table.Row(name, at.UTC().Format("2006-01-02 15:04:05 UTC"), title, lab)
		row[0].Link = name + "/" + view.PageFile
		if own := view.FileIn(say, view.PageFile); hasFile(filepath.Join(dir, name, own)) {
			row[0].Link = name + "/" + own
		}
		all = append(all, listed{at, row})
	}
	slices.SortFunc(all, func(a, b listed) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.row[0].Text, a.row[0].Text))
	})
	list := view.Section{Title: say.Text("Reports")}
	list.Table.Columns = table.Heads(say.Titles("=report", "started", "compared", "lab")...)
	for _, one := range all {
		list.Table.Rows = append(list.Table.Rows, one.row)
	}
	sheet := view.Sheet{Title: say.Text("Reports"), Sections: []view.Section{list}}
	if len(all) == 0 {
		sheet.Lede = say.Text("None is finished yet.")
	}
	return sheet.HTML(say)
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }
