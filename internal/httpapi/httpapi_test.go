package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/httpapi"
	"locklab/internal/httpapi/httpapitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errSold = errors.New("sold")

func kinds() []httpapi.Kind { return []httpapi.Kind{{errSold, "sold", http.StatusGone}} }

type order struct {
	Item  string `json:"item"`
	Count int    `json:"count"`
}

// shop is an API with a route of every form.
func shop(config httpapi.Config) *httpapi.API {
	config.Name, config.Kinds = "shop", kinds()
	a := httpapi.New(config)
	a.Get("GET /v1/health", func(*http.Request) (any, error) { return nil, nil })
	httpapi.Post(a, "POST /v1/orders", func(_ *http.Request, o order) (any, error) {
		switch o.Item {
		case "":
			return nil, fmt.Errorf("item is missing: want one: %w", httpapi.ErrInvalid)
		case "book":
			return nil, fmt.Errorf("the last book: %w", errSold)
		case "moon":
			return nil, errors.New("out of reach")
		}
		return o, nil
	})
	a.Stream("GET /v1/list", func(w http.ResponseWriter, r *http.Request) error {
		if r.URL.Query().Has("closed") {
			return fmt.Errorf("the shop: %w", httpapi.ErrClosed)
		}
		_, err := io.WriteString(w, "pen\n")
		return err
	})
	below := httpapi.New(httpapi.Config{Name: "cellar"})
	below.Get("GET /v1/cellar/wine", func(*http.Request) (any, error) { return []string{"red"}, nil })
	a.Mount("/v1/cellar/", below)
	return a
}

func serve(t *testing.T, config httpapi.Config) string {
	t.Helper()
	s := httptest.NewServer(shop(config))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAnswers(t *testing.T) {
	url := serve(t, httpapi.Config{})
	for _, tc := range []struct {
		request, body string
		status        int
		want          string
	}{
		{"GET /v1/health", "", 204, ""},
		{"GET /v1/list", "", 200, "pen\n"},
		{"GET /v1/list?closed", "", 503, `{"error":{"kind":"closed","message":"the shop: closed"}}`},
		{"GET /v1/cellar/wine", "", 200, `["red"]`},
		{"GET /v1/cellar/beer", "", 404, `want one of GET /v1/cellar/wine"`},
		{"POST /v1/orders", `{"item":"pen","count":2}`, 200, `{"item":"pen","count":2}`},
		{"POST /v1/orders", `{"item":"book"}`, 410, `{"error":{"kind":"sold","message":"the last book: sold"}}`},
		{"POST /v1/orders", `{"item":"moon"}`, 500, `{"kind":"other","message":"out of reach"}`},
		{"POST /v1/orders", ``, 400, `item is missing`},
		{"POST /v1/orders", `{"item":"pen","colour":"red"}`, 400, `field \"colour\" is unknown: want one of item, count`},
		{"POST /v1/orders", `{"item":"pen","item":"book"}`, 400, `field \"item\" is there twice`},
		{"POST /v1/orders", `{"item":"pen"}{}`, 400, `after top-level value`},
		{"POST /v1/orders", `{"item":` + strings.Repeat("[", 200), 400, `unexpected EOF`},
		{"POST /v1/orders", `{"item":"` + strings.Repeat("x", 1<<20) + `"}`, 400, `request body too large`},
		{"DELETE /v1/orders", "", 404, `there is no DELETE /v1/orders here: want one of GET /v1/health, POST /v1/orders`},
		{"GET /v1/nothing", "", 404, `there is no GET /v1/nothing here`},
	} {
		method, path, _ := strings.Cut(tc.request, " ")
		status, text := httpapitest.Ask(t, method, url+path, tc.body, nil)
		if status != tc.status || !strings.Contains(text, tc.want) {
			t.Errorf("%s %.50s: %d %s, want %d %s", tc.request, tc.body, status, text, tc.status, tc.want)
		}
	}
}

func TestWhoIsLetIn(t *testing.T) {
	token := httpapi.NewToken()
	if other := httpapi.NewToken(); token == other || len(token) < 32 {
		t.Fatalf("tokens %q and %q", token, other)
	}
	var inside atomic.Int64
	url := serve(t, httpapi.Config{Token: token, Inside: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inside.Add(1)
			next.ServeHTTP(w, r)
		})
	}})
	right := "Bearer " + token
	for name, tc := range map[string]struct {
		header map[string]string
		status int
	}{
		"right":        {map[string]string{"Authorization": right}, 204},
		"none":         {nil, 401},
		"wrong":        {map[string]string{"Authorization": "Bearer " + token[1:]}, 401},
		"other scheme": {map[string]string{"Authorization": "Basic " + token}, 401},
		"bare":         {map[string]string{"Authorization": token}, 401},
		"empty":        {map[string]string{"Authorization": "Bearer "}, 401},
	} {
		before := inside.Load()
		status, text := httpapitest.Ask(t, http.MethodGet, url+"/v1/health", "", tc.header)
		if status != tc.status {
			t.Errorf("%s: status %d, want %d: %s", name, status, tc.status, text)
		}
		if let := inside.Load() != before; let != (status == 204) {
			t.Errorf("%s: inside %v, status %d", name, let, status)
		}
	}
	for site, status := range map[string]int{"http://evil.example": 403, url: 200} {
		header := map[string]string{"Authorization": right, "Origin": site, "Host": strings.TrimPrefix(url, "http://")}
		if got, text := httpapitest.Ask(t, http.MethodPost, url+"/v1/orders", `{"item":"pen"}`, header); got != status {
			t.Errorf("a page of %s: status %d, want %d: %s", site, got, status, text)
		}
	}
	if status, _ := httpapitest.Ask(t, http.MethodGet, url+"/v1/cellar/wine", "", nil); status != 401 {
		t.Errorf("what is mounted is open: status %d", status)
	}
}

