package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"locklab/locks/clock"
	"locklab/nodes/bearer"
)

// The limits of the control API.
const (
	maxBody        = 1 << 20          // bytes of a request
	maxHeader      = 16 << 10         // bytes of its header
	headerTimeout  = 5 * time.Second  // to send the header
	bodyTimeout    = 15 * time.Second // to send the whole request
	keepAlive      = 2 * time.Minute  // of a connection without requests
	shutdownGrace  = time.Second      // for answers under way when the agent closes
	maxRestartWait = 10 * time.Minute // of a delayed restart
)

func (a *Agent) listen() error {
	var lc net.ListenConfig
	l, err := lc.Listen(a.ctx, "tcp", a.cfg.Listen)
	if err != nil {
		return fmt.Errorf("agent of %s: %w", a.cfg.Host, err)
	}
	a.listener = l
	a.server = &http.Server{
		Handler:           a.guarded(a.routes()),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		IdleTimeout:       keepAlive,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return a.ctx },
	}
	return nil
}

func (a *Agent) serve() {
	if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
		a.cfg.Log.Error("agent stopped serving", "host", a.cfg.Host, "error", err)
	}
}

func (a *Agent) stopServer() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), shutdownGrace)
	defer cancel()
	err := a.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = a.server.Close()
	}
	if err != nil {
		return fmt.Errorf("close agent of %s: %w", a.cfg.Host, err)
	}
	return nil
}

func (a *Agent) routes() http.Handler {
	mux := http.NewServeMux()
	for _, pattern := range slices.Sorted(maps.Keys(a.cfg.Mounts)) {
		mux.Handle(pattern, a.cfg.Mounts[pattern])
	}
	handle := func(pattern string, h func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			answer, err := h(r)
			if err != nil {
				a.refuse(w, r, err)
				return
			}
			respond(w, http.StatusOK, answer)
		})
	}
	onNode := func(verb string, do func(name string) error) {
		handle("POST /v1/nodes/{name}/"+verb, func(r *http.Request) (any, error) {
			if err := decode(r, &struct{}{}); err != nil {
				return nil, err
			}
			return struct{}{}, do(r.PathValue("name"))
		})
	}
	handle("GET /v1/health", func(*http.Request) (any, error) { return a.Health(), nil })
	handle("GET /v1/clock", func(*http.Request) (any, error) { return ReadClock(), nil })
	handle("GET /v1/nodes", func(*http.Request) (any, error) { return a.Nodes(), nil })
	handle("GET /v1/roles/{role}/version", func(r *http.Request) (any, error) {
		v, err := a.Version(r.Context(), r.PathValue("role"))
		return versionAnswer{Version: v}, err
	})
	handle("POST /v1/nodes/{name}/reserve", a.handleReserve)
	handle("POST /v1/nodes/{name}/start", a.handleStart)
	handle("POST /v1/nodes/{name}/restart", a.handleRestart)
	handle("POST /v1/reset", func(r *http.Request) (any, error) {
		if err := decode(r, &struct{}{}); err != nil {
			return nil, err
		}
		return struct{}{}, a.Reset()
	})
	onNode("kill", a.Kill)
	onNode("stop", a.Stop)
	onNode("pause", a.Pause)
	onNode("resume", a.Resume)
	onNode("remove", a.Remove)
	mux.HandleFunc("GET /v1/nodes/{name}/log", a.handleLog)
	mux.HandleFunc("GET /v1/events", a.handleEvents)
	handle("POST /v1/events/forget", a.handleForget)
	return mux
}

// Health is what the agent says of itself.
func (a *Agent) Health() Health {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Health{
		Host: a.cfg.Host, Zone: a.cfg.Zone, Version: a.cfg.Version, PID: os.Getpid(),
		Instance: a.instance, NextEvent: a.log.nextNumber(),
	}
}

func (a *Agent) handleReserve(r *http.Request) (any, error) {
	var in reserveRequest
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	addrs, err := a.Reserve(r.PathValue("name"), in.Role)
	return reserveAnswer{Addrs: addrs}, err
}

func (a *Agent) handleStart(r *http.Request) (any, error) {
	var in startRequest
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	return struct{}{}, a.Start(r.Context(), NodeSpec{Name: r.PathValue("name"), Role: in.Role, Settings: in.Settings})
}

