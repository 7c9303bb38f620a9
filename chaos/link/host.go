package link

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"locklab/chaos/toxic"
	"locklab/internal/seed"
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

func (c Config) validate() error {
	if c.Host == "" || len(c.Host) > maxNameBytes {
		return fmt.Errorf("link host %q: want a name of 1 to %d bytes: %w", c.Host, maxNameBytes, ErrInvalid)
	}
	if c.Log == nil || c.EchoListen == "" {
		return fmt.Errorf("link host %q: Log and EchoListen must be set: %w", c.Host, ErrInvalid)
	}
	return nil
}

// Host has all outbound links of one host. It is safe for concurrent use.
type Host struct {
	config Config
	timer  *toxic.Timer
	echo   *echo

	mu     sync.Mutex // of the fields below, and of every change to them
	closed bool
	links  map[string]*link
	probes map[string]*prober // by host
	active []Impairment
	// healed says what contradicted those that were healed, as healing may be asked for again.
	healed map[string]string
	hand   []Hand
}

var errClosed = errors.New("link: host is closed")

// NewHost starts a host without links. Close ends it.
func NewHost(config Config) (*Host, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
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
func (h *Host) EchoAddr() string { return h.echo.advertised }

// Open opens a link and returns the address that the host's programs dial. To
// open the same link again returns the same address.
func (h *Host) Open(spec Spec) (addr string, err error) {
	if err := spec.validate(); err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l, err := h.open(spec)
	if err != nil {
		return "", err
	}
	return l.gate.addr, nil
}

// open opens a link under the lock.
func (h *Host) open(spec Spec) (*link, error) {
	if h.closed {
		return nil, errClosed
	}
	if l, ok := h.links[spec.Name]; ok {
		if l.spec != spec {
			return nil, fmt.Errorf("link %q is open with other settings: close it first: %w", spec.Name, ErrInvalid)
		}
		return l, nil
	}
	l, err := openLink(h, spec, h.on(spec))
	if err != nil {
		return nil, err
	}
	h.links[spec.Name] = l
	return l, nil
}

// on are the impairments that hit a link. The caller holds mu.
func (h *Host) on(spec Spec) []Impairment {
	return slices.DeleteFunc(slices.Clone(h.active), func(i Impairment) bool { return !i.strikes(spec) })
}

// Clear closes all links and ends all probing and impairments: the state of a
// new host, for the next run.
func (h *Host) Clear() {
	h.mu.Lock()
	links, probes := h.links, h.probes
	h.empty()
	h.mu.Unlock()
	shut(links, probes)
	h.echo.clear()
}

func (h *Host) empty() {
	h.links, h.probes, h.healed = map[string]*link{}, map[string]*prober{}, map[string]string{}
	h.active, h.hand = nil, nil
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
	if h.closed {
		return errClosed
	}
	n := slices.IndexFunc(h.active, func(j Impairment) bool { return j.ID == i.ID })
	switch {
	case n < 0:
		h.active = append(h.active, i)
	case reflect.DeepEqual(i, h.active[n]):
		return nil
	case i.ByHand && h.active[n].ByHand && i.Effect.Kind() == h.active[n].Effect.Kind():
		h.endHand(i.ID)
		h.active[n] = i
	default:
		return fmt.Errorf("impairment %q is in force with other settings: heal it first: %w", i.ID, ErrInvalid)
	}
	h.noteHand(i)
	h.config.Log.Debug("impair links", "host", h.config.Host, "id", i.ID, "kind", i.Effect.Kind(), "to", i.ToHosts)
	h.change(i, func(l *link) { l.apply(i) })
	return nil
}

// Heal takes an impairment off and returns when bytes flow again. It says what of the
// traffic on data links contradicts that the impairment was there, "" if nothing does.
// To heal what is not there is fine, so that healing can be repeated.
func (h *Host) Heal(id string) (contradicted string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := slices.IndexFunc(h.active, func(i Impairment) bool { return i.ID == id })
	if n < 0 {
		return h.healed[id]
	}
	i := h.active[n]
	h.active = slices.Delete(h.active, n, n+1)
	defer h.endHand(id)
	h.config.Log.Debug("heal links", "host", h.config.Host, "id", id)
	var mu sync.Mutex
	h.change(i, func(l *link) {
		passed := l.heal(i)
		mu.Lock()
		defer mu.Unlock()
		h.healed[id] = cmp.Or(h.healed[id], passed)
	})
	return h.healed[id]
}

// change runs f on all links that the impairment hits, at once, and has their
// hosts probed often for a while. The caller holds mu.
func (h *Host) change(i Impairment, f func(*link)) {
	var wg sync.WaitGroup
	for _, l := range h.links {
		if i.strikes(l.spec) {
			wg.Go(func() { f(l) })
		}
	}
	wg.Wait()
	h.pad()
	var hit []*prober
	for host, p := range h.probes {
		if i.hits(host) {
			hit = append(hit, p)
		}
	}
	for _, p := range hit {
		p.hurry(max(fastInterval, time.Duration(len(hit))*hurryShare))
	}
}

// Close resets all connections and returns when nothing of the host runs.
func (h *Host) Close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	h.mu.Unlock()
	h.Clear()
	h.echo.close()
	h.timer.Close()
}

func shut(links map[string]*link, probes map[string]*prober) {
	var wg sync.WaitGroup
	for _, p := range probes {
		wg.Go(p.close)
	}
	for _, l := range links {
		wg.Go(l.close)
	}
	wg.Wait()
}
