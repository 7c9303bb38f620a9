package worker_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"locklab/internal/httpapi"
	"locklab/internal/httpapi/httpapitest"
	"locklab/internal/metrics/metricstest"
	"locklab/internal/must"
	"locklab/nodes/worker"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t testing.TB, change func(*worker.Settings)) (*worker.Worker, string) {
	t.Helper()
	s := worker.DefaultSettings()
	s.Name, s.Capacity = "w1", 2
	if change != nil {
		change(&s)
	}
	w := worker.New(s, &historytest.Recorder{})
	server := httptest.NewServer(w)
	t.Cleanup(func() {
		server.CloseClientConnections() // which ends feeds
		server.Close()
		w.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return w, server.URL
}

func do(t testing.TB, method, url, body string, into any) int {
	t.Helper()
	status, text := httpapitest.Ask(t, method, url, body, nil)
	if into != nil {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%s %s answered %q: %v", method, url, text, err)
		}
	}
	return status
}

func TestAPI(t *testing.T) {
	_, url := start(t, nil)
	var room worker.Room
	if status := do(t, "POST", url+"/v1/rooms", `{"group":"g","order":"o1","by":"m"}`, &room); status != http.StatusOK {
		t.Fatalf("a new room: status %d", status)
	}
	if room.Group != "g" || room.Worker != "w1" || room.State != history.RoomStarting || room.Free != 2 || room.Capacity != 2 {
		t.Errorf("a new room: %+v", room)
	}
	seats := url + "/v1/rooms/" + room.ID + "/seats"
	for _, again := range []struct {
		who  string
		free int
	}{{"o1", 2}, {"p1", 1}, {"p1", 1}, {"p2", 0}, {"p1", 0}} { // who has a seat keeps it
		to, body := seats, `{"player":"`+again.who+`"}`
		if again.who == "o1" {
			to, body = url+"/v1/rooms", `{"group":"g","order":"o1","by":"m"}`
		}
		var same worker.Room
		if status := do(t, "POST", to, body, &same); status != http.StatusOK || same.ID != room.ID || same.Free != again.free {
			t.Errorf("%s %s: %d %+v, want %d free", to, body, status, same, again.free)
		}
	}
	for _, test := range []struct {
		method, url, body string
		status            int
		kind              string
	}{
		{"POST", seats, `{"player":"p3"}`, 409, worker.KindFull},
		{"POST", url + "/v1/rooms/nowhere/seats", `{"player":"p3"}`, 404, worker.KindNotFound},
		{"POST", seats, `{"player":""}`, 400, "invalid"},
		{"POST", seats, `{"player":"p","x":1}`, 400, "invalid"},
		{"POST", url + "/v1/rooms", `{"group":"g"}`, 400, "invalid"},
	} {
		var reply struct {
			Error httpapi.Error `json:"error"`
		}
		status := do(t, test.method, test.url, test.body, &reply)
		if status != test.status || reply.Error.Kind != test.kind {
			t.Errorf("%s %.60s: %d %q, want %d %q", test.url, test.body, status, reply.Error.Kind, test.status, test.kind)
		}
	}
	var mine, others worker.Listing
	do(t, "GET", url+"/v1/rooms?group=g", "", &mine)
	do(t, "GET", url+"/v1/rooms?group=h", "", &others)
	if len(mine.Rooms) != 1 || others.Rooms == nil || len(others.Rooms) != 0 || others.Live != 1 {
		t.Errorf("listings: %+v, %+v", mine, others)
	}
}

func TestFeed(t *testing.T) {
	_, url := start(t, func(s *worker.Settings) { s.Heartbeat = 10 * time.Millisecond })
	var first worker.Room
	do(t, "POST", url+"/v1/rooms", `{"group":"g","order":"o1","by":"m"}`, &first)

	lines := bufio.NewScanner(open(t, url+"/v1/feed"))
	next := func() worker.FeedLine {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the feed ended: %v", lines.Err())
		}
		var line worker.FeedLine
		must.Do(t, json.Unmarshal(lines.Bytes(), &line))
		return line
	}
	if line := next(); len(line.Rooms) != 1 || line.Rooms[0].ID != first.ID {
		t.Fatalf("first line: %+v", line)
	}
	for len(next().Rooms) > 0 { // the worker is alive though nothing happens
	}
	do(t, "POST", url+"/v1/rooms/"+first.ID+"/seats", `{"player":"p1"}`, nil)
	do(t, "POST", url+"/v1/rooms/"+first.ID+"/seats", `{"player":"p2"}`, nil)
	for full := false; !full; {
		for _, room := range next().Rooms {
			full = full || room.State == history.RoomFull
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w, _ := start(t, nil)
	addrs, done := make(chan net.Addr, 1), make(chan error, 1)
	go func() { done <- w.Serve(ctx, "127.0.0.1:0", discard(), func(a net.Addr) { addrs <- a }) }()
	feed := open(t, "http://"+(<-addrs).String()+"/v1/feed")
	cancel() // with a feed open
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
	_, _ = io.Copy(io.Discard, feed)

	if err := w.Serve(t.Context(), "127.0.0.1:none", discard(), nil); err == nil {
		t.Error("a port that is none was accepted")
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// open begins to read what the path answers. The test closes it.
func open(t *testing.T, url string) io.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must.Do(t, err)
	resp, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}

// TestOnlyTheRunOrders: who has not the run's token orders no room and takes no seat.
func TestOnlyTheRunOrders(t *testing.T) {
	var made historytest.Recorder
	s := worker.DefaultSettings()
	s.Name, s.Token = "w1", "secret"
	w := worker.New(s, &made)
	defer w.Close()
	for token, want := range map[string]int{"": 401, "guess": 401, "secret": 200} {
		req := httptest.NewRequest(http.MethodPost, "/v1/rooms", strings.NewReader(`{"group":"g","order":"o","by":"m"}`))
		req.Header.Set("Authorization", "Bearer "+token)
		rec := httptest.NewRecorder()
		before := len(made.Events())
		w.ServeHTTP(rec, req)
		if rec.Code != want || (len(made.Events()) > before) != (want == 200) {
			t.Errorf("token %q: status %d, want %d; %d events", token, rec.Code, want, len(made.Events())-before)
		}
	}
}

func TestMetrics(t *testing.T) {
	w, url := start(t, func(s *worker.Settings) { s.Capacity, s.MaxRooms = 1, 1 })
	var room worker.Room
	do(t, "POST", url+"/v1/rooms", `{"group":"g","order":"o1","by":"m"}`, &room)
	do(t, "POST", url+"/v1/rooms", `{"group":"g","order":"o2","by":"m"}`, nil)
	do(t, "POST", url+"/v1/rooms/"+room.ID+"/seats", `{"player":"p1"}`, nil)
	metricstest.Has(t, metricstest.Page(t, w),
		`locklab_room_orders_total{result="capacity"} 1`,
		`locklab_room_orders_total{result="ok"} 1`,
		`locklab_rooms{state="full"} 1`,
		`locklab_rooms{state="open"} 0`,
	)
}
