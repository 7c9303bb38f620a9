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

// toxiproxyVersion is whose API this is.
const toxiproxyVersion = "2.12.0"

// bodyBytesMax bounds a request.
const bodyBytesMax = 64 << 10

// hostTimeout bounds how long a host is waited for that is asked for its links.
const hostTimeout = time.Second

// Toxiproxy serves toxiproxy's own HTTP API over the links of hosts, by their names, for
// toxiproxy-cli and the libraries of its users. A link is a proxy HOST:NODE:PORT, such as
// master-a:redis-a-1:client. Toxics are of toxiproxy's own types or of ours (locklab-hold and
// others). What is done here is noted as done by hand, and only that can be taken off; which
// links there are is the topology's business. As toxiproxy's, the API checks no token and
// refuses browsers: serve it where everybody may break the links. Unless it is called by any
// name, a request's Host must be an IP address or localhost.
func Toxiproxy(hosts func() map[string]*Client, anyName bool) http.Handler {
	toxic.Register()
	s := &proxies{hosts: hosts}
	mux := http.NewServeMux()
	handle := func(pattern string, f func(*http.Request) (body any, err error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyBytesMax))
			if err != nil {
				answer(w, nil, failed(http.StatusBadRequest, "bad request body: %v", err))
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(text))
			if r.Method != http.MethodGet { // after the body, for which a client may take its time
				s.mu.Lock()
				defer s.mu.Unlock()
			}
			body, err := f(r)
			answer(w, body, err)
		})
	}
	one := func(pattern string, f func(proxy, *http.Request) (body any, err error)) {
		handle(pattern, func(r *http.Request) (any, error) {
			p, err := s.find(r)
			if err != nil {
				return nil, err
			}
			return f(p, r)
		})
	}
	handle("GET /version", func(*http.Request) (any, error) { return map[string]string{"version": toxiproxyVersion}, nil })
	handle("GET /proxies", s.list)
	one("GET /proxies/{proxy}", func(p proxy, _ *http.Request) (any, error) { return p, nil })
	one("POST /proxies/{proxy}", proxy.toggle)
	one("PATCH /proxies/{proxy}", proxy.toggle)
	one("GET /proxies/{proxy}/toxics", func(p proxy, _ *http.Request) (any, error) { return p.Toxics, nil })
	one("POST /proxies/{proxy}/toxics", proxy.add)
	one("GET /proxies/{proxy}/toxics/{toxic}", func(p proxy, r *http.Request) (any, error) { return p.find(r) })
	one("POST /proxies/{proxy}/toxics/{toxic}", proxy.update)
	one("PATCH /proxies/{proxy}/toxics/{toxic}", proxy.update)
	one("DELETE /proxies/{proxy}/toxics/{toxic}", proxy.remove)
	handle("POST /reset", s.reset)
	for _, pattern := range []string{"POST /proxies", "POST /populate", "DELETE /proxies/{proxy}"} {
		handle(pattern, func(*http.Request) (any, error) { return nil, errFixed })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page that the user looks at could break the links, also by a name of its own.
		switch {
		case strings.HasPrefix(r.UserAgent(), "Mozilla/"):
			answer(w, nil, failed(http.StatusForbidden, "user agent not allowed"))
		case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "":
			answer(w, nil, failed(http.StatusForbidden, "web pages may not break the links"))
		case !anyName && !httpapi.IsAddress(r.Host):
			answer(w, nil, failed(http.StatusForbidden, "%q is no name of this API: want its IP address, or localhost", r.Host))
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// proxies are the links of some hosts as toxiproxy would tell them.
type proxies struct {
	hosts func() map[string]*Client
	mu    sync.Mutex // one change at a time
}

// proxy is a link as toxiproxy has it. toxiproxy reads the requests and keeps the list, on a
// proxy that carries nothing.
type proxy struct {
	Name     string         `json:"name"`
	Listen   string         `json:"listen"`
	Upstream string         `json:"upstream"`
	Enabled  bool           `json:"enabled"`
	Toxics   []toxics.Toxic `json:"toxics"`

	host   *Client
	link   string
	model  *toxiproxy.Proxy
	byHand map[string]Impairment // its toxics that may be changed here, by name
}

func failed(status int, format string, args ...any) error {
	return &toxiproxy.ApiError{Message: fmt.Sprintf(format, args...), StatusCode: status}
}

// answer tells the error, or the body if there is one.
func answer(w http.ResponseWriter, body any, err error) {
	status := http.StatusOK
	if err != nil {
		api := new(toxiproxy.ApiError)
		if !errors.As(err, &api) {
			api = &toxiproxy.ApiError{Message: err.Error(), StatusCode: http.StatusBadGateway} // a host does not answer
			if errors.Is(err, ErrInvalid) {
				api.StatusCode = http.StatusBadRequest
			}
		}
		status, body = api.StatusCode, map[string]any{"error": api.Message, "status": api.StatusCode}
	}
	if body == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, body) // the client has gone away
}

// all asks every host for its links, all at once. Of those that do not answer in time it has
// the errors, by host.
func (s *proxies) all(ctx context.Context) (found map[string]proxy, silent map[string]error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	found, silent = map[string]proxy{}, map[string]error{}
	var (
		mu     sync.Mutex
		asking sync.WaitGroup
	)
	for host, client := range s.hosts() {
		asking.Go(func() {
			list, err := linksOf(ctx, host, client)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				silent[host] = fmt.Errorf("ask %s for its links: %w", host, err)
			}
			for _, p := range list {
				found[p.Name] = p
			}
		})
	}
	asking.Wait()
	return found, silent
}

