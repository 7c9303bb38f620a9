package link

import (
	"cmp"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"locklab/chaos/toxic"
	"locklab/internal/seed"
	"locklab/locks/clock"
)

// Config of a [Host].
type Config struct {
	Host string    // the host's name in the topology
	Seed seed.Seed // of all jitter
	Log  *slog.Logger

	// EchoListen is host:port of the echo service; other hosts' links dial it.
	EchoListen string
	// EchoAdvertise is the address under which other hosts reach the echo service;
	// empty means the address that it listens on.
	EchoAdvertise string
	// Gates are shared with the other hosts of this process; nil is gates of the host's own.
	Gates *Gates
}

// DefaultConfig is a host on the loopback. Set Host and Seed.
func DefaultConfig() Config {
	return Config{
		Log:        slog.New(slog.DiscardHandler),
		EchoListen: "127.0.0.1:0",
	}
}

// Host has all outbound links of one host. It is safe for concurrent use.
type Host struct {
	config Config
	timer  *toxic.Timer
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
	timer, err := toxic.NewTimer()
	if err != nil {
		return nil, err
	}
	e, err := newEcho(config)
	if err != nil {
		timer.Close()
		return nil, err
	}
	h := &Host{config: config, timer: timer, echo: e}
	h.empty()
	return h, nil
}

// EchoAddr is where other hosts' probe links should lead.
func (h *Host) EchoAddr() string { return cmp.Or(h.config.EchoAdvertise, h.echo.ln.Addr().String()) }

// Open opens a link and returns the address that the host's programs dial. To
// open the same link again returns the same address. A link to no node leads to the
// echo service of its host, and is probed.
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
		return "", fmt.Errorf("link %q is open with other settings: close it first: %w", spec.Name, ErrInvalid)
	}
	return l.gate.addr, nil
}

// on are the impairments in force that hit a link. The caller holds mu.
func (h *Host) on(spec Spec) (all []Impairment) {
	for _, e := range h.log {
		if i := e.Impairment; !e.over() && i.strikes(spec) {
			all = append(all, i)
		}
	}
	return all
}

// last is the youngest entry under an ID; one that is over if there is none. The caller holds mu.
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

// Apply puts an impairment on the links to its hosts, on live connections and on
// those to come, and returns when it is in force. The same impairment may be
// applied twice; another one under the same ID is refused, unless both are by hand: then it
// changes the settings, as toxiproxy updates a toxic. What the data links carry from then on
// is watched: see [Host.Heal].
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
	case i.byHand() && e.Impairment.byHand() && toxic.TypeOf(i.Effect) == toxic.TypeOf(e.Impairment.Effect):
		e.EndedNS = clock.Mono()
	default:
		return fmt.Errorf("impairment %q is in force with other settings: heal it first: %w", i.ID, ErrInvalid)
	}
	e := &Done{Impairment: i, BeganNS: clock.Mono()}
	if l := h.links[i.Link]; l != nil {
		e.ToHost = l.spec.ToHost
	}
	h.log = append(h.log, e)
	h.config.Log.Debug("impair links", "host", h.config.Host, "id", i.ID, "kind", toxic.TypeOf(i.Effect), "to", i.ToHosts)
	h.change(i, func(l *link) { l.apply(i) })
	h.rush(i)
	return nil
}

// Heal takes an impairment off and returns when bytes flow again. It says what of the
// traffic on data links contradicts that the impairment was there, "" if nothing does.
// To heal what is not there is fine, so that healing can be repeated.
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
	h.timer.Close()
}