// TestWhoMayOnlyRead gets the one path with the second token, and is refused all else; where
// there is no second token, an empty one is none.
func TestWhoMayOnlyRead(t *testing.T) {
	token, reads := httpapi.NewToken(), httpapi.NewToken()
	url := serve(t, httpapi.Config{Token: token, ReadToken: reads, ReadPath: "/v1/list"})
	closed := serve(t, httpapi.Config{Token: token, ReadPath: "/v1/list"})
	for _, tc := range []struct {
		url, token, method, path string
		status                   int
	}{
		{url, reads, http.MethodGet, "/v1/list", 200},
		{url, token, http.MethodGet, "/v1/list", 200},
		{url, token, http.MethodGet, "/v1/health", 204},
		{url, reads, http.MethodPost, "/v1/list", 403},
		{url, reads, http.MethodGet, "/v1/health", 403},
		{url, reads, http.MethodGet, "/v1/list/../health", 403},
		{url, reads, http.MethodGet, "/v1/list/", 403},
		{url, reads, http.MethodGet, "/v1/cellar/wine", 403},
		{url, reads, http.MethodPost, "/v1/orders", 403},
		{url, reads, http.MethodGet, "/v1/nothing", 403},
		{url, reads[1:], http.MethodGet, "/v1/list", 401},
		{url, "", http.MethodGet, "/v1/list", 401},
		{closed, "", http.MethodGet, "/v1/list", 401},
		{closed, reads, http.MethodGet, "/v1/list", 401},
	} {
		status, text := httpapitest.Ask(t, tc.method, tc.url+tc.path, `{"item":"pen"}`, map[string]string{"Authorization": "Bearer " + tc.token})
		if status != tc.status {
			t.Errorf("%s %s: status %d, want %d: %s", tc.method, tc.path, status, tc.status, text)
		}
		if strings.Contains(text, token) || strings.Contains(text, reads) {
			t.Errorf("%s %s: a token is in the answer: %s", tc.method, tc.path, text)
		}
	}
}

func TestClient(t *testing.T) {
	c := httpapi.NewClient(serve(t, httpapi.Config{Token: "secret"})+"/", httpapi.ClientConfig{Name: "shop", Token: "secret", Kinds: kinds()})
	defer c.Close()
	var sold order
	if err := c.Call(t.Context(), http.MethodPost, "/v1/orders", order{"pen", 2}, &sold); err != nil || sold != (order{"pen", 2}) {
		t.Errorf("order: %v, %+v", err, sold)
	}
	if err := c.Call(t.Context(), http.MethodGet, "/v1/health", nil, &sold); err != nil {
		t.Error(err)
	}
	var list []byte
	if err := c.Call(t.Context(), http.MethodGet, "/v1/list", nil, &list); err != nil || string(list) != "pen\n" {
		t.Errorf("list: %v, %q", err, list)
	}
	if err := c.Call(t.Context(), http.MethodGet, "/v1/list", nil, &sold); err == nil || !strings.Contains(err.Error(), "answer is not what was expected") {
		t.Errorf("a list for an order: %v", err)
	}
	err := c.Call(t.Context(), http.MethodPost, "/v1/orders", order{Item: "book"}, nil)
	e, ok := errors.AsType[*httpapi.Error](err)
	if !errors.Is(err, errSold) || !ok || e.Status != http.StatusGone || httpapi.KindOf(err) != "sold" {
		t.Errorf("sold: %v", err)
	}
	if want := "shop " + c.URL() + ": the last book: sold (sold)"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	err = c.Call(gone, http.MethodGet, "/v1/health", nil, nil)
	if !errors.Is(err, httpapi.ErrNotSent) || !errors.Is(err, context.Canceled) || errors.Is(err, httpapi.ErrUnreachable) {
		t.Errorf("given up: %v", err)
	}
}

