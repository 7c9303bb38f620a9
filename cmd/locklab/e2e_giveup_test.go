//go:build e2e

package main_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"locklab/internal/testfile"
	"locklab/workloads/result"
)

// TestE2ESlowStopEndsOneRun: an agent that does not stop a node in time costs the run,
// not the comparison, and leaves no process behind.
func TestE2ESlowStopEndsOneRun(t *testing.T) {
	t.Parallel()
	t.Run("comparison", slowStop) // whose hosts are gone when it is over
	nothingLeft(t)
}

func slowStop(t *testing.T) {
	hosts, topology := startAway(t, "master-a", "worker-c")
	master := hosts["master-a"].addr
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: master})
	proxy.FlushInterval = -1 // events come one by one
	var slow atomic.Bool
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/stop") && slow.CompareAndSwap(false, true) {
			<-r.Context().Done() // until the controller gives up
			return
		}
		r.Host = master
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	topology = strings.ReplaceAll(topology, "http://"+master, between.URL)
	dir := filepath.Join(t.TempDir(), "out")
	out := run(t, bearer, "run", "--topology", write(t, "slow.yaml", topology),
		"--locks", "local,multiphase", "--scenarios", "baseline", "--duration", "1s", "--out", dir)
	file := read(t, dir)
	first, second := row(t, file, "local", "baseline"), row(t, file, "multiphase", "baseline")
	if first.Decided() || !recorded(t, dir, first, `"kind":"given-up"`) {
		t.Errorf("the run whose node was not stopped: %+v; want not sound, and the history says that it was given up", first.Verdict)
	}
	if second.Figures["requests"] == 0 || recorded(t, dir, second, `"kind":"given-up"`) {
		t.Errorf("the run after it: %+v", second.Verdict)
	}
	if t.Failed() || out.code == 1 {
		t.Errorf("exit code %d, it said:\n%s\n%s", out.code, out.stdout, out.stderr)
	}
}

// TestE2ERecordThatCannotBeWritten ends the run there and then, and is said once.
func TestE2ERecordThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	out := finish(t, command(t, nil, "sh", "-c", "ulimit -f 300; exec "+binary+" run --locks none --scenarios baseline --duration 30m --out "+dir))
	if out.code != 1 || strings.Count(out.stderr, "write history: ") != 1 || !strings.Contains(out.stderr, "file too large") {
		t.Errorf("exit code %d, it said:\n%s", out.code, out.stderr)
	}
	nothingLeft(t)
}

// recorded says whether the history of the row has the text.
func recorded(t *testing.T, dir string, r result.Row, text string) bool {
	t.Helper()
	return strings.Contains(string(testfile.Read(t, filepath.Join(dir, filepath.FromSlash(r.History)))), text)
}
