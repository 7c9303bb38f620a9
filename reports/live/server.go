package live

import (
	"embed"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/reports/lang"
	"locklab/reports/view"
)

//go:embed assets
var assets embed.FS

//go:embed assets/live.css
var style string

const (
	// maxViewers bounds the CPU time that pages take from the run: each renders its own parts.
	maxViewers = 16
	// writeTime is how long a browser may take for a frame before the stream ends; the page reconnects by itself.
	writeTime = 10 * time.Second
	// chartFrames is how many frames share one drawing of the charts, which are most of the work.
	chartFrames = 4
	// policy lets the page load files of this server only.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// Handler serves the page of the board. It may be called by names, besides IP addresses and localhost.
func (b *Board) Handler(names ...string) http.Handler {
	p, mux := newPainter(), http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = p.page(w, tagOf(r), b) // a browser that went away needs no page
	})
	mux.HandleFunc("GET /live.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write([]byte(view.Style + style))
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
		http.ServeFileFS(w, r, assets, "assets/"+r.PathValue("file"))
	})
	return guard(mux, names)
}

// guard sets the page's policy, and refuses requests under a foreign name (DNS rebinding) and those of other
// sites' pages.
func guard(next http.Handler, names []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			w.Header().Set(name, value)
		}
		foreign, origin := httpapi.CheckHost(r, names...), r.Header.Get("Origin")
		switch {
		case foreign != nil:
			http.Error(w, foreign.Error(), http.StatusForbidden)
		case origin != "" && origin != "http://"+r.Host:
			http.Error(w, "another site may not ask for this", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// tagOf is the language of a request: that of its address, or else the browser's.
func tagOf(r *http.Request) string {
	if asked := r.URL.Query().Get("lang"); slices.Contains(lang.Tags(), asked) {
		return asked
	}
	if strings.HasPrefix(r.Header.Get("Accept-Language"), lang.KoreanTag) {
		return lang.KoreanTag
	}
	return lang.EnglishTag
}

// part is a part of the page.
type part struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// parts renders the newest frame; next is closed at the next one.
func (b *Board) parts(p *painter, tag string, charts bool) (all []part, next <-chan struct{}, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return p.paint(tag, b.model, clock.Mono(), charts || b.ended), b.next, b.ended
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
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // where it cannot be set, there is none
	send := func(event string, parts []part) bool {
		_ = control.SetWriteDeadline(clock.System().Now().Add(writeTime))
		text, err := json.Marshal(parts)
		if err == nil {
			_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text)
		}
		return err == nil && control.Flush() == nil
	}
	tag, sent := tagOf(r), map[string]string{}
	for n, alive := 0, send("hello", nil); alive; n++ {
		parts, next, ended := b.parts(p, tag, n%chartFrames == 0)
		parts = slices.DeleteFunc(parts, func(one part) bool {
			was, had := sent[one.ID]
			sent[one.ID] = one.HTML
			return had && was == one.HTML
		})
		if len(parts) > 0 {
			alive = send("parts", parts)
		}
		if ended {
			send("end", nil) // the last that it hears
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-next:
		}
	}
}

// order is an order from the page; each route reads its own field.
type order struct {
	ID   string `json:"id"`
	PerS uint32 `json:"per_s"`
	Lock string `json:"lock"`
}

// controls takes the page's orders, which bear its token.
func (b *Board) controls() http.Handler {
	api := httpapi.New(httpapi.Config{Name: "live page", Token: b.token})
	c := b.info.Control
	route(api, "fault", func(in jsontext.Value) error { return c.Begin(in) })
	route(api, "heal", func(in order) error { return c.Heal(in.ID) })
	route(api, "rate", func(in order) error { return c.SetRate(in.PerS) })
	route(api, "lock", func(in order) error { return c.Switch(in.Lock) })
	return api
}

func route[In any](api *httpapi.API, name string, do func(In) error) {
	httpapi.Post(api, "POST /control/"+name, func(_ *http.Request, in In) (any, error) {
		if err := do(in); err != nil {
			return nil, &httpapi.Error{Status: http.StatusConflict, Kind: "refused", Message: err.Error()}
		}
		return nil, nil
	})
}
