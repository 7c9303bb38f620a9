package visualize_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"locklab/internal/must"
	"locklab/workloads/check/record"
	"locklab/workloads/check/visualize"
	"locklab/workloads/history"
)

// TestWrite: two holds one after the other fit one holder, two at once do not; both are drawn.
func TestWrite(t *testing.T) {
	for second, want := range map[int64]porcupine.CheckResult{400: porcupine.Ok, 150: porcupine.Illegal} {
		events := []history.Event{{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Lock: "none", Scenario: "baseline", Workload: history.Mutex, DurationNS: 1e9}}}
		for i, at := range []int64{100, second} {
			hold, node := string(rune('a'+i)), "master-"+string(rune('a'+i))
			events = append(events,
				history.Event{Kind: history.KindAcquire, Node: node, Client: "p", Resource: "r1", Hold: hold, Outcome: "ok", FromNS: (at - 1) * 1e6, AtNS: at * 1e6},
				history.Event{Kind: history.KindRelease, Node: node, Client: "p", Resource: "r1", Hold: hold, Outcome: "ok", FromNS: (at + 100) * 1e6, AtNS: (at + 101) * 1e6})
		}
		r, err := record.Of(events)
		must.Do(t, err)
		var page bytes.Buffer
		have, err := visualize.Write(&page, r, "r1", record.Span{From: 0, To: 1e9})
		if err != nil || have != want {
			t.Errorf("the second at %d ms: %v, %v, want %v", second, have, err, want)
		}
		if text := page.String(); !strings.Contains(text, "master-b/b") {
			t.Error("the page lacks the second hold")
		}
	}
}