func linksOf(ctx context.Context, host string, client *Client) (all []proxy, err error) {
	links, err := client.Opened(ctx)
	if err != nil {
		return nil, err
	}
	server := toxiproxy.NewServer(nil, zerolog.Nop())
	for _, l := range links {
		name := host + ":" + strings.ReplaceAll(l.Name, "/", ":")
		p := proxy{
			Name: name, Listen: l.Addr, Upstream: l.Upstream, Enabled: true, host: client, link: l.Name,
			model: toxiproxy.NewProxy(server, name, l.Addr, l.Upstream), byHand: map[string]Impairment{},
		}
		for _, i := range l.Active {
			if i.ID == downID(l.Name) {
				p.Enabled = false
				continue
			}
			for _, way := range ways() {
				if !i.Direction.has(way) {
					continue
				}
				if err := p.show(i, way); err != nil {
					return nil, err
				}
			}
		}
		p.Toxics = p.model.Toxics.GetToxicArray()
		all = append(all, p)
	}
	return all, nil
}

// handID is what an impairment is called that was made by hand, and downID the one that is a
// proxy which is not enabled: no toxic is without a name.
func handID(link, name string) string { return "hand/" + link + "/" + name }
func downID(link string) string       { return handID(link, "") }

// show puts one direction of an impairment on the model.
func (p proxy) show(i Impairment, way Direction) error {
	w := toxics.ToxicWrapper{Toxic: i.Effect, Name: i.ID, Type: toxic.TypeOf(i.Effect), Stream: string(way) + "stream", Toxicity: 1}
	if i.Toxicity != nil {
		w.Toxicity = *i.Toxicity
	}
	if i.ByHand {
		w.Name = strings.TrimPrefix(i.ID, handID(i.Link, ""))
		p.byHand[w.Name] = i
	} else if i.Direction == Both {
		w.Name += "_" + w.Stream
	}
	text, err := json.Marshal(w)
	if err == nil {
		_, err = p.model.Toxics.AddToxicJson(bytes.NewReader(text))
	}
	return err
}

func (s *proxies) list(r *http.Request) (any, error) {
	all, silent := s.all(r.Context())
	if len(all) == 0 && len(silent) > 0 { // nobody answers
		return nil, errors.Join(slices.Collect(maps.Values(silent))...)
	}
	return all, nil
}

