package scenario_test

import (
	"testing"

	"locklab/chaos/scenario"
)

func TestBuiltinScenariosAreRight(t *testing.T) {
	all, err := scenario.List()
	if err != nil {
		t.Fatal(err)
	}
	for n, s := range all {
		if s.Name != scenario.Names()[n] || s.Summary == "" || len(s.Locks) == 0 {
			t.Errorf("file %s.yaml calls itself %q, or has no summary, or expects nothing", scenario.Names()[n], s.Name)
		}
	}
	if len(all) == 0 || len(all[0].Timeline) > 0 {
		t.Error("the first one breaks something")
	}
}
