package worker_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"locklab/nodes/worker"
	"locklab/workloads/history"
)

type discard struct{}

func (discard) Record(history.Event) {}

func start(t testing.TB, change func(*worker.Settings)) (*worker.Worker, string) {
	t.Helper()
	s := worker.DefaultSettings()
	s.Name, s.Capacity = "w1", 2
	if change != nil {
		change(&s)
	}
	w, err := worker.New(s, worker.Deps{Recorder: discard{}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w.Handler())
	t.Cleanup(func() {
		w.Close()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return w, server.URL
}

func do(t testing.TB, method, url, body string, into any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s %s answered %q: %v", method, url, text, err)
		}
	}
	return resp.StatusCode
}

func TestAPI(t *testing.T) {
	_, url := start(t, nil)
	var room worker.Room
	if status := do(t, "POST", url+"/v1/rooms", `{"group":"g","order":"o1","by":"m"}`, &room); status != http.StatusCreated {
		t.Fatalf("a new room: status %d", status)
	}
	if room.Group != "g" || room.Worker != "w1" || room.State != worker.StateStarting || room.Free != 2 || room.Capacity != 2 {
		t.Errorf("a new room: %+v", room)
	}
	seats := url + "/v1/rooms/" + room.Room + "/seats"
	for _, again := range []string{"o1", "p1", "p2"} {
		to, body := seats, `{"player":"`+again+`"}`
		if again == "o1" {
			to, body = url+"/v1/rooms", `{"group":"g","order":"o1","by":"m"}`
		}
		var same worker.Room
		if status := do(t, "POST", to, body, &same); status != http.StatusOK || same.Room != room.Room {
			t.Errorf("%s %s: %d %+v", to, body, status, same)
		}
	}
	big := `{"player":"` + strings.Repeat("x", 5000) + `"}`
	for _, test := range []struct {
		method, url, body string
		status            int
		kind              string
	}{
		{"POST", seats, `{"player":"p3"}`, 409, worker.KindFull},
		{"POST", url + "/v1/rooms/nowhere/seats", `{"player":"p3"}`, 404, worker.KindNotFound},
		{"POST", seats, `{"player":""}`, 400, worker.KindInvalid},
		{"POST", seats, `{"player":"p","x":1}`, 400, worker.KindInvalid},
		{"POST", seats, `{"player":"p"}{}`, 400, worker.KindInvalid},
		{"POST", seats, `{"player":"a\u0007"}`, 400, worker.KindInvalid},
		{"POST", seats, `nonsense`, 400, worker.KindInvalid},
		{"POST", seats, big, 413, worker.KindInvalid},
		{"POST", url + "/v1/rooms", `{"group":"g"}`, 400, worker.KindInvalid},
	} {
		var reply worker.ErrorReply
		status := do(t, test.method, test.url, test.body, &reply)
		if status != test.status || reply.Error.Kind != test.kind {
			t.Errorf("%s %.60s: %d %q, want %d %q", test.url, test.body, status, reply.Error.Kind, test.status, test.kind)
		}
		if test.kind == worker.KindFull && (reply.Room == nil || reply.Room.Room != room.Room || reply.Room.Free != 0) {
			t.Errorf("a full room shows itself as %+v", reply.Room)
		}
	}
	var all, mine, others worker.Listing
	do(t, "GET", url+"/v1/rooms", "", &all)
	do(t, "GET", url+"/v1/rooms?group=g", "", &mine)
	do(t, "GET", url+"/v1/rooms?group=h", "", &others)
	if len(all.Rooms) != 1 || len(mine.Rooms) != 1 || others.Rooms == nil || len(others.Rooms) != 0 || others.Live != 1 {
		t.Errorf("listings: %+v, %+v, %+v", all, mine, others)
	}
	var status worker.Status
	if do(t, "GET", url+"/v1/status", "", &status); status.Name != "w1" || status.Live != 1 || status.Made != 1 {
		t.Errorf("status: %+v", status)
	}
	if code := do(t, "GET", url+"/v1/health", "", nil); code != http.StatusNoContent {
		t.Errorf("health: %d", code)
	}
}

func TestFeed(t *testing.T) {
	w, url := start(t, func(s *worker.Settings) { s.Heartbeat = 10 * time.Millisecond })
	var first worker.Room
	do(t, "POST", url+"/v1/rooms", `{"group":"g","order":"o1","by":"m"}`, &first)

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/feed", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	var last worker.FeedLine
	next := func() worker.FeedLine {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the feed ended: %v", lines.Err())
		}
		var line worker.FeedLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Type != worker.LineSnapshot && line.Prev != last.Rev {
			t.Fatalf("line %+v does not follow %+v", line, last)
		}
		last = line
		return line
	}
	if line := next(); line.Type != worker.LineSnapshot || len(line.Rooms) != 1 || line.Rooms[0].Room != first.Room {
		t.Fatalf("first line: %+v", line)
	}
	for next().Type != worker.LineBeat { // the worker is alive though nothing happens
	}
	do(t, "POST", url+"/v1/rooms/"+first.Room+"/seats", `{"player":"p1"}`, nil)
	do(t, "POST", url+"/v1/rooms/"+first.Room+"/seats", `{"player":"p2"}`, nil)
	for full := false; !full; {
		for _, room := range next().Rooms {
			full = full || room.State == worker.StateFull
		}
	}
	w.Close()
	for lines.Scan() { // it ends with the worker
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := worker.DefaultSettings()
	s.Name = "w1"
	addrs, done := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		done <- worker.Run(ctx, s, worker.Deps{Recorder: discard{}}, "127.0.0.1:0", func(a net.Addr) { addrs <- a })
	}()
	addr := <-addrs
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr.String()+"/v1/feed", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel() // with a feed open
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()

	if err := worker.Run(t.Context(), s, worker.Deps{Recorder: discard{}}, "127.0.0.1:none", nil); err == nil {
		t.Error("a port that is none was accepted")
	}
}

