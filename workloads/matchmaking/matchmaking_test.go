package matchmaking_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
	"locklab/workloads/loadgen"
	"locklab/workloads/matchmaking"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeMaster answers every player with a room of the group.
type fakeMaster struct {
	*httptest.Server
	served atomic.Int64
}

func newMaster(t *testing.T, answer http.HandlerFunc) *fakeMaster {
	t.Helper()
	m := &fakeMaster{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.served.Add(1)
		answer(w, r)
	}))
	t.Cleanup(m.Close)
	return m
}

func seat(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Player string `json:"player"`
		Group  string `json:"group"`
	}
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || r.URL.Path != "/v1/match" || json.Unmarshal(body, &in) != nil || in.Player == "" || in.Group == "" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"room":"room-%s","worker":"w1","state":"open","created":false}`, in.Group)
}

func options(masters ...*fakeMaster) matchmaking.Options {
	o := matchmaking.Options{
		Rate: 600, Groups: 20, Timeout: 2500 * time.Millisecond, Seed: 7,
		Config: loadgen.Config{Duration: 500 * time.Millisecond},
	}
	for i, m := range masters {
		o.Masters = append(o.Masters, loadgen.Master{Name: fmt.Sprintf("m%d", i+1), URL: m.URL})
	}
	return o
}

// run plays the load: matches are of players that were sent, which a busy machine lets some wait too long for.
func run(ctx context.Context, t *testing.T, o matchmaking.Options) (matches []history.Event, phases string) {
	t.Helper()
	rec := &historytest.Recorder{}
	must.Do(t, matchmaking.New(o, rec).Run(ctx))
	for _, e := range rec.Events(history.KindPhase) {
		phases += e.State + " "
	}
	matches = slices.DeleteFunc(rec.Events(history.KindMatch), func(e history.Event) bool { return e.Error == loadgen.ErrorNotSent })
	if len(matches) == 0 {
		t.Error("no player was sent")
	}
	return matches, phases
}

const allPhases = "warmup measure drain end "

func TestPartiesMeetAtDifferentMasters(t *testing.T) {
	a, b, c := newMaster(t, seat), newMaster(t, seat), newMaster(t, seat)
	matches, phases := run(t.Context(), t, options(a, b, c))
	if phases != allPhases {
		t.Errorf("phases: %s", phases)
	}
	parties := map[int64][]history.Event{}
	for _, e := range matches {
		if e.Outcome != "ok" || e.Room != "room-"+e.Resource || e.Worker != "w1" || e.Error != "" {
			t.Fatalf("event %+v", e)
		}
		if e.SentNS < e.FromNS || e.AtNS < e.SentNS {
			t.Fatalf("times out of order: %+v", e)
		}
		parties[e.FromNS] = append(parties[e.FromNS], e)
	}
	apart := 0
	for at, party := range parties {
		nodes := map[string]bool{}
		for _, e := range party {
			nodes[e.Node] = true
			if e.Resource != party[0].Resource {
				t.Fatalf("the party at %d belongs to two groups", at)
			}
		}
		if len(party) > 3 { // fewer where a busy machine did not send them all
			t.Fatalf("a party of %d", len(party))
		}
		if len(nodes) == 3 {
			apart++
		}
	}
	if apart == 0 { // where the machine is late, the players of several parties leave in any order
		t.Errorf("none of %d parties met three masters", len(parties))
	}
	served := []int64{a.served.Load(), b.served.Load(), c.served.Load()}
	if slices.Max(served)-slices.Min(served) > 1 {
		t.Errorf("the masters served %v players: want as many each", served)
	}
}

// TestPlayersGoToTheNextMaster where theirs is dead, or breaks connections.
func TestPlayersGoToTheNextMaster(t *testing.T) {
	dead, b := newMaster(t, seat), newMaster(t, seat)
	dead.Close()
	breaks := newMaster(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	})
	for name, first := range map[string]*fakeMaster{"dead": dead, "breaks": breaks} {
		matches, _ := run(t.Context(), t, options(first, b))
		for _, e := range matches {
			if e.Outcome != "ok" || e.Node != "m2" {
				t.Fatalf("%s: event %+v", name, e)
			}
		}
		if n := first.served.Load(); (n > 0) != (name == "breaks") || n > int64(len(matches))/2 {
			t.Errorf("%s: it got %d of %d players", name, n, len(matches))
		}
	}
}

func TestAnswersThatAreNo(t *testing.T) {
	for _, c := range []struct {
		name           string
		status         int
		body           string
		outcome, error string
	}{
		{"failed", 503, `{"error":{"kind":"timeout","message":"no lock","outcome":"failed"}}`, "failed", "timeout"},
		{"unknown", 503, `{"error":{"kind":"unknown","message":"x","outcome":"unknown"}}`, "unknown", "unknown"},
		{"not ours", 502, `<html>`, "unknown", "http-502"},
		{"nonsense", 200, `{"room":`, "unknown", "unknown"},
		{"nobody is there", 0, "", "failed", "unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaster(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			if c.status == 0 {
				m.Close()
			}
			matches, _ := run(t.Context(), t, options(m))
			for _, e := range matches {
				if e.Outcome != c.outcome || e.Error != c.error {
					t.Fatalf("event %+v", e)
				}
			}
		})
	}
}

func TestATimeoutIsUnknownAndNotTriedAgain(t *testing.T) {
	release := make(chan struct{})
	m := newMaster(t, func(_ http.ResponseWriter, _ *http.Request) { <-release })
	defer close(release)
	o := options(m)
	o.Rate, o.Timeout = 60, time.Second // to connect must not take that long
	matches, _ := run(t.Context(), t, o)
	for _, e := range matches {
		if e.Outcome != "unknown" || e.Error != "timeout" {
			t.Fatalf("event %+v", e)
		}
	}
	if int(m.served.Load()) != len(matches) {
		t.Errorf("%d requests for %d players", m.served.Load(), len(matches))
	}
}

func TestInterruptAnswersAtOnce(t *testing.T) {
	release := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	m := newMaster(t, func(_ http.ResponseWriter, _ *http.Request) {
		once.Do(cancel)
		<-release
	})
	defer close(release)
	o := options(m)
	o.Timeout, o.Duration = time.Hour, time.Hour
	matches, phases := run(ctx, t, o)
	served := 0
	for _, e := range matches {
		if e.Error != "canceled" || e.Outcome == "ok" {
			t.Errorf("event %+v", e)
		}
		if e.Outcome == "unknown" { // a player who was still connecting has surely no seat
			served++
		}
	}
	if served == 0 {
		t.Errorf("no player of an unknown outcome among %+v", matches)
	}
	if phases != allPhases {
		t.Errorf("phases: %s", phases)
	}
}
