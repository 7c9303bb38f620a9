package live

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/workloads/history"
)

// pretended is a lab that does what it is asked at once, and notes that.
type pretended struct {
	mu    sync.Mutex
	calls []string
	state ControlState
}

var _ Control = (*pretended)(nil)

func (p *pretended) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, fmt.Sprintf(format, args...))
}

func (p *pretended) Begin(fault []byte) error {
	p.note("begin %s", fault)
	if !strings.Contains(string(fault), "partition") {
		return errors.New("the lab starts or stops right now: try again in a moment")
	}
	return nil
}
func (p *pretended) Heal(id string) error           { p.note("heal %q", id); return nil }
func (p *pretended) SetRate(perSecond uint32) error { p.note("rate %d", perSecond); return nil }
func (p *pretended) Switch(lock string) error       { p.note("switch %s", lock); return nil }

func (p *pretended) State() ControlState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func (p *pretended) took() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.calls
	p.calls = nil
	return all
}

// TestOnlyThePageItselfControls: other sites can neither act nor read what would let them.
func TestOnlyThePageItselfControls(t *testing.T) {
	lab := &pretended{state: ControlState{Lock: "none", Running: true, Locks: []string{"none"}, PerS: 300, MostPerS: 2000, Zones: []string{"a", "c"}}}
	b := New(Info{Title: "a test", Control: lab})
	h := b.Handler()
	const here = "127.0.0.1:7788"
	ask := func(method, path, body string, header map[string]string) (int, string, http.Header) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Host = here
		for name, value := range header {
			if name == "Host" {
				r.Host = value
			} else {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		text, _ := io.ReadAll(w.Body)
		return w.Code, string(text), w.Header()
	}
	code, page, _ := ask(http.MethodGet, "/", "", nil)
	_, token, _ := strings.Cut(page, `name="locklab-token" content="`)
	if token, _, _ = strings.Cut(token, `"`); code != http.StatusOK || len(token) < 32 {
		t.Fatalf("%d: the page has no token", code)
	}
	bears := map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Origin": "http://" + here, "Sec-Fetch-Site": "same-origin"}
	with := func(name, value string) map[string]string {
		all := maps.Clone(bears)
		if all[name] = value; value == "" {
			delete(all, name)
		}
		return all
	}
	const cut = `{"fault":"partition","between":["zones"],"mode":"hold"}`
	for _, c := range []struct {
		what, method, path, body string
		header                   map[string]string
		code                     int
		did, said                string
	}{
		{"the page", "POST", "/control/fault", cut, bears, 204, "begin " + cut, ""},
		{"a script", "POST", "/control/heal", `{"id":"cut-1"}`, map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json; charset=utf-8"}, 204, `heal "cut-1"`, ""},
		{"all", "POST", "/control/heal", `{}`, bears, 204, `heal ""`, ""},
		{"the slider", "POST", "/control/rate", `{"per_s":600}`, bears, 204, "rate 600", ""},
		{"the locks", "POST", "/control/lock", `{"lock":"raft"}`, bears, 204, "switch raft", ""},
		{"what is refused", "POST", "/control/fault", `{"fault":"kill"}`, bears, 409, `begin {"fault":"kill"}`, "try again in a moment"},
		{"no token", "POST", "/control/heal", `{}`, with("Authorization", ""), 401, "", "token"},
		{"a wrong token", "POST", "/control/heal", `{}`, with("Authorization", "Bearer "+strings.Repeat("0", len(token))), 401, "", "token"},
		{"another site", "POST", "/control/heal", `{}`, with("Origin", "http://evil.example"), 403, "", "site"},
		{"another port", "POST", "/control/heal", `{}`, with("Origin", "http://127.0.0.1:80"), 403, "", "site"},
		{"a frame without an origin", "POST", "/control/heal", `{}`, with("Origin", "null"), 403, "", "site"},
		{"another site, as browsers say", "POST", "/control/heal", `{}`, with("Sec-Fetch-Site", "cross-site"), 403, "", "site"},
		{"a name that leads here", "POST", "/control/heal", `{}`, with("Host", "evil.example"), 403, "", "evil.example"},
		{"the page's style", "GET", "/live.css", "", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://" + here}, 200, "", "--"},
		{"a program reads a script", "GET", "/live.js", "", map[string]string{"Host": "localhost"}, 200, "", "EventSource"},
		{"a file that is no script", "GET", "/live.html", "", nil, 404, "", ""},
		{"that name reads the page", "GET", "/", "", map[string]string{"Host": "evil.example"}, 403, "", "evil.example"},
		{"another site's script reads the page", "GET", "/", "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Origin": "http://evil.example"}, 403, "", "site"},
		{"another site asks first", "OPTIONS", "/control/heal", "", map[string]string{"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}, 403, "", ""},
		{"a link", "GET", "/control/heal", "", bears, 405, "", ""},
		{"what there is not", "POST", "/control/format", `{}`, bears, 404, "", "/control/heal"},
		{"a field that there is not", "POST", "/control/rate", `{"per_second":600}`, bears, 400, "", "per_second"},
		{"a negative rate", "POST", "/control/rate", `{"per_s":-1}`, bears, 400, "", "per_s"},
		{"no JSON", "POST", "/control/fault", `fault=kill`, bears, 400, "", ""},
	} {
		code, said, header := ask(c.method, c.path, c.body, c.header)
		did := strings.Join(lab.took(), ", ")
		if code != c.code || did != c.did || !strings.Contains(said, c.said) {
			t.Errorf("%s: %d, did %q: %s\nwant %d, %q, %q", c.what, code, did, said, c.code, c.did, c.said)
		}
		if header.Get("Access-Control-Allow-Origin") != "" || strings.Contains(said, token) ||
			!strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: the answer can be read by others, or has the token, or no policy: %v", c.what, header)
		}
	}
}

// TestWithoutControlNobodyActs: the page of a comparison has no buttons, and takes no orders.
func TestWithoutControlNobodyActs(t *testing.T) {
	b := New(Info{Title: "a test"})
	h := b.Handler()
	for _, r := range []*http.Request{httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRequest(http.MethodPost, "/control/heal", strings.NewReader("{}"))} {
		r.Host = "127.0.0.1"
		r.Header.Set("Authorization", "Bearer "+b.token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if r.Method == http.MethodPost && w.Code < 400 || strings.Contains(w.Body.String(), b.token) || strings.Contains(w.Body.String(), "control.js") {
			t.Errorf("%s: %d %s", r.Method, w.Code, w.Body)
		}
	}
}

// painted are the parts of the page in English, without charts.
func painted(m *model) map[string]string {
	text := map[string]string{}
	for _, one := range newPainter().paint("en", m, 3*ms, false) {
		text[one.ID] = one.HTML
	}
	return text
}

// TestARunWithoutAnEndIsDrawnWhole, however long it gets.
func TestARunWithoutAnEndIsDrawnWhole(t *testing.T) {
	m := newModel(Info{Control: &pretended{}})
	m.begin(Run{Rooms: true, Played: true})
	m.measureNS = ms
	for _, at := range []time.Duration{time.Second, 59 * time.Second, 200 * time.Second} {
		now := int64(at) + ms
		m.steer(now)
		m.steer(now)
		m.add(&history.Event{Kind: history.KindMatch, FromNS: now - ms, AtNS: now, Outcome: "ok"})
	}
	served, all := 0.0, m.ops.Series()
	for _, b := range all.Bins {
		served += b.OKPerS * all.BinMS / 1000
	}
	if m.run.Duration != 4*time.Minute || served < 2.99 || served > 3.01 || m.chart(int64(201*time.Second)).DurationMS != 240_000 {
		t.Errorf("%v are drawn, with %.2f requests", m.run.Duration, served)
	}
}

// TestWhatEndedIsNotControlled: a lab that is over takes no switches, and is not said to get ready.
func TestWhatEndedIsNotControlled(t *testing.T) {
	m := newModel(Info{Control: &pretended{}})
	m.state = ControlState{Lock: "redis", Locks: []string{"redis"}, Running: true}
	choices := func() string { return painted(m)["choices"] }
	if text := choices(); strings.Contains(text, " disabled") || strings.Contains(text, "ended") {
		t.Errorf("while it goes on: %s", text)
	}
	m.over, m.report, m.run = true, "report", nil
	m.state.Running = false
	if text := choices(); !strings.Contains(text, " disabled") || !strings.Contains(text, "The lab has ended.") || strings.Contains(text, "ready") {
		t.Errorf("when it is over: %s", text)
	}
}

// TestAHitOnAHolderIsNotSaidToBeProven: that it hit a hold is known when its history is complete.
func TestAHitOnAHolderIsNotSaidToBeProven(t *testing.T) {
	m := newModel(Info{Control: &pretended{}})
	m.begin(aRun())
	m.state = ControlState{Faults: []history.Event{{ID: "pause-1", Fault: "pause", Target: "others <-> holder (m-a)", Aim: &history.Aim{At: history.AimHolder}, State: "began"}, {ID: "kill-1", Fault: "kill", Target: "node:m-a", State: "began"}}}
	m.add(&history.Event{Kind: history.KindPhase, AtNS: ms, State: "measure"})
	m.add(&history.Event{Kind: history.KindFault, AtNS: 2 * ms, State: "began", ID: "pause-1", Fault: "pause", Target: "others <-> holder (m-a)", Aim: &history.Aim{At: history.AimHolder}})
	text := painted(m)
	if !strings.Contains(text["broken"], "others and holder (m-a): broken, as probes saw") || !strings.Contains(text["broken"], "node:m-a: broken, and proven") {
		t.Errorf("the panel says %s", text["broken"])
	}
	if !strings.Contains(text["log"], "the report says whether it hit a hold") || strings.Contains(text["log"], "and proven") {
		t.Errorf("the list says %s", text["log"])
	}
}
