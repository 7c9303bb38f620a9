package link

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
)

// Host has all outbound links of one host. It is safe for concurrent use.
type Host struct {
	config Config
	timer  *timer
	echo   *echo

	mu     sync.Mutex // of the fields below, and of every change to them
	links  map[string]*link
	probes map[string]*prober // by link
	log    []*Done            // of all impairments, oldest first
}

// NewHost starts a host without links. Close ends it.
func NewHost(config Config) (*Host, error) {
	if config.Gates == nil {
		config.Gates = NewGates()
	}
	timer, err := newTimer()
	if err != nil {
		return nil, err
	}
	e, err := newEcho(config)
	if err != nil {
		timer.close()
		return nil, err
	}
	h := &Host{config: config, timer: timer, echo: e}
	h.empty()
	return h, nil
}

// EchoAddr is where other hosts' probe links should lead.
func (h *Host) EchoAddr() string { return cmp.Or(h.config.EchoAdvertise, h.echo.ln.Addr().String()) }

// Open opens a link and returns the address that the host's programs dial; the same link has the same address
// again. A link to no node leads to the echo service of its host, and is probed.
func (h *Host) Open(spec Spec) (addr string, err error) {
	if err := spec.validate(); err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.links[spec.Name]
	switch {
	case l == nil:
		if l, err = openLink(h, spec, h.on(spec)); err != nil {
			return "", err
		}
		h.links[spec.Name] = l
		if spec.isProbe() {
			p := newProber(h.config.Host, spec.ToHost, l.gate.addr)
			p.pad(h.padding(spec.ToHost))
			h.probes[spec.Name] = p
		}
	case l.spec != spec:
		return "", fmt.Errorf("link %q is open with other settings: want the same: %w", spec.Name, ErrInvalid)
	}
	return l.gate.addr, nil
}

// on returns the impairments in force that hit a link. The caller holds mu.
func (h *Host) on(spec Spec) (all []Impairment) {
	for _, e := range h.log {
		if i := e.Impairment; !e.over() && i.strikes(spec) {
			all = append(all, i)
		}
	}
	return all
}

// last returns the newest entry of an ID; one that is over if there is none. The caller holds mu.
func (h *Host) last(id string) *Done {
	for _, e := range slices.Backward(h.log) {
		if e.Impairment.ID == id {
			return e
		}
	}
	return &Done{EndedNS: 1}
}

// Clear closes all links and ends all probing and impairments: the state of a
// new host, for the next run.
func (h *Host) Clear() {
	h.mu.Lock()
	links, probes := h.links, h.probes
	h.empty()
	h.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range probes {
		wg.Go(p.close)
	}
	for _, l := range links {
		wg.Go(l.close)
	}
	wg.Wait()
	h.echo.clear()
}

func (h *Host) empty() {
	h.links, h.probes, h.log = map[string]*link{}, map[string]*prober{}, nil
}

// Apply puts an impairment on the links to its hosts, also on future connections, and returns when it is in force.
// It may be repeated; another impairment under the same ID is refused. If both are by hand, it changes the
// settings, as in toxiproxy. Data links are watched from then on: see [Host.Heal].
func (h *Host) Apply(i Impairment) error {
	if err := i.validate(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch e := h.last(i.ID); {
	case e.over():
	case reflect.DeepEqual(i, e.Impairment):
		return nil
	case i.byHand() && e.Impairment.byHand() && typeOf(i.Effect) == typeOf(e.Impairment.Effect):
		e.EndedNS = clock.Mono()
	default:
		return fmt.Errorf("impairment %q is in force with other settings: heal it first: %w", i.ID, ErrInvalid)
	}
	e := &Done{Impairment: i, BeganNS: clock.Mono()}
	if l := h.links[i.Link]; l != nil {
		e.ToHost = l.spec.ToHost
	}
	h.log = append(h.log, e)
	h.config.Log.Debug("impair links", "host", h.config.Host, "id", i.ID, "kind", typeOf(i.Effect), "to", i.ToHosts)
	h.change(i, func(l *link) { l.apply(i) })
	h.rush(i)
	return nil
}

// Heal takes an impairment off and returns when bytes flow again. It may be repeated. contradicted says which
// traffic on data links contradicts that the impairment was in force, "" if none does.
func (h *Host) Heal(id string) (contradicted string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.last(id)
	if e.over() {
		return e.contradicted
	}
	h.config.Log.Debug("heal links", "host", h.config.Host, "id", id)
	var mu sync.Mutex
	h.change(e.Impairment, func(l *link) {
		passed := l.heal(e.Impairment)
		mu.Lock()
		defer mu.Unlock()
		e.contradicted = cmp.Or(e.contradicted, passed)
	})
	e.EndedNS = clock.Mono()
	h.rush(e.Impairment)
	return e.contradicted
}

// change runs f on all links that the impairment hits, at once. The caller holds mu.
func (h *Host) change(i Impairment, f func(*link)) {
	var wg sync.WaitGroup
	for _, l := range h.links {
		if i.strikes(l.spec) {
			wg.Go(func() { f(l) })
		}
	}
	wg.Wait()
}

// Close resets all connections and returns when nothing of the host runs.
func (h *Host) Close() {
	h.Clear()
	h.echo.close()
	h.timer.close()
}

// Opened is a link as it is now.
type Opened struct {
	Spec
	Addr   string       `json:"addr"` // that the host's programs dial
	Active []Impairment `json:"active"`
}

// Done is an impairment that is or was in force, in times of the host's clock.Mono.
type Done struct {
	Impairment Impairment `json:"impairment"`
	ToHost     string     `json:"to_host"` // of Impairment.Link, if given
	BeganNS    int64      `json:"began_ns"`
	EndedNS    int64      `json:"ended_ns,omitzero"` // 0 while it is in force

	contradicted string // kept for a repeated heal
}

func (d *Done) over() bool { return d.EndedNS != 0 }

// What names the change in a few words: a toxic and its direction, or that the link was taken down.
func (d Done) What() string {
	if i := d.Impairment; i.ID != downID(i.Link) {
		return fmt.Sprintf("%s, %s", typeOf(i.Effect), i.Direction)
	}
	return "taken down"
}

// Opened lists the data links, by name.
func (h *Host) Opened() (all []Opened) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.data() {
		all = append(all, Opened{l.spec, l.gate.addr, h.on(l.spec)})
	}
	return all
}

