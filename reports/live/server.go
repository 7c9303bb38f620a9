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
	// writeTime is how long a browser may take for a frame before it is let go; it comes
	// back by itself.
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
	style, err := fs.ReadFile(files, "live.css")
	if err != nil {
		return nil, err
	}
	base, err := page.Style()
	if err != nil {
		return nil, err
	}
	style = append(base, style...)
	pages := map[string][]byte{}
	for _, tag := range lang.Tags() {
		if pages[tag], err = b.page(tag); err != nil {
			return nil, err
		}
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
		mux.Handle("POST /control/", b.controls(names))
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

// guard refuses what other sites ask for, also under a name that they made lead here, and says
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

// fromHere says whether a request is one of the page itself, or of who typed its address.
// Browsers name the site that asks; what is no browser names none.
func fromHere(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	// A link on another site may lead to the page, but to nothing else.
	return r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
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
	one := b.hub.join(view{lang: tagOf(r), narrow: r.URL.Query().Has("narrow")})
	defer b.hub.leave(one)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Transfer-Encoding", "identity") // it ends with the connection: a frame is one write, as it is
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return // the connection is gone
	}
	send := func(events []byte) error {
		if err := control.SetWriteDeadline(clock.System().Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if _, err := w.Write(events); err != nil {
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
	for {
		select {
		case <-r.Context().Done():
			return
		case <-one.more:
		case <-beat.C():
			if send(empty("beat")) != nil {
				return
			}
			beat.Reset(beatTime)
			continue
		}
		if clock.Sleep(r.Context(), one.turn) != nil {
			return
		}
		parts, closed := one.take()
		if parts != nil && send(parts) != nil {
			return
		}
		if closed {
			_ = send(empty("end")) // the last that it hears
			return
		}
	}
}
