package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/rs/zerolog"

	"locklab/internal/httpapi"
)

const (
	// toxiproxyVersion is the version of toxiproxy's API.
	toxiproxyVersion = "2.12.0"
	// bodyBytesMax bounds a request.
	bodyBytesMax = 64 << 10
	// hostTimeout bounds how long a host may take to list its links.
	hostTimeout = time.Second
)

// Toxiproxy serves toxiproxy's own HTTP API over the links of hosts, for toxiproxy-cli and client libraries. A
// link is a proxy HOST:NODE:PORT, such as master-a:redis-a-1:client. Toxics are toxiproxy's types or ours
// (locklab-hold and others). Changes made here are recorded as made by hand, and only they can be undone; links
// cannot be added or removed. Like toxiproxy, the API checks no token and refuses browsers; it refuses host names,
// too, against DNS rebinding. Serve it where everybody may break the links.
//
// Each request is served by a new toxiproxy server with the links as its proxies. It carries no traffic: it parses
// requests, and answers those that change nothing.
func Toxiproxy(hosts map[string]*Client) http.Handler {
	register()
	toxiproxy.Version = toxiproxyVersion
	var changing sync.Mutex // one request at a time
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyBytesMax))
		r.Body = io.NopCloser(bytes.NewReader(text))
		foreign := httpapi.CheckHost(r)
		switch {
		case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "":
			err = failed(http.StatusForbidden, "web pages may not break the links")
		case foreign != nil:
			err = failed(http.StatusForbidden, "%v", foreign)
		case err != nil:
			err = failed(http.StatusBadRequest, "bad request body: %v", err)
		default:
			changing.Lock() // after the body, for which a client may take its time
			defer changing.Unlock()
			err = serve(w, r, hosts)
		}
		if err != nil {
			refuse(w, err)
		}
	})
}

func failed(status int, format string, args ...any) error {
	return &toxiproxy.ApiError{Message: fmt.Sprintf(format, args...), StatusCode: status}
}

func refuse(w http.ResponseWriter, err error) {
	api := new(toxiproxy.ApiError)
	if !errors.As(err, &api) {
		api = &toxiproxy.ApiError{Message: err.Error(), StatusCode: http.StatusBadGateway} // a host does not answer
		if errors.Is(err, ErrInvalid) {
			api.StatusCode = http.StatusBadRequest
		}
	}
	answer(w, api.StatusCode, api)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, body, jsonv1.DefaultOptionsV1()) // the client has gone away
}

// model is the links as proxies of a toxiproxy server.
type model struct {
	server  *toxiproxy.ApiServer
	proxies map[string]*proxy
}

// proxy is a link as toxiproxy has it.
type proxy struct {
	*toxiproxy.Proxy
	host   *Client
	link   string
	byHand map[string]bool // its toxics that may be changed here, by name
}

// serve answers a request for /proxies/{proxy}/toxics/{toxic}, or for a path above it.
func serve(w http.ResponseWriter, r *http.Request, hosts map[string]*Client) error {
	m, err := newModel(r.Context(), hosts)
	if err != nil {
		return err
	}
	path := append(strings.Split(strings.Trim(r.URL.Path, "/"), "/"), "", "", "")
	p := m.proxies[path[1]]
	switch changes := r.Method != http.MethodGet && r.Method != http.MethodHead; {
	case r.Method == http.MethodPost && path[0] == "reset":
		return m.reset(r.Context(), w)
	case changes && p != nil && path[2] != "":
		return p.change(w, r, path[3])
	case changes && p != nil && r.Method != http.MethodDelete:
		if err := p.toggle(r); err != nil {
			return err
		}
		r.Method = http.MethodGet
	case changes && (p != nil || path[1] == ""):
		return failed(http.StatusForbidden, "%s", fixed)
	}
	m.server.Routes().ServeHTTP(w, r)
	return nil
}

const fixed = "the proxies are the links of the lab's topology: want toxics, or enabled"

// newModel asks every host for its links, all at once.
func newModel(ctx context.Context, hosts map[string]*Client) (m *model, err error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	m = &model{toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), map[string]*proxy{}}
	var (
		asking sync.WaitGroup
		mu     sync.Mutex
	)
	for host, client := range hosts {
		asking.Go(func() {
			links, silent := client.Opened(ctx)
			mu.Lock()
			defer mu.Unlock()
			if silent != nil {
				err = errors.Join(err, fmt.Errorf("ask %s for its links: %w", host, silent))
			}
			for _, l := range links {
				err = errors.Join(err, m.add(host, client, l))
			}
		})
	}
	asking.Wait()
	return m, err
}

