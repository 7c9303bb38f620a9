package progress_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/cmd/locklab/internal/progress"
)

func TestPlainLinesSayEachThingOnce(t *testing.T) {
	var out bytes.Buffer
	d := progress.New(&out, 2)
	d.Begin("redlock under baseline", 9*time.Second)
	for i := range 5 {
		d.Advance(time.Duration(i)*time.Second, fmt.Sprintf("measuring  %d matches", i))
	}
	d.Advance(6*time.Second, "draining")
	d.End("as expected")
	d.Note("a remark")
	d.Close()
	got := out.String()
	if strings.Count(got, "measuring") != 1 || strings.Count(got, "draining") != 1 {
		t.Errorf("what happens now should be said once per change:\n%s", got)
	}
	for _, want := range []string{"[1/2] redlock under baseline: about 9 s", "as expected", "a remark"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.ContainsAny(got, "\r\x1b") {
		t.Errorf("control characters where there is no terminal: %q", got)
	}
}
