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
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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
// others). What is added here is noted as done by hand, and only that can be taken off; which
// links there are is the topology's business. As toxiproxy's, the API checks no token and
// refuses browsers: serve it where everybody may break the links.
func Toxiproxy(hosts func() map[string]*Client) http.Handler {
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
	one("GET /proxies/{proxy}/toxics", func(p proxy, _ *http.Request) (any, error) { return p.Toxics, nil })
	one("POST /proxies/{proxy}/toxics", proxy.add)
	one("GET /proxies/{proxy}/toxics/{toxic}", func(p proxy, r *http.Request) (any, error) { return p.find(r.PathValue("toxic")) })
	one("POST /proxies/{proxy}/toxics/{toxic}", proxy.update)
	one("PATCH /proxies/{proxy}/toxics/{toxic}", proxy.update)
	one("DELETE /proxies/{proxy}/toxics/{toxic}", proxy.remove)
	handle("POST /reset", s.reset)
	fixed := func(*http.Request) (any, error) {
		return nil, failed(http.StatusForbidden, "the proxies are the links of the lab's topology: want toxics only")
	}
	for _, pattern := range []string{"POST /proxies", "POST /populate", "POST /proxies/{proxy}", "PATCH /proxies/{proxy}", "DELETE /proxies/{proxy}"} {
		handle(pattern, fixed)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page that the user looks at could break the links, also by a name of its own.
		switch {
		case strings.HasPrefix(r.UserAgent(), "Mozilla/"):
			answer(w, nil, failed(http.StatusForbidden, "user agent not allowed"))
		case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "":
			answer(w, nil, failed(http.StatusForbidden, "web pages may not break the links"))
		case !httpapi.IsAddress(r.Host):
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

type proxy struct {
	Name     string   `json:"name"`
	Listen   string   `json:"listen"`
	Upstream string   `json:"upstream"`
	Enabled  bool     `json:"enabled"`
	Toxics   []tagged `json:"toxics"`

	host *Client
	link string
}

type tagged struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Stream     string         `json:"stream"`
	Toxicity   float32        `json:"toxicity"`
	Attributes jsontext.Value `json:"attributes"`

	impairment Impairment
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
	for _, l := range links {
		name := host + ":" + strings.ReplaceAll(l.Name, "/", ":")
		p := proxy{Name: name, Listen: l.Addr, Upstream: l.Upstream, Enabled: true, Toxics: []tagged{}, host: client, link: l.Name}
		for _, i := range l.Active {
			list, err := tags(i)
			if err != nil {
				return nil, err
			}
			p.Toxics = append(p.Toxics, list...)
		}
		all = append(all, p)
	}
	return all, nil
}

// handID is what an impairment is called that was made by hand.
func handID(link, name string) string { return "hand/" + link + "/" + name }

// tags are an impairment as toxiproxy's toxics: one for each direction.
func tags(i Impairment) (all []tagged, err error) {
	attributes, err := json.Marshal(i.Effect)
	if err != nil {
		return nil, err
	}
	for _, way := range i.Direction.ways() {
		t := tagged{Name: i.ID, Type: toxic.TypeOf(i.Effect), Stream: string(way) + "stream", Toxicity: 1, Attributes: attributes, impairment: i}
		if i.Toxicity > 0 {
			t.Toxicity = i.Toxicity
		}
		if i.ByHand {
			t.Name = strings.TrimPrefix(i.ID, handID(i.Link, ""))
		} else if i.Direction == Both {
			t.Name += "_" + t.Stream
		}
		all = append(all, t)
	}
	return all, nil
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

func (p proxy) find(name string) (tagged, error) {
	for _, t := range p.Toxics {
		if t.Name == name {
			return t, nil
		}
	}
	return tagged{}, toxiproxy.ErrToxicNotFound
}

// wanted is a toxic as a request has it. As in toxiproxy, fields that it does not know are
// let pass; not so attributes.
type wanted struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Stream     string         `json:"stream"`
	Toxicity   *float32       `json:"toxicity"`
	Attributes jsontext.Value `json:"attributes"`
}

func read(r *http.Request) (w wanted, err error) {
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		return w, failed(http.StatusBadRequest, "bad request body: %v", err)
	}
	if w.Toxicity != nil && !(*w.Toxicity > 0 && *w.Toxicity <= 1) {
		return w, failed(http.StatusBadRequest, "toxicity is %v: want more than 0, up to 1", *w.Toxicity)
	}
	if len(w.Attributes) == 0 || w.Attributes.Kind() == 'n' {
		w.Attributes = jsontext.Value("{}")
	}
	return w, nil
}

func (p proxy) add(r *http.Request) (any, error) {
	w, err := read(r)
	if err != nil {
		return nil, err
	}
	if w.Stream == "" {
		w.Stream = "downstream"
	}
	if w.Name == "" {
		w.Name = w.Type + "_" + w.Stream
	}
	i := Impairment{ID: handID(p.link, w.Name), Link: p.link, ByHand: true}
	switch strings.ToLower(w.Stream) {
	case "upstream":
		i.Direction = Up
	case "downstream":
		i.Direction = Down
	default:
		return nil, toxiproxy.ErrInvalidStream
	}
	if strings.Contains(w.Name, "/") {
		return nil, failed(http.StatusBadRequest, "toxic %q: want a name without a slash", w.Name)
	}
	if _, err := p.find(w.Name); err == nil {
		return nil, toxiproxy.ErrToxicAlreadyExists
	}
	return p.apply(r.Context(), i, w, w.Type)
}

// apply puts on a link what a request wants.
func (p proxy) apply(ctx context.Context, i Impairment, w wanted, kind string) (any, error) {
	effect, err := toxic.OfType(kind)
	if err != nil {
		return nil, failed(http.StatusBadRequest, "invalid toxic type: %v", err)
	}
	if err := json.Unmarshal(w.Attributes, effect, json.RejectUnknownMembers(true)); err != nil {
		return nil, failed(http.StatusBadRequest, "bad request body: attributes: %v", err)
	}
	i.Effect = effect
	if w.Toxicity != nil {
		i.Toxicity = *w.Toxicity
	}
	if err := p.host.Apply(ctx, i); err != nil {
		return nil, err
	}
	list, err := tags(i)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// byHand finds a toxic that may be changed here.
func (p proxy) byHand(r *http.Request) (tagged, error) {
	t, err := p.find(r.PathValue("toxic"))
	if err == nil && !t.impairment.ByHand {
		err = failed(http.StatusForbidden, "toxic %s is the scenario's: want one that was added by hand", t.Name)
	}
	return t, err
}

// update takes a toxic off and puts it on with the attributes that the request has.
func (p proxy) update(r *http.Request) (any, error) {
	t, err := p.byHand(r)
	if err != nil {
		return nil, err
	}
	w, err := read(r)
	if err != nil {
		return nil, err
	}
	merged := map[string]jsontext.Value{}
	for _, text := range []jsontext.Value{t.Attributes, w.Attributes} {
		if err := json.Unmarshal(text, &merged); err != nil {
			return nil, failed(http.StatusBadRequest, "bad request body: attributes: %v", err)
		}
	}
	if w.Attributes, err = json.Marshal(merged); err != nil {
		return nil, err
	}
	if _, err := p.host.Heal(r.Context(), t.impairment.ID); err != nil {
		return nil, err
	}
	body, err := p.apply(r.Context(), t.impairment, w, t.Type)
	if err != nil { // what was there stays
		return nil, errors.Join(err, p.host.Apply(r.Context(), t.impairment))
	}
	return body, nil
}

func (p proxy) remove(r *http.Request) (any, error) {
	t, err := p.byHand(r)
	if err != nil {
		return nil, err
	}
	_, err = p.host.Heal(r.Context(), t.impairment.ID)
	return nil, err
}

// reset takes off everything that was put on by hand.
func (s *proxies) reset(r *http.Request) (any, error) {
	all, silent := s.all(r.Context())
	err := errors.Join(slices.Collect(maps.Values(silent))...) // what they have stays
	for _, p := range all {
		for _, t := range p.Toxics {
			if t.impairment.ByHand {
				_, failed := p.host.Heal(r.Context(), t.impairment.ID)
				err = errors.Join(err, failed)
			}
		}
	}
	return nil, err
}
