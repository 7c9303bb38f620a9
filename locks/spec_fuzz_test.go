package locks_test

import (
	"testing"

	"locklab/locks"
)

// FuzzParseSpec: what is accepted is written so that it means the same when read again.
func FuzzParseSpec(f *testing.F) {
	f.Add("redlock")
	f.Add("multiphase:quorum,fair=off")
	f.Add("redlock:order=sequential,retry=fixed,ttl=1s")
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			return
		}
		again, err := locks.ParseSpec(spec.String())
		if err != nil || again.String() != spec.String() || again.Name != spec.Name || again.Variant != spec.Variant {
			t.Errorf("%q is %q, which is %q again: %v", text, spec, again, err)
		}
	})
}