// data are the links of the workload, by name. The caller holds mu.
func (h *Host) data() []*link {
	all := slices.DeleteFunc(slices.Collect(maps.Values(h.links)), func(l *link) bool { return l.spec.isProbe() })
	slices.SortFunc(all, func(a, b *link) int { return cmp.Compare(a.spec.Name, b.spec.Name) })
	return all
}

// Hand lists the impairments made by hand since the host was made or cleared, also healed ones.
func (h *Host) Hand() (all []Done) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.log {
		if e.Impairment.byHand() {
			all = append(all, *e)
		}
	}
	return all
}

// Prefix is where the agent mounts [Host.Handler]: mux.Handle(link.Prefix, host.Handler()).
const Prefix = "/v1/links/"

func kinds() []httpapi.Kind {
	return []httpapi.Kind{{Is: ErrInvalid, Name: "invalid", Status: http.StatusBadRequest}}
}

// Handler is the control API: JSON over HTTP, paths below [Prefix]. The agent that mounts it
// checks the token.
//
//	GET  probes   Report
//	GET  open     []Opened: the links and the impairments in force on them
//	GET  hand     []Done
//	POST open     Spec -> the address, such as "127.0.0.1:40001"
//	POST apply    Impairment
//	POST heal     impairment's id -> what contradicts it
func (h *Host) Handler() http.Handler {
	a := httpapi.New(httpapi.Config{Name: "links of " + h.config.Host, Kinds: kinds(), Log: h.config.Log})
	a.Get("GET "+Prefix+"probes", func(*http.Request) (any, error) { return h.Probes(), nil })
	a.Get("GET "+Prefix+"open", func(*http.Request) (any, error) { return h.Opened(), nil })
	a.Get("GET "+Prefix+"hand", func(*http.Request) (any, error) { return h.Hand(), nil })
	httpapi.Post(a, "POST "+Prefix+"open", func(_ *http.Request, s Spec) (any, error) { return h.Open(s) })
	httpapi.Post(a, "POST "+Prefix+"apply", func(_ *http.Request, i Impairment) (any, error) { return nil, h.Apply(i) })
	httpapi.Post(a, "POST "+Prefix+"heal", func(_ *http.Request, id string) (any, error) { return h.Heal(id), nil })
	return a
}

// Client controls a [Host] over HTTP. It is safe for concurrent use.
type Client struct{ http *httpapi.Client }

// NewClient controls the host whose agent has the URL and the token.
func NewClient(agentURL, token string) *Client {
	config := httpapi.ClientConfig{
		Name: "links of agent", Token: token, Kinds: kinds(), Repeatable: true, Timeout: 5 * time.Second,
	}
	return &Client{httpapi.NewClient(agentURL, config)}
}

// Disconnect frees the client's connections.
func (c *Client) Disconnect() { c.http.Close() }

// Open opens a link and returns the address to dial on that host.
func (c *Client) Open(ctx context.Context, s Spec) (addr string, err error) {
	return ask[string](ctx, c, "open", s)
}

// Apply puts an impairment on the host's links.
func (c *Client) Apply(ctx context.Context, i Impairment) error {
	return c.http.Call(ctx, http.MethodPost, Prefix+"apply", i, nil)
}

// Heal takes an impairment off and says what contradicted it, see [Host.Heal].
func (c *Client) Heal(ctx context.Context, id string) (contradicted string, err error) {
	return ask[string](ctx, c, "heal", id)
}

// Probes returns the report of the host's probes.
func (c *Client) Probes(ctx context.Context) (Report, error) {
	return ask[Report](ctx, c, "probes", nil)
}

// Opened lists the host's links.
func (c *Client) Opened(ctx context.Context) ([]Opened, error) {
	return ask[[]Opened](ctx, c, "open", nil)
}

// Hand lists the impairments made by hand on the host's links, see [Host.Hand].
func (c *Client) Hand(ctx context.Context) ([]Done, error) { return ask[[]Done](ctx, c, "hand", nil) }

// ask posts in, or sends a GET if in is nil.
func ask[Out any](ctx context.Context, c *Client, path string, in any) (out Out, err error) {
	method := http.MethodPost
	if in == nil {
		method = http.MethodGet
	}
	err = c.http.Call(ctx, method, Prefix+path, in, &out)
	return out, err
}
