package program_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"locklab/internal/testfile"
	"locklab/locks/program"
)

// conform gives what was found, by rule, up to one of them.
func conform(ctx context.Context, c program.Command, last string) (map[string]program.Finding, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found := map[string]program.Finding{}
	err := program.Conform(ctx, program.Subject{Command: c, Stderr: os.Stderr}, func(f program.Finding) {
		if found[f.Rule] = f; f.Rule == last {
			cancel()
		}
	})
	if ctx.Err() != nil {
		err = nil
	}
	return found, err
}

func TestGoodClientConforms(t *testing.T) {
	found, err := conform(t.Context(), commandOf(t, t.TempDir(), good), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 15 {
		t.Errorf("%d rules were looked at, want 15", len(found))
	}
	for name, f := range found {
		if f.Err != nil {
			t.Errorf("%s: %v", name, f.Err)
		}
		if (f.Unchecked != "") != (name == "cut-off") { // there is no server
			t.Errorf("%s: unchecked: %q", name, f.Unchecked)
		}
	}
}

// TestBrokenClientsAreRejected looks at all of them at once: they mostly wait.
func TestBrokenClientsAreRejected(t *testing.T) {
	var all sync.WaitGroup
	defer all.Wait()
	for manner, want := range map[string][2]string{ // the rule that must miss it, and what it says, late or not at all
		everybody:    {"exclusive", "granted"},
		keeps:        {"handover", "only when the lease of the one before had ended"},
		noDeadline:   {"deadline", "no answer within"},
		oneByOne:     {"parallel", "nothing else is granted before a waiter has its answer"},
		noGivingUp:   {"give-up", "acquire of a waiter that was released"},
		losesAll:     {"kept", "after it was asked for, 3 times of 3"},
		endsAtOnce:   {"kept", "after it was asked for, 3 times of 3"},
		sameToken:    {"tokens", "a hold has token 1, and the one before had token 1"},
		askToken:     {"tokens", ", and the one before had token "},
		noEnd:        {"end", "did not end within"},
		talksFirst:   {"hello", `the line "starting up"`},
		forgetsCrash: {"crash", "what a killed program held"},
	} {
		command := commandOf(t, t.TempDir(), manner)
		all.Go(func() {
			found, err := conform(t.Context(), command, want[0])
			if err != nil {
				t.Errorf("%s: %v", manner, err)
			}
			if f := found[want[0]]; f.Err == nil || !strings.Contains(f.Err.Error(), want[1]) {
				t.Errorf("%s: %s: %v, want an error with %q", manner, want[0], f.Err, want[1])
			}
		})
	}
}

// TestTheFirstHelloIsWhole: a program may rely on all that README.md says of hello.
func TestTheFirstHelloIsWhole(t *testing.T) {
	heard := filepath.Join(t.TempDir(), "heard")
	c := program.Command{Args: []string{"/bin/sh", "-c", `read line; echo "$line" >'` + heard + `'; echo '{"op":"hello","version":1}'; read line`}, Dir: t.TempDir()}
	look := func(name string) {
		var hello map[string]any
		if err := json.Unmarshal(testfile.Read(t, heard), &hello); err != nil {
			t.Fatal(err)
		}
		_, lists := hello["servers"].([]any)
		if hello["version"] != 1.0 || hello["client"] == nil || !lists || len(hello) != 4 {
			t.Errorf("%s: %v, want op, version, client and servers", name, hello)
		}
	}
	if _, err := program.Describe(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	look("describe")
	if _, err := conform(t.Context(), c, "hello"); err != nil {
		t.Fatal(err)
	}
	look("conform")
}

// TestADeathIsToldAndNothingElse: a program that dies has broken no rule, and what it wrote
// says why it died.
func TestADeathIsToldAndNothingElse(t *testing.T) {
	for last, text := range map[string]string{
		"hello": `read line; echo "KeyError: 'client'" >&2; exit 1`,
		"free":  `read line; echo '{"op":"hello","version":1}'; read line || exit 0; echo "KeyError: 'client'" >&2; exit 1`,
	} {
		c := program.Command{Args: []string{"/bin/sh", "-c", text}, Dir: t.TempDir()}
		found, err := conform(t.Context(), c, "")
		if err != nil {
			t.Fatal(err)
		}
		f := found[last]
		if !f.Died || f.Err == nil || !strings.Contains(f.Err.Error(), "exit status 1") || !strings.Contains(f.Err.Error(), "KeyError: 'client'") {
			t.Errorf("%s: %+v, want its death and what it wrote", last, f)
		}
		for name, other := range found {
			if name != last && other.Err != nil {
				t.Errorf("%s: %s: %v", last, name, other.Err)
			}
		}
		if _, judged := found["exclusive"]; judged {
			t.Errorf("%s: other rules were judged", last)
		}
	}
}
