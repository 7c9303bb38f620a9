package live

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/reports/lang"
	"locklab/reports/page"
)

//go:embed assets
var assets embed.FS

const (
	// writeTime is how long a browser may take for a frame before the stream ends; the page
	// connects again by itself.
	writeTime = 10 * time.Second
	// beatTime is between two signs of life when nothing changes.
	beatTime = 5 * time.Second
	// policy lets the page load what this server has, and nothing else.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// Handler serves the page of the board. Names are those by which it may be called, besides IP
// addresses and localhost.
func (b *Board) Handler(names ...string) (http.Handler, error) {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		return nil, err
	}
	own, err := fs.ReadFile(files, "live.css")
	if err != nil {
		return nil, err
	}
	style, err := page.Style()
	if err != nil {
		return nil, err
	}
	style = append(style, own...)
	pages, err := b.pages()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(pages[tagOf(r)]) // a browser that went away needs no page
	})
	mux.HandleFunc("GET /live.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write(style)
	})
	mux.HandleFunc("GET /events", b.stream)
	if b.info.Control != nil {
		mux.Handle("POST /control/", b.controls())
	}
	mux.HandleFunc("GET /{file}", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.PathValue("file"), ".js") {
			http.NotFound(w, r)
			return
		}
		http.ServeFileFS(w, r, files, r.PathValue("file"))
	})
	return guard(mux, names), nil
}

// guard refuses requests of other sites, also under a name that a site made lead here, and sets
// what the page may do.
func guard(next http.Handler, names []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !httpapi.IsAddress(r.Host) && !slices.Contains(names, host) {
			http.Error(w, fmt.Sprintf("%q is no name of this server: want its IP address or localhost", r.Host), http.StatusForbidden)
			return
		}
		if !fromHere(r) {
			http.Error(w, "another site may not ask for this", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// fromHere says whether a request is the page's own, or of a typed address. Programs that are no
// browsers name no site.
func fromHere(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	// A link on another site may lead to the page, but to nothing else.
	return r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// tagOf is the language that a request asks for, by its address or else by the browser's own.
func tagOf(r *http.Request) string {
	if asked := r.URL.Query().Get("lang"); slices.Contains(lang.Tags(), asked) {
		return asked
	}
	if strings.HasPrefix(r.Header.Get("Accept-Language"), lang.KoreanTag) {
		return lang.KoreanTag
	}
	return lang.EnglishTag
}

// stream sends frames until the browser goes away or the comparison ends.
func (b *Board) stream(w http.ResponseWriter, r *http.Request) {
	v := view{lang: tagOf(r), narrow: r.URL.Query().Has("narrow")}
	f, turn := b.hub.join(v)
	defer b.hub.leave(v)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Transfer-Encoding", "identity") // it ends with the connection: a frame is one write, as it is
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return // the connection is gone
	}
	send := func(event []byte) error {
		if err := control.SetWriteDeadline(clock.System().Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if _, err := w.Write(event); err != nil {
			return err
		}
		return control.Flush()
	}
	empty := func(event string) []byte { return []byte("event: " + event + "\ndata: {}\n\n") }
	if send(empty("hello")) != nil {
		return
	}
	beat := clock.System().NewTimer(beatTime)
	defer beat.Stop()
	for seen := 0; ; {
		event, frame, more, ended := b.hub.news(f, seen)
		if event != nil && send(event) != nil {
			return
		}
		if ended {
			_ = send(empty("end")) // the last that it hears
			return
		}
		seen = frame
		select {
		case <-r.Context().Done():
			return
		case <-more:
			if clock.Sleep(r.Context(), turn) != nil {
				return
			}
		case <-beat.C():
			if send(empty("beat")) != nil {
				return
			}
			beat.Reset(beatTime)
		}
	}
}