func (m *model) add(host string, client *Client, l Opened) (err error) {
	name := host + ":" + strings.ReplaceAll(l.Name, "/", ":")
	p := &proxy{toxiproxy.NewProxy(m.server, name, l.Addr, l.Upstream), client, l.Name, map[string]bool{}}
	p.Enabled = true
	for _, i := range l.Active {
		if i.ID == downID(l.Name) {
			p.Enabled = false
			continue
		}
		for _, way := range ways() {
			if i.Direction.has(way) {
				err = errors.Join(err, p.show(i, way))
			}
		}
	}
	m.proxies[name] = p
	return errors.Join(err, m.server.Collection.Add(p.Proxy, false))
}

// handID is the ID of an impairment made by hand. downID is that of a disabled proxy: no toxic
// has an empty name.
func handID(link, name string) string { return "hand/" + link + "/" + name }
func downID(link string) string       { return handID(link, "") }

// show adds one direction of an impairment to the proxy.
func (p *proxy) show(i Impairment, way Direction) error {
	w := toxics.ToxicWrapper{Toxic: i.Effect, Name: i.ID, Type: typeOf(i.Effect), Toxicity: i.share()}
	w.Stream = string(way) + "stream"
	if i.byHand() {
		w.Name = strings.TrimPrefix(i.ID, handID(i.Link, ""))
		p.byHand[w.Name] = true
	} else if i.Direction == Both {
		w.Name += "_" + w.Stream
	}
	text, err := json.Marshal(w, jsonv1.DefaultOptionsV1())
	if err == nil {
		_, err = p.Toxics.AddToxicJson(bytes.NewReader(text))
	}
	return err
}

// toggle takes a link down, or up again.
func (p *proxy) toggle(r *http.Request) (err error) {
	in := toxiproxy.Proxy{Listen: p.Listen, Upstream: p.Upstream, Enabled: p.Enabled}
	if err := jsonv1.NewDecoder(r.Body).Decode(&in); err != nil {
		return failed(http.StatusBadRequest, "bad request body: %v", err)
	}
	if differs, err := p.Differs(&in); differs || err != nil {
		return failed(http.StatusForbidden, "%s", fixed)
	}
	if p.Enabled = in.Enabled; p.Enabled {
		_, err = p.host.Heal(r.Context(), downID(p.link))
	} else {
		down := Impairment{ID: downID(p.link), Link: p.link, Direction: Both, Effect: new(Reset)}
		err = p.host.Apply(r.Context(), down)
	}
	return err
}

// change has toxiproxy add, change or remove a toxic of its proxy, and does the same to the link.
func (p *proxy) change(w http.ResponseWriter, r *http.Request, name string) (err error) {
	if !p.byHand[name] && p.Toxics.GetToxic(name) != nil {
		return failed(http.StatusForbidden, "toxic %s is the scenario's: want one that was added by hand", name)
	}
	var made *toxics.ToxicWrapper
	switch {
	case r.Method == http.MethodDelete:
		if err := p.Toxics.RemoveToxic(r.Context(), name); err != nil {
			return err
		}
		if _, err := p.host.Heal(r.Context(), handID(p.link, name)); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	case name == "":
		made, err = p.Toxics.AddToxicJson(r.Body)
	default:
		made, err = p.Toxics.UpdateToxicJson(name, r.Body)
	}
	if err != nil {
		return err
	}
	if strings.Contains(made.Name, "/") {
		return failed(http.StatusBadRequest, "toxic %q: want a name without a slash", made.Name)
	}
	i := Impairment{ID: handID(p.link, made.Name), Link: p.link, Direction: Up}
	i.Effect, i.Toxicity = made.Toxic, &made.Toxicity
	if made.Direction == stream.Downstream {
		i.Direction = Down
	}
	if err := p.host.Apply(r.Context(), i); err != nil {
		return err
	}
	answer(w, http.StatusOK, made)
	return nil
}

// reset takes off everything that was put on by hand.
func (m *model) reset(ctx context.Context, w http.ResponseWriter) error {
	for _, p := range m.proxies {
		p.byHand[""] = true // the one that disables it
		for name := range p.byHand {
			if _, err := p.host.Heal(ctx, handID(p.link, name)); err != nil {
				return err
			}
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
