package agent

import (
	"context"
	"net/http"

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

// api returns the control API.
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

// get adds a query of an existing node, and post an action.
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

// hear records when a controller last called. Only authorized requests reach it; scrapes of metrics do not count.
func (a *Agent) hear(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != kit.Path {
			a.heardNS.Store(clock.Mono())
			defer func() { a.heardNS.Store(clock.Mono()) }()
		}
		next.ServeHTTP(w, r)
	})
}
