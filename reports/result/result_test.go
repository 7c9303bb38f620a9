package result_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/reports/result"
)

func row() result.Row {
	stall, fair, rank := 12.5, 0.75, 0
	return result.Row{
		Lock: "raft", Scenario: "baseline", Workload: "matchmaking", Repeats: 1, Availability: 1,
		Verdict:    result.Verdict{Status: result.StatusExpected, Safety: "safe", Liveness: "live"},
		Duplicates: &result.Duplicates{Total: 3, Raced: 1, Overlooked: 1, Unreachable: 1},
		StallMS:    &stall, LatencyMS: &result.Quantiles{P50: 1, P99: 2, P999: 3, Max: 4},
		Histories: []string{"histories/raft/baseline.matchmaking.1.jsonl"}, PeerFairness: &fair,
		Peers: []result.Peer{
			{Node: "m1", Zone: "a", Rank: &rank, Acquires: 5, WaitMS: &result.Quantiles{P50: 1, P99: 2, P999: 2, Max: 3}, BypassMax: 4, BypassMean: 1.5, BypassInARowMax: 2},
			{Node: "m2", GaveUp: 1},
		},
	}
}

func TestWriteThenReadGivesTheSame(t *testing.T) {
	want := result.File{Schema: result.Schema, Run: result.Run{
		ID: "r1", Seed: 7,
		Clocks: []result.Clock{{Host: "redis-a-1", OffsetNS: -5e9, ErrorNS: 42_000, KernelMaxErrorUS: 310, Synced: true}, {Host: "raft-c"}},
	}, Results: []result.Row{row()}}
	path := filepath.Join(t.TempDir(), result.FileName)
	if err := result.Write(path, want); err != nil {
		t.Fatal(err)
	}
	have, err := result.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files left: %v, %v", left, err)
	}
}

func TestWriteLeavesOutWhatIsNoNumber(t *testing.T) {
	bad := row()
	nan := math.NaN()
	bad.StallMS, bad.Availability = &nan, math.Inf(1)
	bad.LatencyMS = &result.Quantiles{P50: nan}
	bad.Peers[0].WaitMS, bad.Peers[1].BypassMean = &result.Quantiles{P99: nan}, nan
	bad.Faults = []result.Fault{{Kind: "latency", EndedMS: nan, Proven: true}}
	path := filepath.Join(t.TempDir(), result.FileName)
	if err := result.Write(path, result.File{Schema: result.Schema, Results: []result.Row{bad}}); err != nil {
		t.Fatal(err)
	}
	have, err := result.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	got := have.Results[0]
	if got.StallMS != nil || got.LatencyMS != nil || got.Availability != 0 || got.Faults[0].Proven {
		t.Errorf("figures without a number stayed: %+v", got)
	}
	if got.Peers[0].WaitMS != nil || got.Peers[1].BypassMean != 0 || got.Peers[0].BypassMean != 1.5 {
		t.Errorf("figures of peers without a number stayed: %+v", got.Peers)
	}
	if len(have.Run.Warnings) != 5 {
		t.Errorf("warnings: %q, want one for each of stall, availability, latency, wait and bypasses", have.Run.Warnings)
	}
	if bad.StallMS == nil || bad.Peers[0].WaitMS == nil || !math.IsNaN(bad.Peers[1].BypassMean) || !math.IsInf(bad.Availability, 1) {
		t.Error("Write changed the caller's rows")
	}
}

