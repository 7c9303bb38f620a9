package etcdnode

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"locklab/internal/must"
)

// TestMembersAgreeOnTheCluster: all are told the same, whatever their links are.
func TestMembersAgreeOnTheCluster(t *testing.T) {
	of := func(name string, peers ...Peer) string {
		args := strings.Join(arguments(name, "d", "c:1", "p:1", Settings{Peers: peers, Election: time.Second}), " ")
		return args[strings.Index(args, "--initial-cluster "):]
	}
	a, b := of("a", Peer{"b", "l:1"}, Peer{"c", "l:2"}), of("b", Peer{"c", "l:3"}, Peer{"a", "l:4"})
	if a != b || !strings.Contains(a, "a=http://a.members.invalid:2380,b=") {
		t.Errorf("%s and %s", a, b)
	}
}

// TestProxyGoesOverTheLink: what is sent to a member's name reaches its link's address, and
// names that are no member's go nowhere.
func TestProxyGoesOverTheLink(t *testing.T) {
	member := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.String())
	}))
	defer member.Close()
	proxy := httptest.NewServer(toLinks(map[string]string{peerHost("b"): strings.TrimPrefix(member.URL, "http://")}))
	defer proxy.Close()
	address, _ := url.Parse(proxy.URL)
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(address)}}
	defer client.CloseIdleConnections()
	for host, want := range map[string]string{peerHost("b"): "/raft?x=1", peerHost("c"): ""} {
		answer, err := client.Get("http://" + host + "/raft?x=1")
		must.Do(t, err)
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if string(text) != want || (answer.StatusCode == http.StatusOK) != (want != "") {
			t.Errorf("%s: %d %q", host, answer.StatusCode, text)
		}
	}
}

func TestVersion(t *testing.T) {
	if err := Role().Missing(); err != nil {
		t.Skip(err)
	}
	if v, err := Role().Version(t.Context()); err != nil || !strings.HasPrefix(v, "etcd 3.") {
		t.Errorf("%q, %v", v, err)
	}
}
