package reports_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"locklab/reports"
	"locklab/reports/series"
)

// TestNodesUseStandsWithItsRow: the table of what each node used, and the same over time
// with the fault shaded where a history has it.
func TestNodesUseStandsWithItsRow(t *testing.T) {
	dir := sample(t)
	read1 := func(ctx context.Context, path string) (series.History, error) {
		h, err := operations(ctx, path)
		if strings.Contains(path, "raft/zone-partition") {
			h.Usage = []series.Usage{{Node: "raft-a-1", BinMS: 1000, Bins: []series.UsageBin{{CPUs: 0.06, MemoryMiB: 44}, {CPUs: 0.09, MemoryMiB: 44, BytesPerS: 10240}}}}
		}
		return h, err
	}
	if err := reports.Generate(t.Context(), []string{dir}, "", read1); err != nil {
		t.Fatal(err)
	}
	page := string(read(t, dir, reports.EvidenceFile))
	_, after, _ := strings.Cut(page, "<summary>What each node used</summary>")
	used, _, _ := strings.Cut(after, "</details>")
	cells := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(strings.ReplaceAll(used, "</td>", "|"), "")
	for _, want := range []string{"raft-a-1ap-northeast-2a|0.0630|0.0900|44.0|7,010|9,020|", "worker-c-1–|–|–|–|0|0|", "up to 0.09, raft-a-1", "up to 10 KiB/s, raft-a-1"} {
		if !strings.Contains(cells, want) {
			t.Errorf("the page does not say %q: %s", want, cells)
		}
	}
	if !strings.Contains(used, "k-fault") {
		t.Error("the fault is not shaded")
	}
	if n := strings.Count(page, "What each node used</summary>"); n != 1 {
		t.Errorf("%d rows have it, want the one whose nodes are known", n)
	}
}
