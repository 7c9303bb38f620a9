package progress_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/cmd/locklab/internal/progress"
	"locklab/workloads/result"
)

func TestOneLineARun(t *testing.T) {
	sound := result.Statement{State: result.OK}
	var out bytes.Buffer
	noted := ""
	d := progress.New(&out, 3, nil, func(line string) { noted += line })
	for _, row := range []result.Row{
		{
			Lock: "none", Scenario: "zone-partition", Figures: map[string]float64{"served": 0.9991},
			Verdict: result.Verdict{Sound: sound, Safety: result.Statement{State: result.Failed, Code: result.Duplicates, N: 25}, Liveness: sound, Word: result.Live, As: result.AsExpected},
		},
		{
			Lock: "raft", Scenario: "zone-partition", Figures: map[string]float64{"served": 0.5},
			Verdict: result.Verdict{Sound: sound, Safety: sound, Liveness: result.Statement{State: result.Failed, Code: result.IsDown, N: 2800}, Word: result.Down, As: result.NotAsExpected},
		},
		{
			Lock: "redlock", Scenario: "baseline",
			Verdict: result.Verdict{Sound: result.Statement{State: result.Failed, Code: result.Saturated, Of: "a\x1b[1m"}, As: result.Unsound},
		},
	} {
		d.Begin("a run", 9*time.Second)
		d.Advance(time.Second, "measuring")
		d.End(result.File{}, row)
	}
	d.Note("a remark")
	d.Close()
	want := `[1/3] none zone-partition  ✗ as expected · duplicates: 25  served 99.9%
[2/3] raft zone-partition  ■ not as expected · down: 2.8 s  served 50.0%
[3/3] redlock baseline  ? the machine was saturated (a�[1m)
a remark
`
	if diff := cmp.Diff(want, out.String()); diff != "" || noted != "a remark" {
		t.Error(noted, diff)
	}
}
