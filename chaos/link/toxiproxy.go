package link

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/rs/zerolog"

	"locklab/chaos/toxic"
	"locklab/internal/httpapi"
)

const (
	// toxiproxyVersion is whose API this is.
	toxiproxyVersion = "2.12.0"
	// bodyBytesMax bounds a request.
	bodyBytesMax = 64 << 10
	// hostTimeout bounds how long a host is waited for that is asked for its links.
	hostTimeout = time.Second
)

// Toxiproxy serves toxiproxy's own HTTP API over the links of hosts, by their names, for
// toxiproxy-cli and the libraries of its users. A link is a proxy HOST:NODE:PORT, such as
// master-a:redis-a-1:client. Toxics are of toxiproxy's own types or of ours (locklab-hold and
// others). What is done here is noted as done by hand, and only that can be taken off; which
// links there are is the topology's business. As toxiproxy's, the API checks no token and
// refuses browsers: serve it where everybody may break the links. Unless it is called by any
// name, a request's Host must be an IP address or localhost.
//
// For each request a server of toxiproxy is made, with the links as its proxies. They carry
// nothing: the server reads the request and writes the answer.
func Toxiproxy(hosts func() map[string]*Client, anyName bool) http.Handler {
	toxic.Register()
	var changing sync.Mutex // one change at a time
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyBytesMax))
		r.Body = io.NopCloser(bytes.NewReader(text))
		// A page that the user looks at could break the links, also by a name of its own.
		switch {
		case strings.HasPrefix(r.UserAgent(), "Mozilla/"):
			err = failed(http.StatusForbidden, "user agent not allowed")
		case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "":
			err = failed(http.StatusForbidden, "web pages may not break the links")
		case !anyName && !httpapi.IsAddress(r.Host):
			err = failed(http.StatusForbidden, "%q is no name of this API: want its IP address, or localhost", r.Host)
		case err != nil:
			err = failed(http.StatusBadRequest, "bad request body: %v", err)
		default:
			if r.Method != http.MethodGet { // after the body, for which a client may take its time
				changing.Lock()
				defer changing.Unlock()
			}
			err = newModel(r.Context(), hosts()).serve(w, r)
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
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(api.StatusCode)
	_ = json.MarshalWrite(w, api) // the client has gone away
}

// model is the links as a server of toxiproxy has them.
type model struct {
	server *toxiproxy.ApiServer

	mu      sync.Mutex
	proxies map[string]proxy
	silent  map[string]error // of hosts that did not answer in time
}

// proxy is a link as toxiproxy has it.
type proxy struct {
	*toxiproxy.Proxy
	host   *Client
	link   string
	byHand map[string]Impairment // its toxics that may be changed here, by name
}

// newModel asks every host for its links, all at once.
func newModel(ctx context.Context, hosts map[string]*Client) *model {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	m := &model{
		server:  toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		proxies: map[string]proxy{}, silent: map[string]error{},
	}
	var asking sync.WaitGroup
	for host, client := range hosts {
		asking.Go(func() {
			links, err := client.Opened(ctx)
			m.mu.Lock()
			defer m.mu.Unlock()
			for _, l := range links {
				err = errors.Join(err, m.add(host, client, l))
			}
			if err != nil {
				m.silent[host] = fmt.Errorf("ask %s for its links: %w", host, err)
			}
		})
	}
	asking.Wait()
	return m
}