func TestReadNamesFileLineAndField(t *testing.T) {
	one := `{"schema":"locklab/result/v1","run":{},"results":[{"lock":"a","scenario":"b","workload":"c","availability":1,` + "\n"
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"wrong type":     {one + `"verdict":{"status":4}}]}`, []string{"line 2", "results[0].verdict.status", "a number"}},
		"wrong number":   {one + `"repeats":"x"}]}`, []string{"results[0].repeats", "a string"}},
		"not JSON":       {`{"schema":`, []string{"line 1"}},
		"empty":          {``, []string{"line 1"}},
		"schema":         {`{"schema":"other"}`, []string{"schema", `"other"`, result.Schema}},
		"status":         {one + `"verdict":{"status":"green"}}]}`, []string{"results[0].verdict.status", "green", "control-silent"}},
		"availability":   {strings.Replace(one, `"availability":1`, `"availability":2`, 1) + `"repeats":1}]}`, []string{"results[0].availability"}},
		"negative":       {one + `"latency_ms":{"p99":-1}}]}`, []string{"results[0].latency_ms.p99", "-1"}},
		"sum":            {one + `"duplicates":{"total":2,"raced":1}}]}`, []string{"results[0].duplicates.total", "the sum"}},
		"path":           {one + `"histories":["../../etc/passwd"]}]}`, []string{"results[0].histories[0]", "below the run"}},
		"other schema":   {`{"schema":"locklab/result/v2"}`, []string{"schema", `"locklab/result/v2"`, `want "locklab/result/v1"`}},
		"overflow":       {`{"schema":"locklab/result/v1","results":[{"lock":"a","scenario":"b","workload":"c","duplicates":{"total":-2,"raced":9223372036854775807,"overlooked":9223372036854775807}}]}`, []string{"results[0].duplicates.total", "-2", "0 to 9007199254740992"}},
		"negative count": {`{"schema":"locklab/result/v1","results":[{"lock":"a","scenario":"b","workload":"c","overlaps":-1}]}`, []string{"results[0].overlaps", "-1"}},
		"no lock":        {`{"schema":"locklab/result/v1","results":[{}]}`, []string{"results[0].lock"}},
		"twice":          {one + `"repeats":1},{"lock":"a","scenario":"b","workload":"c"}]}`, []string{"results[1]", "results[0]"}},
		"peer's name":    {one + `"peers":[{"acquires":1}]}]}`, []string{"results[0].peers[0].node", "the name of a master"}},
		"peer twice":     {one + `"peers":[{"node":"m"},{"node":"m"}]}]}`, []string{"results[0].peers[1].node", `"m"`, "each once"}},
		"peer's count":   {one + `"peers":[{"node":"m","acquires":-1}]}]}`, []string{"results[0].peers[0].acquires", "-1", "0 or more"}},
		"peer's rank":    {one + `"peers":[{"node":"m","rank":-1}]}]}`, []string{"results[0].peers[0].rank", "0 or more"}},
		"peer's wait":    {one + `"peers":[{"node":"m","wait_ms":{"max":-2}}]}]}`, []string{"results[0].peers[0].wait_ms.max", "-2"}},
		"peer's bypass":  {one + `"peers":[{"node":"m","bypass_max":1,"bypass_in_a_row_max":2}]}]}`, []string{"results[0].peers[0].bypass_in_a_row_max", "at most bypass_max, 1"}},
		"nameless clock": {`{"schema":"locklab/result/v1","run":{"clocks":[{"host":"a"},{"error_ns":1}]}}`, []string{"run.clocks[1].host", "a name"}},
		"clock twice":    {`{"schema":"locklab/result/v1","run":{"clocks":[{"host":"a"},{"host":"a"}]}}`, []string{"run.clocks[1].host", "each host once"}},
		"negative clock": {`{"schema":"locklab/result/v1","run":{"clocks":[{"host":"a","error_ns":-1}]}}`, []string{"run.clocks[0].error_ns", "-1"}},
		"kernel's bound": {`{"schema":"locklab/result/v1","run":{"clocks":[{"host":"a","kernel_max_error_us":-1}]}}`, []string{"run.clocks[0].kernel_max_error_us", "-1"}},
		"duplicate name": {`{"schema":"locklab/result/v1","schema":"x"}`, []string{"schema"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "result.json")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := result.Read(path)
			if !errors.Is(err, result.ErrInvalid) {
				t.Fatalf("error %v, want ErrInvalid", err)
			}
			for _, part := range append(test.want, path) {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"schema":"locklab/result/v1","run":{},"results":[{"lock":"a","scenario":"b","workload":"c"}]}`))
	f.Add([]byte(`{"schema":"locklab/result/v1","results":[{"latency_ms":{"p50":1e999}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := result.Parse(data)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "result.json")
		if err := result.Write(path, file); err != nil {
			t.Errorf("a result that was read cannot be written: %v", err)
		}
	})
}
