// Package httpapi is the one way in which the programs of the lab talk over HTTP: JSON
// in, JSON out, one shape of errors, one check of tokens, the same limits everywhere.
//
//	api := httpapi.New(httpapi.Config{Token: token, Kinds: kinds, Log: log})
//	httpapi.Post(api, "POST /v1/rooms", func(r *http.Request, in Order) (any, error) { ... })
//	err := httpapi.Serve(ctx, listener, api, log)
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
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"locklab/internal/strictjson"
)

// Config says what an API lets through. The zero value is an open one.
type Config struct {
	// Name is for logs and errors, such as "agent of host a".
	Name string
	// Token is what every request must bear; "" lets every request in.
	Token string
	// ReadToken gets ReadPath and does nothing else; "" is none.
	ReadToken, ReadPath string
	// Kinds are errors of this API's own, the more special ones first.
	Kinds []Kind
	// Inside wraps what is let through; nil for nothing.
	Inside func(http.Handler) http.Handler
	// Log gets what is refused; nil does not log.
	Log *slog.Logger
}

// API is an [http.Handler] of typed routes. Add them before it serves.
type API struct {
	Config
	mux    *http.ServeMux
	next   http.Handler
	routes []string
}

// New makes an API without routes.
func New(c Config) *API {
	a := &API{Config: c, mux: http.NewServeMux()}
	a.next = a.mux
	if c.Inside != nil {
		a.next = c.Inside(a.mux)
	}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		message := fmt.Sprintf("there is no %s %s here: want one of %s", r.Method, r.URL.Path, strings.Join(a.routes, ", "))
		a.refuse(w, r, &Error{Status: http.StatusNotFound, Kind: "not-found", Message: message})
	})
	return a
}

// Get adds a route without a body. A nil answer is 204.
func (a *API) Get(pattern string, f func(*http.Request) (any, error)) {
	a.Stream(pattern, func(w http.ResponseWriter, r *http.Request) error {
		answer, err := f(r)
		return reply(w, answer, err)
	})
}

// Post adds a route with a body, which is read strictly; none is an empty object.
func Post[In any](a *API, pattern string, f func(*http.Request, In) (any, error)) {
	a.Stream(pattern, func(w http.ResponseWriter, r *http.Request) error {
		var in In
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyBytes))
		if err == nil && len(text) > 0 {
			err = strictjson.Decode(text, &in)
		}
		if err != nil {
			return fmt.Errorf("read request of %s: %w: %w", r.URL.Path, err, ErrInvalid)
		}
		answer, err := f(r, in)
		return reply(w, answer, err)
	})
}

// Stream adds a route that writes its answer itself. It may return an error only while
// it has written nothing.
func (a *API) Stream(pattern string, f func(http.ResponseWriter, *http.Request) error) {
	a.Mount(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r); err != nil {
			a.refuse(w, r, err)
		}
	}))
}

// Mount adds a handler behind the same check of tokens.
func (a *API) Mount(pattern string, h http.Handler) {
	a.routes = append(a.routes, pattern)
	a.mux.Handle(pattern, h)
}

// ServeHTTP checks the token and the origin, and answers. A page of another site can ask for no change.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := a.check(r); err != nil {
		a.refuse(w, r, err)
		return
	}
	a.next.ServeHTTP(w, r)
}

func (a *API) check(r *http.Request) error {
	given, bears := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	is := func(token string) bool {
		return bears && token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
	}
	switch foreign := new(http.CrossOriginProtection).Check(r); {
	case a.Token != "" && !is(a.Token) && !is(a.ReadToken):
		return fmt.Errorf("the token is missing or wrong: want the one that the %s was started with: %w",
			a.Name, ErrUnauthorized)
	case a.Token != "" && !is(a.Token) && (r.Method != http.MethodGet || r.URL.Path != a.ReadPath):
		return fmt.Errorf("the token gets %s of the %s, and does nothing else: %w", a.ReadPath, a.Name, ErrForbidden)
	case foreign != nil:
		return fmt.Errorf("pages of other sites may not control the %s: %w: %w", a.Name, foreign, ErrForbidden)
	}
	return nil
}

// CheckHost refuses a request whose Host is neither an IP address, nor localhost, nor one of the names: a web page's
// own name server could have made it point here (DNS rebinding).
func CheckHost(r *http.Request, names ...string) error {
	name := (&url.URL{Host: r.Host}).Hostname()
	_, err := netip.ParseAddr(name)
	if err == nil || strings.EqualFold(name, "localhost") || slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("%q is no name of this server: want its IP address, or localhost", r.Host)
}

// NewToken makes a random token.
func NewToken() string { return rand.Text() + rand.Text() }

func (a *API) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := toError(err, a.Kinds)
	if a.Log != nil {
		a.Log.Info("refused a request", "by", a.Name, "method", r.Method, "path", r.URL.Path, "error", err)
	}
	write(w, e.Status, map[string]*Error{"error": e})
}

func reply(w http.ResponseWriter, answer any, err error) error {
	switch {
	case err != nil:
		return err
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		write(w, http.StatusOK, answer)
	}
	return nil
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, body, json.Deterministic(true)) // a client that went away needs no answer
}

// Limits of every server.
const (
	headerTimeout = 5 * time.Second // to send the header of a request
	readTimeout   = 15 * time.Second
	keepAlive     = 2 * time.Minute // of a connection without requests
	headerBytes   = 16 << 10
	bodyBytes     = 1 << 20
	grace         = time.Second // for answers under way at the end
)

// Serve answers on the listener, which it closes, until ctx ends, which ends the contexts of requests too; then
// it gives what is under way a second. The error is nil when ctx ended it.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       keepAlive,
		MaxHeaderBytes:    headerBytes,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ended := make(chan struct{})
	goesOn := context.AfterFunc(ctx, func() {
		defer close(ended)
		graced, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if server.Shutdown(graced) != nil {
			_ = server.Close() // what is still open after the grace is cut
		}
	})
	err := server.Serve(listener)
	if goesOn() {
		return fmt.Errorf("serve %s: %w", listener.Addr(), errors.Join(err, server.Close()))
	}
	<-ended
	return nil
}

type connKey struct{}

// Left says whether the client has hung up. The context of the request ends a little later: too late for a server
// that stood still, and finds the requests of clients that gave up before those of clients that still wait.
func Left(r *http.Request) (left bool) {
	conn, ok := r.Context().Value(connKey{}).(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { // fails if it was closed here
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT) //nolint:gosec // a small number
		left = n == 0 && err == nil || errors.Is(err, unix.ECONNRESET)
	})
	return left
}
