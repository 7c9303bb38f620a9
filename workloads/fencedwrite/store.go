package fencedwrite

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// StorePath is where a worker serves its store.
const StorePath = "/v1/store/"

const fileName = "store.jsonl"

// errFenced refuses a token that is lower than one seen before.
var errFenced = errors.New("fenced")

func kinds() []httpapi.Kind {
	return []httpapi.Kind{{Is: errFenced, Name: "fenced", Status: http.StatusConflict}}
}

// request is what a holder asks of the store.
type request struct {
	Resource string `json:"resource"`
	Hold     string `json:"hold"`
	By       string `json:"by"`             // the holder's master
	Token    uint64 `json:"token,omitzero"` // 0: it shows none, and nothing is checked
	Base     uint64 `json:"base,omitzero"`  // of a write: the version that was read
}

type answer struct {
	Version uint64 `json:"version"`
}

// StoreConfig is what a store is made of.
type StoreConfig struct {
	Node     string // the worker's name in the history
	Token    string // what requests must bear, if anything
	Dir      string // keeps what must outlive the process
	Recorder history.Recorder
}

// Store keeps a value for each resource, of which only the version matters.
type Store struct {
	*httpapi.API
	StoreConfig

	mu     sync.Mutex
	values map[string]value
	file   *os.File
}

// value is one resource, and one line of the file.
type value struct {
	Resource string `json:"resource"`
	Version  uint64 `json:"version"`
	Token    uint64 `json:"token,omitzero"` // the highest that was shown
}

// NewStore opens the store and loads its file.
func NewStore(c StoreConfig) (*Store, error) {
	s := &Store{
		API:         httpapi.New(httpapi.Config{Name: "store of " + c.Node, Token: c.Token, Kinds: kinds()}),
		StoreConfig: c, values: map[string]value{},
	}
	var err error
	if s.file, err = os.OpenFile(filepath.Join(c.Dir, fileName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("read store: %w", err), s.file.Close())
	}
	for path, kind := range map[string]history.Kind{"read": history.KindRead, "write": history.KindWrite} {
		httpapi.Post(s.API, "POST "+StorePath+path, func(_ *http.Request, r request) (any, error) { return s.serve(kind, r) })
	}
	return s, nil
}

// load takes the last line of each resource.
func (s *Store) load() error {
	lines := bufio.NewScanner(s.file)
	for lines.Scan() {
		var v value
		if json.Unmarshal(lines.Bytes(), &v) == nil { // a torn line was never answered
			s.values[v.Resource] = v
		}
	}
	return lines.Err()
}

// Close frees the file.
func (s *Store) Close() { _ = s.file.Close() } // every line was written when it was answered

// serve reads or writes, and records it.
func (s *Store) serve(kind history.Kind, r request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.values[r.Resource]
	e := history.Event{
		Kind: kind, Node: s.Node, Client: r.By, Hold: r.Hold, Resource: r.Resource, Token: r.Token, Version: before.Version,
	}
	if r.Token > 0 && r.Token < before.Token {
		e.State, e.Base = history.WriteRefused, r.Base
		s.record(e)
		return nil, fmt.Errorf("token %d is below %d, seen for %q: %w", r.Token, before.Token, r.Resource, errFenced)
	}
	after := value{r.Resource, before.Version, max(before.Token, r.Token)}
	if kind == history.KindWrite {
		after.Version++
		e.State, e.Base, e.Version = history.WriteAccepted, r.Base, after.Version
	}
	if after != before {
		if err := s.keep(after); err != nil {
			return nil, err
		}
	}
	s.record(e)
	return answer{after.Version}, nil
}

// keep writes a change to the file.
func (s *Store) keep(v value) error {
	line, err := json.Marshal(v)
	if err == nil { // the line before may be torn
		_, err = fmt.Fprintf(s.file, "\n%s\n", line)
	}
	if err != nil {
		return fmt.Errorf("keep %q: %w", v.Resource, err)
	}
	s.values[v.Resource] = v
	return nil
}

// record records the event before the answer is sent.
func (s *Store) record(e history.Event) {
	e.AtNS = clock.Mono()
	history.Commit(s.Recorder, e)
}
