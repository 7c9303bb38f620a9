package scenario_test

import (
	"os"
	"testing"

	"locklab/chaos/scenario"
)

func TestBuiltinScenariosAreRight(t *testing.T) {
	all, err := scenario.List()
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("builtin")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(all) {
		t.Errorf("%d files in builtin, %d names in Names", len(files), len(all))
	}
	for n, s := range all {
		if s.Name != scenario.Names()[n] {
			t.Errorf("file %s.yaml calls itself %q", scenario.Names()[n], s.Name)
		}
		if s.Summary == "" || len(s.Locks) == 0 {
			t.Errorf("%s: no summary or nothing expected", s.Name)
		}
	}
}
