package main

import (
	"cmp"
	"context"
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
	"locklab/reports"
	"locklab/reports/lang"
	"locklab/reports/result"
)

// serveReports shows the reports below a directory to browsers until ctx ends:
// files as they are, and the list of reports at the root. It changes nothing.
func serveReports(ctx context.Context, addr, dir string, stderr io.Writer) error {
	listener, err := listenOn(ctx, "--serve", addr, "want HOST:PORT of this machine")
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "locklab: reports below %s at http://%s\n", dir, listener.Addr())
	if err := httpapi.Serve(ctx, listener, reportPages(dir), nil, slog.New(slog.DiscardHandler)); err != nil {
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
	var listed []reports.Listed
	for _, f := range finishedReports(say, dir) {
		listed = append(listed, f.Listed)
	}
	return reports.ListPage(say, listed)
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// finished is a directory with a report. There is little in its Digest if it is none of a run
// or of a comparison, or their files cannot be read.
type finished struct {
	reports.Listed
	at time.Time
}

// finishedReports are the directories with a page, newest first.
func finishedReports(say *lang.Lang, dir string) []finished {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there is none yet
	}
	var found []finished
	for _, e := range entries {
		page, err := fs.Stat(os.DirFS(dir), path.Join(e.Name(), reports.PageFile))
		if err != nil || !e.IsDir() || hidden(e.Name()) {
			continue
		}
		f := finished{Listed: reports.Listed{Name: e.Name()}, at: page.ModTime()}
		if own := reports.FileIn(say, reports.PageFile); own != reports.PageFile {
			if _, err := fs.Stat(os.DirFS(dir), path.Join(e.Name(), own)); err == nil {
				f.Page = own
			}
		}
		if r, err := result.Read(filepath.Join(dir, e.Name(), result.FileName)); err == nil {
			f.Digest = reports.DigestOf(say, r)
			if !r.Run.Started.IsZero() { // its page may have been rebuilt since
				f.at = r.Run.Started
			}
		} else if came, is := reports.CameTo(say, filepath.Join(dir, e.Name())); is {
			f.Digest = came
		}
		f.Digest = f.On(f.at)
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b finished) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.Name, a.Name)) })
	return found
}

// printReports lists them on a console.
func printReports(w io.Writer, dir string, found []finished) {
	for _, f := range found {
		fmt.Fprintln(w, filepath.Join(dir, f.Name))
		check := f.Check
		if verdict := f.Verdict(); len(f.Locks) == 0 && verdict != "" { // of a run the check says it in more words
			check = verdict + ": " + check
		}
		for _, line := range append([]string{strings.TrimSpace(f.Started + "  " + f.Title), check}, f.Lines()...) {
			if line != "" {
				fmt.Fprintln(w, "  "+reports.Wrap(line, widthOf(w)-2, 4))
			}
		}
	}
}

// tellComparison prints what a comparison of runs came to, and where there is more.
func tellComparison(w io.Writer, say *lang.Lang, dir string) {
	width := widthOf(w)
	if came, is := reports.CameTo(say, dir); is {
		fmt.Fprintln(w, reports.Wrap(came.Title+": "+came.Verdict(), width, 2))
		for _, text := range came.Said {
			fmt.Fprintln(w, "  "+reports.Wrap(text, width-2, 4))
		}
	}
	fmt.Fprintln(w, reportLine(say, dir))
}
