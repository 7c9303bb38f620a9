package reports_test

import (
	"strings"
	"testing"

	"locklab/reports"
	"locklab/reports/result"
)

// TestClocksOfSeveralMachinesAreShown, and nothing is said of one machine.
func TestClocksOfSeveralMachinesAreShown(t *testing.T) {
	dir := sample(t)
	generate(t, []string{dir}, "")
	for _, name := range []string{reports.PageFile, reports.MarkdownFile} {
		if text := string(read(t, dir, name)); strings.Contains(text, "Clocks") {
			t.Errorf("%s speaks of clocks, but there was one machine", name)
		}
	}
	edit(t, dir, func(f *result.File) {
		f.Run.Clocks = []result.Clock{
			{Host: "redis-a-1", OffsetNS: -3_600_000_001_000, ErrorNS: 412_300, KernelMaxErrorUS: 1310, Synced: true},
			{Host: "a<b|c", OffsetNS: 2_000_000, ErrorNS: 5_000_000, KernelMaxErrorUS: 16_000_000},
		}
	})
	generate(t, []string{dir}, "")
	for name, want := range map[string][]string{
		reports.MarkdownFile: {
			"## Clocks", "| redis-a-1 | -1h0m0.000001s | 412 | 1,310 |", `| a&lt;b\|c | 2ms | 5,000 | not synchronised |`,
		},
		reports.PageFile: {
			`id="clocks-h">Clocks<`, `<th scope="row">redis-a-1</th><td class="num" data-label="offset">-1h0m0.000001s</td><td class="num" data-label="error, µs">412</td><td class="num" data-label="its wall clock, by its kernel, µs">1,310</td>`,
			`<th scope="row">a&lt;b|c</th>`, "not synchronised",
		},
	} {
		text := string(read(t, dir, name))
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %s", name, part)
			}
		}
	}
}
