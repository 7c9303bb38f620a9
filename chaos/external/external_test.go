package external_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"locklab/chaos/external"
	"locklab/internal/must"
	"locklab/internal/testfile"
	"locklab/locks/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is an executable file in a directory of its own.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	return path
}

func parse(t *testing.T, name, start, stop string) external.Programs {
	t.Helper()
	p, err := external.Parse([]string{name + "=" + start + "," + stop})
	must.Do(t, err)
	return p
}

func TestProgramsGetTheWordsAndNothingElse(t *testing.T) {
	t.Setenv("LOCKLAB_TOKEN", "a secret")
	said := filepath.Join(t.TempDir(), "said")
	t.Setenv("SAID", said)
	note := `printf '%s' "$0 $# $* ${LOCKLAB_TOKEN-none}" >>"$SAID"; printf '|' >>"$SAID"; cat >>"$SAID"`
	start, stop := script(t, note), script(t, note)
	p := parse(t, "fis", start, stop)
	run := []string{"fis", "c", "zone-1"}
	must.Do(t, errors.Join(p.Check(run), p.Start(t.Context(), run), p.Stop(t.Context(), run)))
	got := testfile.Read(t, said)
	if want := start + " 2 c zone-1 none|" + stop + " 2 c zone-1 none|"; string(got) != want {
		t.Errorf("programs say %q, want %q", got, want)
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	good := script(t, "")
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	testfile.Write(t, plain, "")
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{""}, "want NAME=START,STOP"},
		{[]string{"fis=" + good + "," + good + "," + good}, "want NAME=START,STOP"},
		{[]string{"F I S=" + good + "," + good}, "want NAME=START,STOP"},
		{[]string{"fis=program," + good}, `program "program": want an absolute path`},
		{[]string{"fis=" + good + "," + dir + "/missing"}, "missing: want an executable file"},
		{[]string{"fis=" + good + "," + plain}, "want an executable file"},
		{[]string{"fis=" + good + "," + good, "fis=" + good + "," + good}, "fis is there already"},
	} {
		if _, err := external.Parse(c.flags); !errors.Is(err, external.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %s", c.flags, err, c.want)
		}
	}
}

func TestUnknownProgramsAreNotAllowed(t *testing.T) {
	for want, p := range map[string]external.Programs{
		"allowed are fis: want --external other=START,STOP": parse(t, "fis", script(t, ""), script(t, "")),
		"none is allowed": {},
	} {
		if err := p.Check([]string{"other", "c"}); !errors.Is(err, external.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

func TestFailureShowsWhatTheProgramSaid(t *testing.T) {
	p := parse(t, "fis", script(t, `echo "no template for zone $1" >&2; echo "second line" >&2; exit 3`), script(t, "kill -9 $$"))
	err := p.Start(t.Context(), []string{"fis", "c"})
	if err == nil || !strings.Contains(err.Error(), "program c: exit status 3: no template for zone c second line") {
		t.Errorf("error %v", err)
	}
	if err := p.Stop(t.Context(), []string{"fis"}); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("error %v", err)
	}
}

// TestAbortAsksTheProgramToEnd: it may tidy up, and what it leaves behind ends too.
func TestAbortAsksTheProgramToEnd(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DIR", dir)
	p := parse(t, "fis", script(t, `trap 'echo tidied >"$DIR/tidied"; exit 1' TERM
echo "$$" >"$DIR/pid.new"; mv "$DIR/pid.new" "$DIR/pid"
while :; do sleep 0.05; done`), script(t, ""))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- p.Start(ctx, []string{"fis"}) }()
	for {
		if _, err := os.Stat(filepath.Join(dir, "pid")); err == nil {
			break
		}
		if err, ended := clock.Await(clock.System(), 5e6, result); ended {
			t.Fatalf("it ended by itself: %v", err)
		}
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "ended before it was done") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "tidied")); err != nil {
		t.Errorf("the program was not asked: %v", err)
	}
}