func FuzzOrderBody(f *testing.F) {
	w, _ := start(f, nil)
	handler := w.Handler()
	f.Add([]byte(`{"group":"g","order":"o","by":"m","token":7}`))
	f.Add([]byte(`{"group":"g","order":"o","by":"m","token":-1}`))
	f.Add([]byte(`{"group":"\u0000"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/rooms", bytes.NewReader(body)))
		if !json.Valid(rec.Body.Bytes()) {
			t.Errorf("answer %q is not JSON", rec.Body)
		}
		switch rec.Code {
		case http.StatusOK, http.StatusCreated, http.StatusConflict, http.StatusInsufficientStorage:
			if !json.Valid(body) {
				t.Errorf("accepted %q with status %d", body, rec.Code)
			}
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		default:
			t.Errorf("status %d for %q", rec.Code, body)
		}
	})
}

func FuzzSeatBody(f *testing.F) {
	w, _ := start(f, nil)
	handler := w.Handler()
	f.Add("room", []byte(`{"player":"p"}`))
	f.Fuzz(func(t *testing.T, room string, body []byte) {
		req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		req.URL.Path = "/v1/rooms/" + room + "/seats"
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, req)
		if rec.Code == http.StatusOK || rec.Code >= http.StatusInternalServerError {
			t.Errorf("status %d for room %q, body %q", rec.Code, room, body)
		}
	})
}

func BenchmarkSeat(b *testing.B) {
	w, _ := start(b, func(s *worker.Settings) { s.Capacity, s.Life = 10_000, time.Hour })
	handler := w.Handler()
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/rooms", strings.NewReader(`{"group":"g","order":"o","by":"m"}`)))
	var room worker.Room
	if err := json.Unmarshal(rec.Body.Bytes(), &room); err != nil {
		b.Fatal(err)
	}
	body := []byte(`{"player":"p1"}`)
	reader := bytes.NewReader(body)
	req := httptest.NewRequest(http.MethodPost, "/v1/rooms/"+room.Room+"/seats", reader)
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(body)
		req.Body = io.NopCloser(reader)
		handler.ServeHTTP(httptest.NewRecorder(), req)
	}
}
