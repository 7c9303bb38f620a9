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

	"github.com/go-json-experiment/json"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/reports/lang"
	"locklab/reports/page"
)

//go:embed assets
var assets embed.FS

const (
	// maxViewers bounds the CPU time that pages take from the run: each renders its own parts.
	maxViewers = 16
	// writeTime is how long a browser may take for a frame before the stream ends; the page
	// connects again by itself.
	writeTime = 10 * time.Second
	// chartFrames are from one drawing of the charts to the next: they are most of the work.
	chartFrames = 4
	// beatFrames are from one sign of life to the next, five seconds.
	beatFrames = 20
	// policy lets the page load files of this server only.
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
	p, err := newPainter()
	if err != nil {
		return nil, err
	}
	pages, err := b.pages(p)
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
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) { b.stream(p, w, r) })
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

// guard refuses requests of other sites, also under a name that a site made lead here, and sets the
// page's policy.
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

// view is a language and a width.
type view struct {
	lang   string
	narrow bool // for a phone
}

// part is a part of the page.
type part struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// parts renders the newest frame. Next is closed when there is another one.
func (b *Board) parts(p *painter, v view, charts bool) (all []part, next <-chan struct{}, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return p.paint(v, b.model, clock.Mono(), charts || b.ended), b.next, b.ended
}

// stream sends the parts that changed in each frame, until the browser goes away or the comparison
// ends. A slow browser misses frames and delays no other.
func (b *Board) stream(p *painter, w http.ResponseWriter, r *http.Request) {
	defer b.viewers.Add(-1)
	if b.viewers.Add(1) > maxViewers {
		http.Error(w, fmt.Sprintf("%d browsers follow the run already", maxViewers), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Transfer-Encoding", "identity") // it ends with the connection: a frame is one write, as it is
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return // the connection is gone
	}
	send := func(event string, data any) bool {
		text, err := json.Marshal(data)
		if err != nil {
			return false
		}
		err = control.SetWriteDeadline(clock.System().Now().Add(writeTime))
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return false
		}
		_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text)
		return err == nil && control.Flush() == nil
	}
	type nothing struct{}
	if !send("hello", nothing{}) {
		return
	}
	v := view{lang: tagOf(r), narrow: r.URL.Query().Has("narrow")}
	sent := map[string]string{}
	for n := 0; ; n++ {
		parts, next, ended := b.parts(p, v, n%chartFrames == 0)
		parts = slices.DeleteFunc(parts, func(one part) bool {
			was, had := sent[one.ID]
			sent[one.ID] = one.HTML
			return had && was == one.HTML
		})
		switch {
		case len(parts) > 0 && !send("parts", parts), n%beatFrames == 0 && !send("beat", nothing{}):
			return
		case ended:
			_ = send("end", nothing{}) // the last that it hears
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-next:
		}
	}
}
