// Package httpapi is the one way in which the programs of the lab talk over HTTP: JSON
// in, JSON out, one shape of errors, one check of tokens, the same limits everywhere.
//
//	api := httpapi.New(httpapi.Config{Token: token, MaxBody: 4 << 10, Kinds: kinds, Log: log})
//	httpapi.Post(api, "POST /v1/rooms", func(r *http.Request, in Order) (any, error) { ... })
//	err := httpapi.Serve(ctx, listener, api, stop, log)
//
//	client := httpapi.NewClient(url, httpapi.ClientConfig{Token: token, Kinds: kinds})
//	err := client.Call(ctx, http.MethodPost, "/v1/rooms", order, &room)
//
// An answer that is not a success reads {"error":{"kind":"conflict","message":"..."}}:
// the kind is for programs, the message says what is wrong and what would be right.
// Handlers return errors, [Kind] says how they travel, and the client's error wraps the
// same sentinel again.
package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/nowait"
	"locklab/internal/strictjson"
)

// Config says what an API lets through. The zero value is an open one.
type Config struct {
	// Name is for logs and errors, such as "agent of host a".
	Name string
	// Token is what every request must bear; "" lets everybody in.
	Token string
	// ReadToken gets ReadPath and does nothing else; "" is none.
	ReadToken, ReadPath string
	// Hosts are the names by which requests may call the server, besides IP addresses
	// and localhost: another name was made to lead here by a web page that wants to pass
	// for one of the same origin. nil does not check.
	Hosts []string
	// SameOrigin lets the web pages of this very server ask, and posts only what their scripts
	// can send: JSON. Without it no page may.
	SameOrigin bool
	// MaxBody bounds the bytes of a request's body, 1 MiB by default.
	MaxBody int64
	// Kinds are errors of this API's own, the more special ones first.
	Kinds []Kind
	// Inside wraps what is let through; nil for nothing.
	Inside func(http.Handler) http.Handler
	// Log gets what is refused, with the Level.
	Log   *slog.Logger
	Level slog.Level
}

// API is an [http.Handler] of typed routes. Add them before it serves.
type API struct {
	Config
	token  [sha256.Size]byte
	reads  [sha256.Size]byte // of the ReadToken
	mux    *http.ServeMux
	next   http.Handler
	routes []string
}

// New makes an API without routes.
func New(c Config) *API {
	if c.MaxBody == 0 {
		c.MaxBody = 1 << 20
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{Config: c, token: sha256.Sum256([]byte(c.Token)), reads: sha256.Sum256([]byte(c.ReadToken)), mux: http.NewServeMux()}
	a.next = a.mux
	if c.Inside != nil {
		a.next = c.Inside(a.mux)
	}
	a.mux.HandleFunc("/", a.notFound)
	return a
}

// More is what a handler returns beside an error to have it in the answer, too.
type More map[string]any

// Status is what a handler returns to answer with another status than 200.
type Status struct {
	Code int
	Body any
}

// Get adds a route without a body. A nil answer is 204.
func (a *API) Get(pattern string, f func(*http.Request) (any, error)) {
	a.Stream(pattern, func(w http.ResponseWriter, r *http.Request) error {
		answer, err := f(r)
		return a.finish(w, r, answer, err)
	})
}

// Post adds a route with a body, which is read strictly; none is an empty object.
func Post[In any](a *API, pattern string, f func(*http.Request, In) (any, error)) {
	a.Stream(pattern, func(w http.ResponseWriter, r *http.Request) error {
		var in In
		if err := a.decode(w, r, &in); err != nil {
			return err
		}
		answer, err := f(r, in)
		return a.finish(w, r, answer, err)
	})
}

// Stream adds a route that writes its answer itself. It may return an error only while
// it has written nothing.
func (a *API) Stream(pattern string, f func(http.ResponseWriter, *http.Request) error) {
	a.routes = append(a.routes, pattern)
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			a.refuse(w, r, err, nil)
		}
	})
}

// Mount adds a handler behind the same check of tokens.
func (a *API) Mount(pattern string, h http.Handler) {
	a.routes = append(a.routes, pattern)
	a.mux.Handle(pattern, h)
}

// ServeHTTP checks the token and the origin, and answers.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := a.check(r); err != nil {
		if errors.Is(err, ErrUnauthorized) {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		a.refuse(w, r, err, nil)
		return
	}
	a.next.ServeHTTP(w, r)
}

// NewToken makes a random token.
func NewToken() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

func (a *API) check(r *http.Request) error {
	if err := a.checkToken(r); err != nil {
		return err
	}
	if a.Hosts != nil && !a.isCalled(r.Host) {
		return fmt.Errorf("%q is no name of the %s: want its IP address, or the name that it listens on: %w", r.Host, a.Name, ErrForbidden)
	}
	if a.SameOrigin {
		return a.checkPage(r)
	}
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return fmt.Errorf("web pages may not control the %s: %w", a.Name, ErrForbidden)
	}
	return nil
}

