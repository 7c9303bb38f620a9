package record_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = int64(1e6)

// held is a hold of r, with its releases.
func held(node, hold string, from, to int64) []history.Event {
	e := history.Event{Node: node, Client: node, Hold: hold, Resource: "r", Outcome: "ok"}
	acquire, releasing, release := e, e, e
	acquire.Kind, acquire.FromNS, acquire.AtNS = history.KindAcquire, (from-1)*ms, from*ms
	releasing.Kind, releasing.AtNS = history.KindReleasing, to*ms
	release.Kind, release.FromNS, release.AtNS = history.KindRelease, to*ms, (to+1)*ms
	return []history.Event{acquire, releasing, release}
}

func head() history.Event {
	return history.Event{Kind: history.KindRun, AtNS: 1, Run: &history.Run{
		Schema: history.Schema, Lock: "raft", Scenario: "baseline", Workload: history.Mutex, DurationNS: 1e9,
		NodeHosts: map[string]string{"m1": "ha", "m2": "hc"}, HostZones: map[string]string{"ha": "a", "hc": "c"},
	}}
}

// written is the path of a history of so many holds.
func written(t *testing.T, holds int) string {
	t.Helper()
	text := history.AppendJSON(nil, new(head()))
	for n := range holds {
		for _, e := range held(fmt.Sprint("m", n%2+1), fmt.Sprint("h", n), int64(2*n+1), int64(2*n+2)) {
			text = history.AppendJSON(append(text, '\n'), &e)
		}
	}
	path := filepath.Join(t.TempDir(), "history.jsonl")
	testfile.Write(t, path, append(text, '\n'))
	return path
}

func TestFilesAreAsEvents(t *testing.T) {
	path := written(t, 3000) // several batches
	events, _, err := historytest.ReadFile(t.Context(), path)
	must.Do(t, err)
	want, err := record.Of(events)
	if err != nil || len(want.Acquires) != 3000 {
		t.Fatal(err)
	}
	out, err := os.Create(path + ".gz")
	must.Do(t, err)
	z := gzip.NewWriter(out)
	_, err = z.Write(testfile.Read(t, path))
	must.Do(t, errors.Join(err, z.Close(), out.Close()))
	for _, p := range []string{path, path + ".gz"} {
		got, err := record.Read(t.Context(), p)
		must.Do(t, err)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(record.Run{}, record.Acquire{})); diff != "" {
			t.Errorf("%s (-events +file):\n%s", p, diff)
		}
	}
}