func (a *Agent) handleRestart(r *http.Request) (any, error) {
	var in restartRequest
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if in.DelayMS < 0 || in.DelayMS > maxRestartWait.Milliseconds() {
		return nil, fmt.Errorf("restart: delay_ms %d is out of range: want 0 to %d: %w", in.DelayMS, maxRestartWait.Milliseconds(), ErrInvalid)
	}
	return struct{}{}, a.Restart(r.Context(), r.PathValue("name"), RestartOptions{
		Wipe: in.Wipe, Delay: time.Duration(in.DelayMS) * time.Millisecond,
	})
}

func (a *Agent) handleLog(w http.ResponseWriter, r *http.Request) {
	data, err := a.Log(r.PathValue("name"))
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(data) //nolint:gosec // plain text; a client that went away needs no answer
}

// guarded lets only requests through that bear the token and do not come from a
// web page, and bounds them. Others do not count as signs of a controller.
func (a *Agent) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !bearer.Has(r, a.cfg.Token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			a.refuse(w, r, fmt.Errorf("the token is missing or wrong: want the one that the agent of %s was started with: %w", a.cfg.Host, ErrUnauthorized))
		case !a.isMe(r.Host):
			a.refuse(w, r, fmt.Errorf("%q is no name of the agent of %s: want its IP address, or the name that it listens on: %w", r.Host, a.cfg.Host, ErrForbidden))
		case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "":
			a.refuse(w, r, fmt.Errorf("web pages may not control agents: %w", ErrForbidden))
		default:
			a.requests.begin()
			defer a.requests.end()
			a.serveWhole(w, r, next)
		}
	})
}

// isMe says whether the Host of a request means this agent. Another name has been made
// to lead here, as a web page does that wants to pass for one of the same origin.
func (a *Agent) isMe(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	listen, _, _ := net.SplitHostPort(a.cfg.Listen) // checked at the start
	return isIP(strings.Trim(host, "[]")) || slices.Contains([]string{"localhost", a.cfg.Host, a.cfg.Advertise, listen}, host)
}

// serveWhole reads the request before it is handled: the time to send it is
// bounded, that to handle it is not. (A read deadline that passes while a handler
// works would cancel its context.)
func (a *Agent) serveWhole(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	if err != nil {
		a.refuse(w, r, fmt.Errorf("read request of %s: want at most %d bytes: %w: %w", r.URL.Path, maxBody, err, ErrInvalid))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	next.ServeHTTP(w, r)
}

// decode reads a request strictly. An empty body is an empty object.
func decode(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		err = errors.Join(errors.New("data after the JSON object"), err)
	}
	return fmt.Errorf("read request of %s: %w: %w", r.URL.Path, err, ErrInvalid)
}

func (a *Agent) refuse(w http.ResponseWriter, r *http.Request, err error) {
	answer, status := errorAnswer{Error: err.Error(), Kind: "other"}, http.StatusInternalServerError
	for _, k := range errorKinds() {
		if errors.Is(err, k.is) {
			answer.Kind, status = k.kind, k.status
			break
		}
	}
	a.cfg.Log.Info("agent refused a request", "host", a.cfg.Host, "method", r.Method, "path", r.URL.Path, "error", err)
	respond(w, status, answer)
}

func respond(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // a client that went away needs no answer
}

// activity knows whether anybody uses the agent.
type activity struct {
	open   atomic.Int64
	lastNS atomic.Int64
}

func (c *activity) begin() { c.open.Add(1) }

func (c *activity) end() {
	c.lastNS.Store(clock.Mono())
	c.open.Add(-1)
}

// watchIdle resets the agent when its controller has gone.
func (a *Agent) watchIdle() {
	if a.cfg.IdleReset <= 0 {
		return
	}
	timer := clock.System().NewTimer(a.cfg.IdleReset)
	defer timer.Stop()
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-timer.C():
		}
		left := a.cfg.IdleReset - time.Duration(clock.Mono()-a.requests.lastNS.Load())
		if a.requests.open.Load() > 0 || left > 0 {
			timer.Reset(max(left, a.cfg.IdleReset/4))
			continue
		}
		if len(a.Nodes()) > 0 {
			a.cfg.Log.Warn("no controller for long, removing all nodes", "host", a.cfg.Host, "idle", a.cfg.IdleReset)
			if err := a.Reset(); err != nil {
				a.cfg.Log.Error("reset failed", "host", a.cfg.Host, "error", err)
			}
		}
		timer.Reset(a.cfg.IdleReset)
	}
}