func (s *proxies) find(r *http.Request) (proxy, error) {
	all, silent := s.all(r.Context())
	name := r.PathValue("proxy")
	if p, known := all[name]; known {
		return p, nil
	}
	host, _, _ := strings.Cut(name, ":")
	if err := silent[host]; err != nil { // it may have it
		return proxy{}, err
	}
	return proxy{}, toxiproxy.ErrProxyNotFound
}

func (p proxy) find(r *http.Request) (*toxics.ToxicWrapper, error) {
	if w := p.model.Toxics.GetToxic(r.PathValue("toxic")); w != nil {
		return w, nil
	}
	return nil, toxiproxy.ErrToxicNotFound
}

var errFixed = failed(http.StatusForbidden, "the proxies are the links of the lab's topology: want toxics, or enabled")

// toggle takes a link down, or up again.
func (p proxy) toggle(r *http.Request) (any, error) {
	in := toxiproxy.Proxy{Listen: p.Listen, Upstream: p.Upstream, Enabled: p.Enabled}
	if err := jsonv1.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, failed(http.StatusBadRequest, "bad request body: %v", err)
	}
	if differs, err := p.model.Differs(&in); differs || err != nil {
		return nil, errFixed
	}
	var err error
	if in.Enabled {
		_, err = p.host.Heal(r.Context(), downID(p.link))
	} else {
		err = p.host.Apply(r.Context(), Impairment{ID: downID(p.link), Link: p.link, ByHand: true, Direction: Both, Effect: new(toxic.Reset)})
	}
	p.Enabled = in.Enabled
	return p, err
}

func (p proxy) add(r *http.Request) (any, error) {
	w, err := p.model.Toxics.AddToxicJson(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.Contains(w.Name, "/") {
		return nil, failed(http.StatusBadRequest, "toxic %q: want a name without a slash", w.Name)
	}
	way := Up
	if w.Direction == stream.Downstream {
		way = Down
	}
	return p.apply(r, Impairment{ID: handID(p.link, w.Name), Link: p.link, ByHand: true, Direction: way}, w)
}

// apply puts on a link what toxiproxy has read.
func (p proxy) apply(r *http.Request, i Impairment, w *toxics.ToxicWrapper) (any, error) {
	i.Effect, i.Toxicity = toxic.Of(w), &w.Toxicity
	return w, p.host.Apply(r.Context(), i)
}

// ofHand finds a toxic that may be changed here.
func (p proxy) ofHand(r *http.Request) (Impairment, error) {
	w, err := p.find(r)
	if err != nil {
		return Impairment{}, err
	}
	i, byHand := p.byHand[w.Name]
	if !byHand {
		err = failed(http.StatusForbidden, "toxic %s is the scenario's: want one that was added by hand", w.Name)
	}
	return i, err
}

func (p proxy) update(r *http.Request) (any, error) {
	i, err := p.ofHand(r)
	if err != nil {
		return nil, err
	}
	w, err := p.model.Toxics.UpdateToxicJson(r.PathValue("toxic"), r.Body)
	if err != nil {
		return nil, err
	}
	return p.apply(r, i, w)
}

func (p proxy) remove(r *http.Request) (any, error) {
	i, err := p.ofHand(r)
	if err == nil {
		_, err = p.host.Heal(r.Context(), i.ID)
	}
	return nil, err
}

// reset takes off everything that was put on by hand.
func (s *proxies) reset(r *http.Request) (any, error) {
	all, silent := s.all(r.Context())
	err := errors.Join(slices.Collect(maps.Values(silent))...) // what they have stays
	for _, p := range all {
		ids := []string{downID(p.link)}
		for _, i := range p.byHand {
			ids = append(ids, i.ID)
		}
		for _, id := range ids {
			_, failed := p.host.Heal(r.Context(), id)
			err = errors.Join(err, failed)
		}
	}
	return nil, err
}