func (a *API) checkToken(r *http.Request) error {
	if a.Token == "" {
		return nil
	}
	given, bears := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	// Hashes have one length, so the comparison tells nothing about the token's.
	got := sha256.Sum256([]byte(given))
	switch {
	case !bears:
	case subtle.ConstantTimeCompare(got[:], a.token[:]) == 1:
		return nil
	case a.ReadToken == "" || subtle.ConstantTimeCompare(got[:], a.reads[:]) != 1:
	case r.Method == http.MethodGet && r.URL.Path == a.ReadPath:
		return nil
	default:
		return fmt.Errorf("the token is one that gets %s of the %s, and does nothing else: %w", a.ReadPath, a.Name, ErrForbidden)
	}
	return fmt.Errorf("the token is missing or wrong: want the one that the %s was started with: %w", a.Name, ErrUnauthorized)
}

// checkPage refuses the pages of others, also what they could send without a script.
func (a *API) checkPage(r *http.Request) error {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if origin != "" && origin != "http://"+r.Host || site != "" && site != "same-origin" {
		return fmt.Errorf("pages of other sites may not control the %s: %w", a.Name, ErrForbidden)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Method == http.MethodPost && (err != nil || kind != "application/json") {
		return &Error{Status: http.StatusUnsupportedMediaType, Kind: "invalid", Message: fmt.Sprintf("Content-Type %.80q: want application/json", r.Header.Get("Content-Type"))}
	}
	return nil
}

func (a *API) isCalled(host string) bool {
	return IsAddress(host) || slices.Contains(a.Hosts, nameOf(host))
}

// IsAddress says whether a request's Host is an IP address or localhost: a name could be one
// that a web page's own name server made point here.
func IsAddress(host string) bool {
	name := nameOf(host)
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil || strings.EqualFold(name, "localhost")
}

func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// decode reads the whole request before it is handled.
func (a *API) decode(w http.ResponseWriter, r *http.Request, into any) error {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.MaxBody))
	if err != nil {
		if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return &Error{Status: http.StatusRequestEntityTooLarge, Kind: "invalid", Message: fmt.Sprintf("read request of %s: want at most %d bytes", r.URL.Path, tooLarge.Limit)}
		}
		return fmt.Errorf("read request of %s: %w: %w", r.URL.Path, err, ErrInvalid)
	}
	if len(text) == 0 {
		return nil
	}
	if err := strictjson.Decode(text, into); err != nil {
		return fmt.Errorf("read request of %s: %w: %w", r.URL.Path, err, ErrInvalid)
	}
	return nil
}

// finish answers, or refuses with what comes with the error.
func (a *API) finish(w http.ResponseWriter, r *http.Request, answer any, err error) error {
	if err != nil {
		more, _ := answer.(More)
		a.refuse(w, r, err, more)
		return nil
	}
	switch answer := answer.(type) {
	case nil:
		w.WriteHeader(http.StatusNoContent)
	case Status:
		a.reply(w, answer.Code, answer.Body)
	default:
		a.reply(w, http.StatusOK, answer)
	}
	return nil
}

func (a *API) refuse(w http.ResponseWriter, r *http.Request, err error, more More) {
	e := toError(err, a.Kinds)
	a.Log.Log(r.Context(), a.Level, "refused a request", "by", a.Name, "method", r.Method, "path", r.URL.Path, "error", err)
	body := More{"error": e}
	maps.Copy(body, more)
	a.reply(w, e.Status, body)
}

func (a *API) reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	line, err := Line(body)
	if err == nil {
		w.WriteHeader(status)
		_, err = w.Write(line)
	}
	if err != nil {
		a.Log.Debug("answer not written", "by", a.Name, "error", err)
	}
}

// Line is the body as one line of JSON.
func Line(body any) ([]byte, error) {
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return append(text, '\n'), nil
}

// notFound says what there is.
func (a *API) notFound(w http.ResponseWriter, r *http.Request) {
	status := http.StatusNotFound
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := a.mux.Handler(other); pattern != "/" {
			w.Header().Add("Allow", method)
			status = http.StatusMethodNotAllowed
		}
	}
	a.refuse(w, r, &Error{
		Status: status, Kind: "not-found",
		Message: fmt.Sprintf("there is no %s %s here: want one of %s", r.Method, r.URL.Path, strings.Join(a.routes, ", ")),
	}, nil)
}

// Limits of every server.
const (
	headerTimeout = 5 * time.Second // to send the header of a request
	readTimeout   = 15 * time.Second
	keepAlive     = 2 * time.Minute // of a connection without requests
	headerBytes   = 16 << 10
	grace         = time.Second // for answers under way at the end
)

// Serve answers on the listener, which it closes, until ctx ends; then it calls stop,
// which lets long answers end, and gives what is under way a second. The error is nil
// when ctx ended it.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, stop func(), log *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       keepAlive,
		MaxHeaderBytes:    headerBytes,
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(listener)
		close(served)
	}()
	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		err = fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	if stop != nil {
		stop()
	}
	graced, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(graced) != nil {
		_ = server.Close() // what is still open after the grace is cut
	}
	for range served { // until the server's goroutine has ended
	}
	return err
}

type connKey struct{}

// Left says whether the client has hung up; false where that cannot be told. The context of the request
// ends a little later: too late for a server that stood still, and finds the requests of clients that gave up
// before those of clients that still wait.
func Left(r *http.Request) bool {
	conn, ok := r.Context().Value(connKey{}).(net.Conn)
	return ok && nowait.New(conn).Ended()
}
