package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/internal/httpapi/httpapitest"
	"locklab/internal/must"
	"locklab/internal/testfile"
)

func TestReportPages(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(t.TempDir(), "runs")
	server := httptest.NewServer(reportPages(dir, "reports.example"))
	defer server.Close()
	get := func(path string) (int, string) {
		t.Helper()
		response, err := server.Client().Get(server.URL + path)
		must.Do(t, err)
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		must.Do(t, err)
		return response.StatusCode, string(text)
	}
	if code, text := get("/"); code != http.StatusOK || !strings.Contains(text, "None is finished") {
		t.Errorf("before the first report: %d %s", code, text)
	}

	put := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		testfile.Write(t, path, text)
		return path
	}
	old := put("zzz/index.html", "the old one")
	put("aaa/index.html", "the new one")
	put("aaa/result.json", `{"schema":"locklab/result/v2","run":{"started":"2026-11-20T15:04:05Z"},"results":[
		{"lock":"raft","scenario":"baseline","workload":"matchmaking","repeat":1,"figures":{"duplicates":2,"served":0.9},
		"verdict":{"sound":{"state":"ok"},"safety":{"state":"failed","code":"duplicates","n":2},"liveness":{"state":"ok"},"word":"live","as":"not as expected"}}]}`)
	put("aaa/index.ko.html", "the new one, in Korean")
	rebuilt := put("mmm/index.html", "one that was begun before it, and rebuilt")
	put("mmm/result.json", `{"schema":"locklab/result/v2","run":{"started":"2026-11-20T14:04:05Z"},"results":[]}`)
	put("unfinished/lab.log", "")
	put(".hidden/index.html", "secret")
	for page, at := range map[string]time.Time{old: time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC), rebuilt: time.Now().Add(time.Hour)} {
		must.Do(t, os.Chtimes(page, time.Time{}, at))
	}
	testfile.Write(t, filepath.Join(outside, "key"), "secret")
	must.Do(t, os.Symlink(outside, filepath.Join(dir, "aaa", "out")))

	_, list := get("/")
	if a, m, z := strings.Index(list, `href="aaa/index.html"`), strings.Index(list, `href="mmm/index.html"`), strings.Index(list, `href="zzz/index.html"`); a < 0 || m < a || z < m || strings.Contains(list, "unfinished") || strings.Contains(list, ".hidden") {
		t.Errorf("want aaa, then mmm, then zzz, and nothing else:\n%s", list)
	}
	for _, want := range []string{"2026-11-20 15:04:05 UTC", "1 lock x 1 scenario", "0 of 1 as expected"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list does not say %q of aaa", want)
		}
	}
	if code, text := get("/index.ko.html"); code != http.StatusOK || !strings.Contains(text, `lang="ko"`) ||
		!strings.Contains(text, `href="aaa/index.ko.html"`) || !strings.Contains(text, `href="zzz/index.html"`) {
		t.Errorf("the list in Korean: %d\n%.200s", code, text)
	}
	for path, want := range map[string]int{
		"/aaa/": 200, "/aaa/result.json": 200, "/zzz/": 200, "/none/": 404,
		"/.hidden/": 404, "/aaa/../.hidden/index.html": 404, "/aaa/out/key": 404, "/aaa/out/": 404,
		"/..%2f..%2fetc/passwd": 404, "/aaa/%2e%2e/%2e%2e/key": 404,
	} {
		if code, text := get(path); code >= 400 != (want != 200) || strings.Contains(text, "secret") {
			t.Errorf("GET %s: %d, want %d", path, code, want)
		}
	}
	for host, want := range map[string]int{
		"localhost:8080": http.StatusOK, "[::1]:8080": http.StatusOK, "reports.example:8080": http.StatusOK,
		"evil.example:8080": http.StatusForbidden,
	} {
		code, text := httpapitest.Ask(t, http.MethodGet, server.URL, "", map[string]string{"Host": host})
		if code != want || code == http.StatusForbidden && !strings.Contains(text, "want its IP address, or localhost") {
			t.Errorf("as %s: %d, want %d: %s", host, code, want, text)
		}
	}
	response, err := server.Client().Post(server.URL+"/aaa/", "text/plain", nil)
	must.Do(t, err)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", response.StatusCode)
	}
}

// TestAnAddressThatIsTakenIsNotCalledWrong: another port is what helps.
func TestAnAddressThatIsTakenIsNotCalledWrong(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer func() { _ = taken.Close() }()
	const want = "want HOST:PORT of this machine"
	for addr, says := range map[string]string{taken.Addr().String(): "want another port", "127.0.0.1": want, "192.0.2.1:80": want} {
		listener, err := listenOn(t.Context(), "--serve", addr, want)
		if err == nil {
			t.Errorf("%s: listens", addr)
			_ = listener.Close()
		} else if text := err.Error(); !strings.HasPrefix(text, "--serve "+addr+": ") || !strings.Contains(text, says) {
			t.Errorf("%s: %s; want %q", addr, text, says)
		}
	}
}
