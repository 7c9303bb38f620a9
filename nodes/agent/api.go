package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"locklab/internal/httpapi"
	kit "locklab/internal/metrics"
	"locklab/locks/clock"
)

// What can go wrong beside what can with every API (see [httpapi.ErrInvalid] and those
// around it). Errors of an Agent wrap one of these, and so do those of a Client, on the
// other side of the wire.
var (
	// ErrStart says that a node did not start or did not become ready.
	ErrStart = errors.New("node did not start")
	// ErrLate is an ErrStart of a node that may have needed more time than it had.
	ErrLate = fmt.Errorf("%w in time", ErrStart)
	// ErrEventsLost says that the agent no longer has the events that were asked for.
	ErrEventsLost = errors.New("events lost")
)

func kinds() []httpapi.Kind {
	return []httpapi.Kind{
		{Is: ErrEventsLost, Name: "events-lost", Status: http.StatusGone},
		{Is: ErrLate, Name: "late", Status: http.StatusGatewayTimeout},
		{Is: ErrStart, Name: "start", Status: http.StatusInternalServerError},
	}
}

func (a *Agent) listen() error {
	var lc net.ListenConfig
	l, err := lc.Listen(a.ctx, "tcp", a.cfg.Listen)
	if err != nil {
		return fmt.Errorf("agent of %s: %w", a.cfg.Host, err)
	}
	a.listener = l
	return nil
}

func (a *Agent) serve() {
	defer close(a.served)
	if a.serveErr = httpapi.Serve(a.ctx, a.listener, a.api(), nil, a.cfg.Log); a.serveErr != nil {
		a.cfg.Log.Error("agent stopped serving", "host", a.cfg.Host, "error", a.serveErr)
	}
}

// api is the control API. Only what it lets through counts as a sign of a controller.
func (a *Agent) api() *httpapi.API {
	listen, _, _ := net.SplitHostPort(a.cfg.Listen) // checked at the start
	api := httpapi.New(httpapi.Config{
		Name: "agent of " + a.cfg.Host, Token: a.cfg.Token, ReadToken: a.cfg.ScrapeToken, ReadPath: kit.Path, Hosts: []string{a.cfg.Host, a.cfg.Advertise, listen},
		Kinds: kinds(), Inside: a.requests.watch, Log: a.cfg.Log,
	})
	for pattern, handler := range a.cfg.Mounts {
		api.Mount(pattern, handler)
	}
	kit.Serve(api, a.metrics)
	api.Get("GET /v1/health", func(*http.Request) (any, error) { return a.health(), nil })
	api.Get("GET /v1/clock", func(*http.Request) (any, error) { return clock.Mono(), nil })
	api.Get("GET /v1/nodes", func(*http.Request) (any, error) { return a.Nodes(), nil })
	api.Get("GET /v1/roles/{role}/version", func(r *http.Request) (any, error) { return a.version(r.Context(), r.PathValue("role")) })
	api.Get("GET /v1/nodes/{name}/clock", func(r *http.Request) (any, error) {
		n, err := a.node(r.PathValue("name"))
		if err != nil {
			return nil, err
		}
		return n.clockNow(r.Context())
	})
	api.Get("GET /v1/nodes/{name}/disk", func(r *http.Request) (any, error) {
		n, err := a.node(r.PathValue("name"))
		if err != nil {
			return nil, err
		}
		return n.diskSeen()
	})
	httpapi.Post(api, "POST /v1/nodes/{name}/reserve", func(r *http.Request, in NodeSpec) (any, error) {
		n, err := a.reserve(r.PathValue("name"), in.Role)
		if err != nil {
			return nil, err
		}
		return n.addrs(a.cfg.Advertise), nil
	})
	httpapi.Post(api, "POST /v1/nodes/{name}/start", func(r *http.Request, in NodeSpec) (any, error) {
		n, err := a.reserve(r.PathValue("name"), in.Role)
		if err != nil {
			return nil, err
		}
		return nil, n.start(r.Context(), in)
	})
	post(a, api, "restart", (*node).restart)
	post(a, api, "clock", (*node).setClock)
	post(a, api, "disk", (*node).setDisk)
	post(a, api, "pause", (*node).pause)
	post(a, api, "resume", func(n *node, _ context.Context, _ struct{}) error { return n.onRunning("resume", (*child).resume) })
	post(a, api, "kill", func(n *node, _ context.Context, _ struct{}) error { n.kill(); return nil })
	post(a, api, "stop", func(n *node, _ context.Context, _ struct{}) error { n.stop(); return nil })
	httpapi.Post(api, "POST /v1/reset", func(*http.Request, struct{}) (any, error) { return nil, a.reset() })
	api.Stream("GET /v1/nodes/{name}/log", a.handleLog)
	api.Stream("GET /v1/events", a.handleEvents)
	return api
}

// post adds what can be done to a node that there is.
func post[In any](a *Agent, api *httpapi.API, verb string, do func(*node, context.Context, In) error) {
	httpapi.Post(api, "POST /v1/nodes/{name}/"+verb, func(r *http.Request, in In) (any, error) {
		n, err := a.node(r.PathValue("name"))
		if err != nil {
			return nil, err
		}
		return nil, do(n, r.Context(), in)
	})
}

// pauseRequest says where to stop the node: at once, or when it next comes to a point of its
// work, which it must within a time.
type pauseRequest struct {
	Point  string        `json:"point,omitzero"`
	Within time.Duration `json:"within_ns,omitzero,format:nano"`
}

// Health is what an agent says of itself.
type Health struct {
	Host string `json:"host"`
	// Instance changes when the agent is started or reset: event numbers of another
	// instance mean nothing.
	Instance  string `json:"instance"`
	NextEvent uint64 `json:"next_event"` // number that the next event will get
}

func (a *Agent) health() Health {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Health{a.cfg.Host, a.instance, a.log.nextNumber()}
}

func (a *Agent) handleLog(w http.ResponseWriter, r *http.Request) error {
	n, err := a.node(r.PathValue("name"))
	if err != nil {
		return err
	}
	data, err := readLog(n.logPath())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(data) //nolint:gosec // plain text; a client that went away needs no answer
	return nil
}

// activity knows whether anybody uses the agent.
type activity struct {
	open   atomic.Int64
	lastNS atomic.Int64
}

func (c *activity) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == kit.Path { // Prometheus is no controller
			next.ServeHTTP(w, r)
			return
		}
		c.open.Add(1)
		defer c.open.Add(-1)
		defer func() { c.lastNS.Store(clock.Mono()) }()
		next.ServeHTTP(w, r)
	})
}

// watchIdle resets the agent when its controller has gone.
func (a *Agent) watchIdle() {
	if a.cfg.IdleReset <= 0 {
		return
	}
	for left := a.cfg.IdleReset; clock.Sleep(a.ctx, left) == nil; {
		left = a.cfg.IdleReset - time.Duration(clock.Mono()-a.requests.lastNS.Load())
		if a.requests.open.Load() > 0 || left > 0 {
			left = max(left, a.cfg.IdleReset/4)
			continue
		}
		if len(a.Nodes()) > 0 {
			a.cfg.Log.Warn("no controller for long, removing all nodes", "host", a.cfg.Host, "idle", a.cfg.IdleReset)
			if err := a.reset(); err != nil {
				a.cfg.Log.Error("reset failed", "host", a.cfg.Host, "error", err)
			}
		}
		left = a.cfg.IdleReset
	}
}
