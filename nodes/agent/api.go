package agent

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"locklab/internal/damage"
	"locklab/internal/httpapi"
	kit "locklab/internal/metrics"
	"locklab/locks/clock"
)

func (a *Agent) serve() {
	if a.serveErr = httpapi.Serve(a.ctx, a.listener, a.api(), a.cfg.Log); a.serveErr != nil {
		a.cfg.Log.Error("agent stopped serving", "host", a.cfg.Host, "error", a.serveErr)
	}
}

// api is the control API.
func (a *Agent) api() *httpapi.API {
	api := httpapi.New(httpapi.Config{
		Name: "agent of " + a.cfg.Host, Token: a.cfg.Token, ReadToken: a.cfg.ScrapeToken, ReadPath: kit.Path,
		Kinds: kinds(), Inside: a.hear, Log: a.cfg.Log,
	})
	for pattern, handler := range a.cfg.Mounts {
		api.Mount(pattern, handler)
	}
	kit.Serve(api, newMetrics(a))
	api.Get("GET /v1/health", func(*http.Request) (any, error) { return a.health(), nil })
	api.Get("GET /v1/clock", func(*http.Request) (any, error) { return clock.Mono(), nil })
	api.Get("GET /v1/roles/{role}/version", func(r *http.Request) (any, error) {
		return a.version(r.Context(), r.PathValue("role"))
	})
	api.Stream("GET /v1/events", a.handleEvents)
	get(a, api, "state", func(n *node, _ context.Context) (string, error) { state, _ := n.state(); return state, nil })
	get(a, api, "log", (*node).log)
	get(a, api, "clock", (*node).clockNow)
	get(a, api, "disk", (*node).diskSeen)
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
	post(a, api, "resume", (*node).resume)
	httpapi.Post(api, "POST /v1/nodes/{name}/cut-power", func(r *http.Request, how damage.Power) (any, error) {
		n, err := a.node(r.PathValue("name"))
		if err != nil {
			return nil, err
		}
		return n.cutPower(how)
	})
	post(a, api, "kill", func(n *node, _ context.Context, _ struct{}) error { n.kill(); return nil })
	post(a, api, "stop", func(n *node, _ context.Context, _ struct{}) error { n.stop(); return nil })
	httpapi.Post(api, "POST /v1/reset", func(*http.Request, struct{}) (any, error) { return nil, a.reset() })
	return api
}

// get adds what can be asked of a node that there is, and post what can be done to it.
func get[Out any](a *Agent, api *httpapi.API, what string, ask func(*node, context.Context) (Out, error)) {
	api.Get("GET /v1/nodes/{name}/"+what, func(r *http.Request) (any, error) {
		n, err := a.node(r.PathValue("name"))
		if err != nil {
			return nil, err
		}
		return ask(n, r.Context())
	})
}

func post[In any](a *Agent, api *httpapi.API, verb string, do func(*node, context.Context, In) error) {
	httpapi.Post(api, "POST /v1/nodes/{name}/"+verb, func(r *http.Request, in In) (any, error) {
		n, err := a.node(r.PathValue("name"))
		if err != nil {
			return nil, err
		}
		return nil, do(n, r.Context(), in)
	})
}

func (a *Agent) health() Health {
	log := a.eventLog()
	return Health{a.cfg.Host, log.instance, log.nextNumber()}
}

// A request for events is answered as soon as there are any, and after pollTime without: an agent that lives
// says something every second. The agent forgets events when the follower asks for later ones. So a lost
// connection costs nothing.
const (
	pollTime = time.Second
	// gather is how long the first event of an answer waits for others to join it.
	gather = 4 * time.Millisecond
)

// handleEvents answers with the events from a number on. A follower names the instance that it follows, and
// has all events before that number. Others are refused: they would take events from the follower.
func (a *Agent) handleEvents(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	from, err := strconv.ParseUint(query.Get("from"), 10, 64)
	if err != nil {
		return fmt.Errorf("events: from=%q: want the number of an event, 0 for the first: %w",
			query.Get("from"), httpapi.ErrInvalid)
	}
	log := a.eventLog()
	if query.Get("instance") != log.instance {
		return fmt.Errorf("the agent of %s was restarted or reset: %w", a.cfg.Host, ErrEventsLost)
	}
	end, stop := clock.After(clock.System(), pollTime)
	defer stop()
	lines, changed, err := log.read(from)
	if err == nil && lines == nil {
		select {
		case <-changed:
			_ = clock.Sleep(r.Context(), gather) // ends early with the request
		case <-end:
		case <-r.Context().Done():
		case <-a.ctx.Done():
		}
		lines, _, err = log.read(from)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/jsonl")
	_, _ = w.Write(lines) // a follower that went away will ask again
	return nil
}

// hear notes when a controller asked last. It sees the requests that the API lets through; Prometheus is no
// controller.
func (a *Agent) hear(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != kit.Path {
			a.heardNS.Store(clock.Mono())
			defer func() { a.heardNS.Store(clock.Mono()) }()
		}
		next.ServeHTTP(w, r)
	})
}
