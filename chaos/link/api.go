package link

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Prefix is where the agent mounts [Host.Handler]: mux.Handle(link.Prefix, host.Handler()).
const Prefix = "/v1/links/"

// maxBody bounds the requests and the answers of the control API, in bytes.
const maxBody = 1 << 20

// Info is what a host says of itself.
type Info struct {
	Host string `json:"host"`
	Echo string `json:"echo"` // where probe links of other hosts lead
}

type (
	opened struct {
		Addr string `json:"addr"`
	}
	named struct {
		Name string `json:"name"`
	}
	failure struct {
		Error string `json:"error"`
	}
)

// Handler is the control API: JSON over HTTP, paths below [Prefix]. It checks no
// token; whoever mounts it does.
//
//	GET  info     Info
//	GET  probes   Report
//	POST open     Spec -> {"addr": "127.0.0.1:40001"}
//	POST close    {"name": ...}
//	POST clear    {}
//	POST probe    Peer
//	POST apply    Impairment
//	POST heal     {"name": impairment's id}
//	POST watch    Impairment
//	POST seen     {"name": impairment's id} -> [Passage]
func (h *Host) Handler() http.Handler {
	mux := http.NewServeMux()
	get := func(path string, f func() any) {
		mux.HandleFunc("GET "+Prefix+path, func(w http.ResponseWriter, _ *http.Request) { answer(w, f(), nil) })
	}
	get("info", func() any { return Info{h.config.Host, h.EchoAddr()} })
	get("probes", func() any { return h.Probes() })
	post(mux, "open", func(s Spec) (any, error) {
		addr, err := h.Open(s)
		return opened{addr}, err
	})
	post(mux, "close", func(n named) (any, error) {
		h.CloseLink(n.Name)
		return struct{}{}, nil
	})
	post(mux, "clear", func(struct{}) (any, error) {
		h.Clear()
		return struct{}{}, nil
	})
	post(mux, "probe", func(p Peer) (any, error) { return struct{}{}, h.Probe(p) })
	post(mux, "apply", func(i Impairment) (any, error) { return struct{}{}, h.Apply(i) })
	post(mux, "heal", func(n named) (any, error) { return struct{}{}, h.Heal(n.Name) })
	post(mux, "watch", func(i Impairment) (any, error) { return struct{}{}, h.Watch(i) })
	post(mux, "seen", func(n named) (any, error) { return h.Seen(n.Name) })
	return mux
}

func post[In any](mux *http.ServeMux, path string, f func(In) (any, error)) {
	mux.HandleFunc("POST "+Prefix+path, func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := decode(http.MaxBytesReader(w, r.Body, maxBody), &in); err != nil {
			answer(w, nil, fmt.Errorf("%s: %w: %w", r.URL.Path, ErrInvalid, err))
			return
		}
		out, err := f(in)
		answer(w, out, err)
	})
}

// decode reads exactly one JSON object that has only known fields.
func decode(r io.Reader, into any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("decode body: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode body: want one JSON object and nothing behind it")
	}
	return nil
}

func answer(w http.ResponseWriter, out any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		status := http.StatusInternalServerError
		if errors.Is(err, ErrInvalid) {
			status = http.StatusBadRequest
		}
		w.WriteHeader(status)
		out = failure{err.Error()}
	}
	_ = json.NewEncoder(w).Encode(out) // the client sees a broken answer
}