func TestClientOfSomethingElse(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			panic(http.ErrAbortHandler)
		case "/elsewhere":
			http.Redirect(w, r, "/hang", http.StatusFound)
		default:
			http.Error(w, "I am a teapot", http.StatusUnauthorized)
		}
	}))
	defer other.Close()
	nobody := httptest.NewServer(nil)
	nobody.Close()
	for name, tc := range map[string]struct {
		url, path string
		is        error
		notSent   bool
		want      string
	}{
		"other kind of answer": {other.URL, "/", httpapi.ErrUnauthorized, false, "GET /: I am a teapot (status 401)"},
		"broken connection":    {other.URL, "/hang", httpapi.ErrUnreachable, false, "start the shop"},
		"redirect":             {other.URL, "/elsewhere", nil, false, "(status 302)"},
		"nobody":               {nobody.URL, "/", httpapi.ErrUnreachable, true, "connection refused"},
		"no URL":               {"127.0.0.1:1", "/", httpapi.ErrInvalid, true, "127.0.0.1:1"},
	} {
		c := httpapi.NewClient(tc.url, httpapi.ClientConfig{Hint: "start the shop"})
		err := c.Call(t.Context(), http.MethodGet, tc.path, nil, nil)
		c.Close()
		if err == nil || tc.is != nil && !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.want) || errors.Is(err, httpapi.ErrNotSent) != tc.notSent {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// pipes is a listener whose connections are made in memory.
type pipes chan net.Conn

func (p pipes) Close() error {
	close(p)
	return nil
}
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }
func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// TestTimeToSend: who sends its request slowly is cut off, but a slow handler is not.
func TestTimeToSend(t *testing.T) {
	for name, tc := range map[string]struct{ sent, want string }{
		"half a header": {"GET /slow HTTP/1.1\r\n", ""},
		"half a body":   {"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{}", "HTTP/1.1 400 Bad Request"},
		"slow handler":  {"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 200 OK"},
		"slow get":      {"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 OK"},
	} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(r *http.Request) (any, error) {
				timer := time.NewTimer(time.Minute)
				defer timer.Stop()
				select {
				case <-timer.C:
					return "done", nil
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			}
			api := httpapi.New(httpapi.Config{})
			api.Get("GET /slow", slow)
			httpapi.Post(api, "POST /slow", func(r *http.Request, _ struct{}) (any, error) { return slow(r) })
			ctx, cancel := context.WithCancel(t.Context())
			listener := make(pipes, 1)
			served := make(chan error, 1)
			go func() {
				served <- httpapi.Serve(ctx, listener, api, slog.New(slog.DiscardHandler))
			}()
			mine, others := net.Pipe()
			listener <- others
			go func() { _, _ = io.WriteString(mine, tc.sent) }() // the end of the test ends it
			answer := make([]byte, 1000)
			n, _ := mine.Read(answer) // the end of the connection is an answer, too
			if got := string(answer[:n]); !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("%s: answer %q, want %q", name, got, tc.want)
			}
			_ = mine.Close()
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

// FuzzRequests: whatever is sent, who has no token gets nothing, and every refusal has
// the one shape.
func FuzzRequests(f *testing.F) {
	f.Add("POST", "/v1/orders", "secret", `{"item":"pen","count":2}`)
	f.Add("GET", "/v1/cellar/wine", "secret", "")
	f.Add("GET", "/v1/health", "other", "")
	api := shop(httpapi.Config{Token: "secret"})
	f.Fuzz(func(t *testing.T, method, path, token, body string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if token != "secret" && w.Code != http.StatusUnauthorized {
			t.Errorf("%s %s: status %d without the token", method, path, w.Code)
		}
		if w.Code >= 400 && !strings.HasPrefix(w.Body.String(), `{"error":{"kind":"`) {
			t.Errorf("%s %s: status %d: %s", method, path, w.Code, w.Body)
		}
	})
}
