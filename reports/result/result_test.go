package result_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"locklab/internal/sentence"
	"locklab/reports/result"
)

func row() result.Row {
	stall, fair, rank := 12.5, 0.75, 0
	return result.Row{
		Lock: "raft", Scenario: "baseline", Workload: "matchmaking", Repeats: 1, Availability: 1,
		Verdict:    result.Verdict{Status: result.StatusExpected, Safety: result.Unsafe, Liveness: "live"},
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

// TestNoSentenceIsTooDeepToBeReadAgain: what is as deep as may be is written and read, and what is
// deeper is not written, wherever it stands.
func TestNoSentenceIsTooDeepToBeReadAgain(t *testing.T) {
	nested := func(deep int) sentence.Text {
		text := sentence.Name("why")
		for range deep {
			text = sentence.Of("%s. %s", text, sentence.Name("more"))
		}
		return text
	}
	for field, put := range map[string]func(*result.File, sentence.Text){
		"results[0].verdict.reason":     func(f *result.File, t sentence.Text) { f.Results[0].Verdict.Reason = t },
		"results[0].verdict.own.reason": func(f *result.File, t sentence.Text) { f.Results[0].Verdict.Own = &result.Own{Reason: t} },
		"run.warned[0]":                 func(f *result.File, t sentence.Text) { f.Run.Warned = []sentence.Text{t} },
	} {
		path := filepath.Join(t.TempDir(), result.FileName)
		file := result.File{Schema: result.Schema, Results: []result.Row{row()}}
		put(&file, nested(sentence.Deepest))
		if err := result.Write(path, file); err != nil {
			t.Fatal(err)
		}
		have, err := result.Read(path)
		if err != nil {
			t.Fatalf("%s: %v", field, err)
		}
		if !reflect.DeepEqual(file, have) { // cmp would take for ever
			t.Errorf("%s: read %+v, want %+v", field, have, file)
		}
		put(&file, nested(sentence.Deepest+1))
		const want = ": have 41, want clauses that are put into each other at most 40 deep"
		if err := result.Write(path, file); !errors.Is(err, result.ErrInvalid) || !strings.Contains(err.Error(), field+want) {
			t.Errorf("got %v, want %s", err, field+want)
		}
		data, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := result.Parse(data); !errors.Is(err, result.ErrInvalid) || !strings.Contains(err.Error(), field+want) {
			t.Errorf("got %v, want %s", err, field+want)
		}
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
		"not JSON":       {`{"schema":`, []string{"byte"}},
		"empty":          {``, []string{"empty"}},
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
		"peer's count":   {one + `"peers":[{"node":"m","acquires":-1}]}]}`, []string{"results[0].peers[0].acquires", "-1", "0 to "}},
		"peer's rank":    {one + `"peers":[{"node":"m","rank":-1}]}]}`, []string{"results[0].peers[0].rank", "0 to "}},
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

// TestRowsThatContradictThemselvesAreRefused: each was read before as if it could be.
func TestRowsThatContradictThemselvesAreRefused(t *testing.T) {
	const verdict = `"verdict":{"status":"expected","safety":"safe","liveness":"live","expected":{"safety":"safe","liveness":["live"]}}`
	for name, test := range map[string]struct {
		row  string
		want []string
	}{
		"safe with duplicates":        {verdict + `,"duplicates":{"total":196,"raced":196}`, []string{"verdict.safety", `"safe"`, "duplicates.raced is 196"}},
		"safe with overlooked":        {verdict + `,"duplicates":{"total":1,"overlooked":1}`, []string{"verdict.safety", "duplicates.overlooked is 1"}},
		"safe but for its warm-up":    {verdict + `,"duplicates":{"warmup":2}`, []string{"verdict.safety", "duplicates.warmup is 2"}},
		"safe with overlaps":          {verdict + `,"overlaps":3`, []string{"verdict.safety", "overlaps is 3"}},
		"safe with violations":        {verdict + `,"violations_at_ms":[-4,5]`, []string{"verdict.safety", "violations_at_ms has 2"}},
		"unsafe without any":          {`"verdict":{"safety":"unsafe"},"duplicates":{"total":2,"unreachable":2}`, []string{"verdict.safety", `"unsafe"`}},
		"not judged but expected":     {`"verdict":{"safety":"not-judged","expected":{"safety":"safe"}}`, []string{"verdict.safety", `"not-judged"`, "safe"}},
		"expected safe, was not":      {`"verdict":{"status":"expected","safety":"unsafe","expected":{"safety":"safe"}},"overlaps":1`, []string{"verdict.status", "it is unsafe", "safe"}},
		"expected unsafe, was safe":   {`"verdict":{"status":"expected","safety":"safe","expected":{"safety":"unsafe"}}`, []string{"verdict.status", "it is safe"}},
		"expected live, was down":     {`"verdict":{"status":"expected","liveness":"down","expected":{"liveness":["live"]}}`, []string{"verdict.status", "liveness is down"}},
		"expected live, not judged":   {`"verdict":{"liveness":"not-judged","expected":{"liveness":["live"]}}`, []string{"verdict.liveness", "a judgement", "live"}},
		"silent, but heard":           {`"verdict":{"status":"control-silent","safety":"unsafe","expected":{"safety":"unsafe"}},"overlaps":1`, []string{"verdict.status", "silent control"}},
		"silent, no control":          {`"verdict":{"status":"control-silent","safety":"safe","expected":{"safety":"safe"}}`, []string{"verdict.status", "silent control"}},
		"nothing judged, all is safe": {`"verdict":{"status":"not-judged","safety":"safe"}`, []string{"verdict.safety", `"not-judged"`}},
		"not judged by anything":      {`"verdict":{"status":"not-judged","expected":{"availability_outside":0.9}}`, []string{"verdict.status", "expects something"}},
		"a threshold without effect":  {`"verdict":{"status":"expected","fail_on":["overlaps>0"]}`, []string{"verdict.status", "fail_on"}},
		"expects more than all":       {`"verdict":{"expected":{"availability_during":1.2}}`, []string{"verdict.expected", "1.2"}},
		"more duplicates than rooms":  {`"rooms_created":3,"duplicates":{"total":4,"unreachable":4}`, []string{"duplicates.total", "4", "at most rooms_created, 3"}},
		"more during than all":        {`"availability_during":1.5`, []string{"availability_during", "1.5", "0 to 1"}},
		"fairer than fair":            {`"fairness":1.01`, []string{"fairness", "1.01"}},
		"a count that is none":        {`"stale_writes":"many"`, []string{"stale_writes", `"many"`, "a number"}},
		"a count below zero":          {`"stale_writes":-1`, []string{"stale_writes", "-1", "0 or more"}},
		"quantiles fall":              {`"acquire_ms":{"p50":4,"p99":3,"p999":9,"max":9}`, []string{"acquire_ms.p50", "4", "at most acquire_ms.p99, 3"}},
		"above the maximum":           {`"latency_ms":{"p50":1,"p99":2,"p999":7,"max":6}`, []string{"latency_ms.p999", "at most latency_ms.max, 6"}},
		"a peer's quantiles fall":     {`"peers":[{"node":"m","wait_ms":{"p50":2,"p99":1,"p999":3,"max":3}}]`, []string{"peers[0].wait_ms"}},
		"less than no error":          {`"errors":{"timeout":-3}`, []string{"errors.timeout", "-3"}},
		"a host that waits backwards": {`"hosts":[{"host":"a","late_wake_ms":-1}]`, []string{"hosts[0].late_wake_ms", "-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := result.Parse([]byte(`{"schema":"locklab/result/v1","results":[{"lock":"z","scenario":"b","workload":"c"},{"lock":"a","scenario":"b","workload":"c",` + test.row + `}]}`))
			if !errors.Is(err, result.ErrInvalid) {
				t.Fatalf("error %v, want ErrInvalid", err)
			}
			for _, part := range append(test.want, "results[1].") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

// TestEveryNumberIsAFigure, so that none is forgotten in a table.
func TestEveryNumberIsAFigure(t *testing.T) {
	full := result.Row{Errors: map[string]int64{"timeout": 1}, Matches: 1, MeasuredMS: 1, Duplicates: &result.Duplicates{Warmup: 1}, Hosts: []result.HostLoad{{CPUOthers: new(float64)}}}
	fill(reflect.ValueOf(&full).Elem())
	for _, f := range result.Figures() {
		if f.Measured {
			full.Measure(f.Field, 7)
		}
	}
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	delete(tree, "verdict") // what is expected is no figure of the run
	delete(tree, "tries")   // nor is what each repeat alone would have been called
	delete(tree, "rate_at_first")
	var check func(path string, v any)
	check = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, below := range v {
				check(strings.TrimPrefix(path+"."+name, "."), below)
			}
		case float64:
			f, known := result.Lookup(path)
			if have, ok := f.Of(full); !known || !ok || have != v {
				t.Errorf("%s: figure %v with %v (%v), want one with %v", path, known, have, ok, v)
			}
		}
	}
	check("", tree)
	seen := map[string]bool{}
	for _, f := range result.Figures() {
		if f.Column != "" && seen[f.Column] || f.Title == "" {
			t.Errorf("%+v: want a title, and a column of its own", f)
		}
		seen[f.Column] = true
		if _, ok := f.Of(full); f.Field != "" && !ok {
			t.Errorf("%s is no field of a row", f.Field)
		}
	}
}

// fill makes every pointer below v point to something.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
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