func TestDamagedFiles(t *testing.T) {
	path := written(t, 100)
	text := testfile.Read(t, path)
	testfile.Write(t, path, text[:len(text)-7])
	if r, err := record.Read(t.Context(), path); err != nil || !r.Torn || len(r.Acquires) != 100 {
		t.Errorf("torn: %+v, %v", r, err)
	}
	testfile.Write(t, path, strings.Replace(string(text), `"hold":"h50"`, `"hold":"h50`, 1))
	if _, err := record.Read(t.Context(), path); err == nil || !strings.Contains(err.Error(), "history.jsonl:152:") {
		t.Errorf("broken: %v", err)
	}
	if _, err := record.Read(t.Context(), path+"x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// TestFilesThatAreNoHistoryOfARun: an error names the line, the field, and what would be right.
func TestFilesThatAreNoHistoryOfARun(t *testing.T) {
	of := func(change func(*history.Run)) string {
		e := head()
		change(e.Run)
		return string(history.AppendJSON(nil, &e)) + "\n"
	}
	sound := of(func(*history.Run) {})
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "the first line is not the description of a run"},
		"another line":     {`{"kind":"phase","at_ns":1}` + "\n" + sound, ":1: the first line is not the description of a run"},
		"two runs":         {sound + `{"kind":"rate","at_ns":1}` + "\n" + sound, ":3: a second description of a run"},
		"another state":    {sound + `{"kind":"fault","at_ns":1,"state":"endet"}` + "\n", `:2: the state of a fault: have "endet", want one of asked, began,`},
		"no lock":          {of(func(r *history.Run) { r.Lock = "" }), ":1: run.lock: have none, want the name of a lock"},
		"another workload": {of(func(r *history.Run) { r.Workload = "chess" }), ":1: run.workload: have chess, want one of matchmaking, mutex"},
		"no duration":      {of(func(r *history.Run) { r.DurationNS = 0 }), "run.duration_ns: have 0, want at least"},
		"no load":          {of(func(r *history.Run) { r.Workload = history.Matchmaking }), "run.offered_per_s: have 0, want more"},
		"an endless lease": {of(func(r *history.Run) { r.LeaseNS = 1e18 }), "run.lease_ns: have 1000000000000000000, want 0 to"},
	} {
		path := filepath.Join(t.TempDir(), "history.jsonl")
		testfile.Write(t, path, c.text)
		if _, err := record.Read(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// TestHoldsEnd at the first of what ends them, whatever order the file has; not with a death
// that their process came back from before they began.
func TestHoldsEnd(t *testing.T) {
	node := func(state string, asked, at int64) history.Event {
		return history.Event{Kind: history.KindNode, Node: "m1", State: state, FromNS: asked * ms, AtNS: at * ms}
	}
	lost := history.Event{Kind: history.KindLost, Node: "m1", Hold: "h", Resource: "r", AtNS: 15 * ms}
	h := held("m1", "h", 10, 20)
	for name, c := range map[string]struct {
		events []history.Event
		until  int64
	}{
		"released":                     {h, 20 * ms},
		"the end stands first":         {[]history.Event{h[2], h[1], h[0]}, 20 * ms},
		"lost":                         {append(h, lost), 15 * ms},
		"killed":                       {append(h[:1:1], node("killed", 17, 19)), 17 * ms},
		"killed as it began":           {append(h[:1:1], node("killed", 8, 12)), 10 * ms},
		"killed before, and started":   {append(h[:1:1], node("started", 0, 1), node("killed", 2, 3), node("started", 4, 4)), record.Never},
		"paused, which ends no belief": {append(h, node("paused", 11, 12), node("resumed", 18, 19)), 20 * ms},
		"nothing ends it":              {h[:1], record.Never},
		"released before its grant":    {held("m1", "h", 10, 5), 5 * ms},
	} {
		r, err := record.Of(append([]history.Event{head()}, c.events...))
		if err != nil || len(r.Acquires) != 1 || r.Acquires[0].Until != c.until {
			t.Errorf("%s: %v, %+v, want %d", name, err, r.Acquires, c.until)
		}
		if early := c.until < 10*ms; early != (r.Contradictions.N > 0) {
			t.Errorf("%s: %+v", name, r.Contradictions)
		}
	}
}

// TestWhatIsApart: canaries, and the resources that capacity is measured with.
func TestWhatIsApart(t *testing.T) {
	canary := history.Event{Kind: history.KindAcquire, Node: "m1", Resource: history.CanaryPrefix + "m1", FromNS: ms, AtNS: 2 * ms, Outcome: "ok"}
	full := held("m1", "c", 2, 3)
	for i := range full {
		full[i].Resource = history.CapacityResource + "-1"
	}
	clock := history.Event{Kind: history.KindClock, Host: "hc", AtNS: 99 * ms, ErrNS: 7}
	r, err := record.Of(append(append([]history.Event{head(), canary, clock}, full...), held("m2", "h", 4, 5)...))
	if err != nil || len(r.Canaries) != 1 || len(r.Acquires) != 1 || r.Missing.N+r.Contradictions.N != 0 {
		t.Fatalf("%v: %+v", err, r)
	}
	if a := r.Acquires[0]; a.Err != 7 || r.Nodes[a.Node].Zone != "c" || r.End != 6*ms {
		t.Errorf("%+v, end %d", a, r.End)
	}
}