// add makes a proxy of a link. The caller holds mu.
func (m *model) add(host string, client *Client, l Opened) (err error) {
	name := host + ":" + strings.ReplaceAll(l.Name, "/", ":")
	p := proxy{toxiproxy.NewProxy(m.server, name, l.Addr, l.Upstream), client, l.Name, map[string]Impairment{}}
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

// show puts one direction of an impairment on the proxy.
func (p proxy) show(i Impairment, way Direction) error {
	w := toxics.ToxicWrapper{Toxic: i.Effect, Name: i.ID, Type: toxic.TypeOf(i.Effect), Toxicity: 1}
	w.Stream = string(way) + "stream"
	if i.Toxicity != nil {
		w.Toxicity = *i.Toxicity
	}
	if i.byHand() {
		w.Name = strings.TrimPrefix(i.ID, handID(i.Link, ""))
		p.byHand[w.Name] = i
	} else if i.Direction == Both {
		w.Name += "_" + w.Stream
	}
	text, err := json.Marshal(w)
	if err == nil {
		_, err = p.Toxics.AddToxicJson(bytes.NewReader(text))
	}
	return err
}

// serve answers a request for /proxies/{proxy}/toxics/{toxic}, or for a path above it.
func (m *model) serve(w http.ResponseWriter, r *http.Request) error {
	path := append(strings.Split(strings.Trim(r.URL.Path, "/"), "/"), "", "", "")
	p, known := m.proxies[path[1]]
	host, _, _ := strings.Cut(path[1], ":")
	reads := r.Method == http.MethodGet
	switch {
	case path[0] == "version":
		_, err := fmt.Fprintf(w, "{\"version\": %q}\n", toxiproxyVersion)
		return err
	case path[0] == "reset" && r.Method == http.MethodPost:
		return m.reset(w, r)
	case !known && m.silent[host] != nil: // it may have it
		return m.silent[host]
	case reads && path[1] == "" && len(m.proxies) == 0 && len(m.silent) > 0:
		return errors.Join(slices.Collect(maps.Values(m.silent))...)
	case known && !reads && path[2] != "":
		return m.change(p, path[3], w, r)
	case known && !reads && r.Method != http.MethodDelete:
		if err := p.toggle(r); err != nil {
			return err
		}
		r.Method = http.MethodGet
	case !reads && (known || path[1] == ""):
		return failed(http.StatusForbidden, "%s", fixed)
	}
	m.server.Routes().ServeHTTP(w, r)
	return nil
}

const fixed = "the proxies are the links of the lab's topology: want toxics, or enabled"

// toggle takes a link down, or up again.
func (p proxy) toggle(r *http.Request) (err error) {
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
		down := Impairment{ID: downID(p.link), Link: p.link, Direction: Both, Effect: new(toxic.Reset)}
		err = p.host.Apply(r.Context(), down)
	}
	return err
}

// change has toxiproxy add, change or remove a toxic of its proxy, and does the same to the link.
func (m *model) change(p proxy, name string, w http.ResponseWriter, r *http.Request) error {
	before := p.Toxics.GetToxicArray()
	if _, byHand := p.byHand[name]; !byHand && p.Toxics.GetToxic(name) != nil {
		return failed(http.StatusForbidden, "toxic %s is the scenario's: want one that was added by hand", name)
	}
	said := &answer{header: w.Header(), status: http.StatusOK}
	m.server.Routes().ServeHTTP(said, r)
	if said.status < http.StatusMultipleChoices {
		var made *toxics.ToxicWrapper
		for _, t := range p.Toxics.GetToxicArray() {
			if w := t.(*toxics.ToxicWrapper); w.Name == name || !slices.Contains(before, t) {
				made, name = w, w.Name
			}
		}
		if err := p.apply(r.Context(), name, made); err != nil {
			return err
		}
	}
	w.WriteHeader(said.status)
	_, err := w.Write(said.body)
	return err
}

// apply has a link do what toxiproxy has read; nil is a toxic that was removed.
func (p proxy) apply(ctx context.Context, name string, w *toxics.ToxicWrapper) error {
	if w == nil {
		_, err := p.host.Heal(ctx, handID(p.link, name))
		return err
	}
	if strings.Contains(name, "/") {
		return failed(http.StatusBadRequest, "toxic %q: want a name without a slash", name)
	}
	i := Impairment{ID: handID(p.link, name), Link: p.link, Direction: Up}
	i.Effect, i.Toxicity = toxic.Of(w), &w.Toxicity
	if w.Direction == stream.Downstream {
		i.Direction = Down
	}
	return p.host.Apply(ctx, i)
}

// answer keeps what toxiproxy says until the link has done it.
type answer struct {
	header http.Header
	status int
	body   []byte
}

func (a *answer) Header() http.Header    { return a.header }
func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(b []byte) (int, error) {
	a.body = append(a.body, b...)
	return len(b), nil
}

// reset takes off everything that was put on by hand.
func (m *model) reset(w http.ResponseWriter, r *http.Request) error {
	err := errors.Join(slices.Collect(maps.Values(m.silent))...) // what they have stays
	for _, p := range m.proxies {
		ids := []string{downID(p.link)}
		for _, i := range p.byHand {
			ids = append(ids, i.ID)
		}
		for _, id := range ids {
			_, failed := p.host.Heal(r.Context(), id)
			err = errors.Join(err, failed)
		}
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
