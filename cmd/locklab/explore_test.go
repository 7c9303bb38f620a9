package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"locklab/internal/testfile"
)

// TestExploreCommand: what each call ends with, and what it says.
func TestExploreCommand(t *testing.T) {
	tests := []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"multiphase", "--peers", "3"}, exitOK, []string{
			"3 peers, any number of requests each, no give-up, no faults", "19,369 states", "never two holders",
			"safe within these bounds, and nothing is said beyond them: 3 peers, any number of requests each, no give-up, no faults",
		}},
		{[]string{"multiphase:rule=literal", "--peers", "3"}, exitViolated, []string{"two peers hold the lock, after 17 moves at the least", "LURKING", "ACQUIRED"}},
		{[]string{"multiphase", "--faults", "disconnect"}, exitViolated, []string{"2 cuts, no reconnection", "two peers hold the lock", "link breaks", "loses"}},
		{[]string{"multiphase", "--faults", "disconnect", "--cuts", "1", "--stuck", "anywhere"}, exitViolated, []string{"can never get the lock any more"}},
		{[]string{"multiphase:fair=off", "--bypass", "4"}, exitViolated, []string{"passed too often"}},
		{[]string{"multiphase:rounds=off", "--peers", "2", "--rounds", "2", "--give-ups", "any"}, exitViolated, []string{"gives up", "two peers hold"}},
		{[]string{"multiphase", "--faults", "reorder", "--give-ups", "1"}, exitViolated, []string{"messages overtake each other"}},
		{[]string{"multiphase:quorum", "--peers", "2", "--faults", "disconnect"}, exitOK, []string{"each above all before", "votes end after"}},
		{[]string{"multiphase:quorum", "--peers", "2"}, exitOK, []string{
			"2 peers, 1 request each, no give-up, no faults, no lease expiry, no renewal, votes end after the leases that rely on them",
		}},
		{[]string{"multiphase:quorum", "--peers", "2", "--expiries", "1", "--renewals", "1"}, exitOK, []string{"no faults, 1 lease expiry, 1 renewal, votes end after"}},
		{[]string{"multiphase:quorum", "--untimed"}, exitViolated, []string{"vote over", "two peers hold", "votes may not end after the leases that rely on them"}},
		{[]string{"multiphase:quorum", "--rounds", "1,1,0"}, exitOK, []string{"requests by peer: 1 1 0"}},
		{[]string{"multiphase:cohort", "--peers", "2"}, exitOK, []string{"no cohort forms, and nothing is said of one"}},
		{[]string{"lamport", "--peers", "2", "--faults", "crash", "--stuck", "anywhere"}, exitViolated, []string{"can never get the lock", "✖ crashes"}},
		{[]string{"ricart-agrawala", "--rounds", "1"}, exitOK, []string{"1 request each"}},
		{[]string{"2pc", "--peers", "2", "--faults", "crash,reconnect"}, exitOK, []string{"1 crash, any number of reconnections", "starts again and knows nothing"}},
		{[]string{"multiphase", "--states-max", "5000"}, exitInconclusive, []string{"undecided", "--states-max", "as far as was seen, up to", "moves away: 3 peers"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			code, out, message := callWith(t.Context(), append([]string{"explore"}, tt.args...)...)
			if code != tt.code {
				t.Errorf("exit %d, want %d: %s", code, tt.code, message)
			}
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("does not say %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestExploreBadInput: every mistake is named, with what would be right.
func TestExploreBadInput(t *testing.T) {
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"redlock"}, []string{"redlock", "multiphase, lamport, ricart-agrawala, 2pc"}},
		{[]string{"zookeper"}, []string{"zookeper", "multiphase"}},
		{[]string{"multiphase:rule=other"}, []string{"rule=other", "flow"}},
		{[]string{"multiphase", "--peers", "1"}, []string{"--peers", "2 to 8"}},
		{[]string{"multiphase", "--peers", "many"}, []string{"--peers", "many"}},
		{[]string{"multiphase", "--rounds", "1,1"}, []string{"--rounds [1 1]", "one number, or 3"}},
		{[]string{"multiphase", "--rounds", "1,-1,0"}, []string{"--rounds", "0 to 250"}},
		{[]string{"multiphase", "--rounds", "often"}, []string{"--rounds", `"often"`, "any"}},
		{[]string{"multiphase", "--give-ups", "-3"}, []string{"--give-ups", "any"}},
		{[]string{"multiphase", "--faults", "earthquake"}, []string{"--faults", "earthquake", "disconnect"}},
		{[]string{"multiphase", "--cuts", "-1"}, []string{"--cuts", "0 to 250"}},
		{[]string{"multiphase", "--stuck", "here"}, []string{"--stuck", "healed, anywhere or off"}},
		{[]string{"multiphase", "--states-max", "-1"}, []string{"--states-max"}},
		{[]string{"multiphase:cohort", "--bypass", "4"}, []string{"--bypass", "one client at each", "without a cohort"}},
		{[]string{}, []string{"want locklab explore LOCK"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			code, _, message := callWith(t.Context(), append([]string{"explore"}, tt.args...)...)
			if code != exitCannotRun {
				t.Errorf("exit %d, want %d", code, exitCannotRun)
			}
			for _, want := range tt.want {
				if !strings.Contains(message, want) {
					t.Errorf("%q does not say %q", message, want)
				}
			}
		})
	}
}

// TestExploreGolden: all that does not depend on the machine, to the letter.
func TestExploreGolden(t *testing.T) {
	_, out, _ := callWith(t.Context(), "explore", "multiphase:rule=literal", "--peers", "3")
	out = regexp.MustCompile(`(?m)^speed .*\n`).ReplaceAllString(out, "")
	testfile.Golden(t, "testdata/explore-literal.txt", out)
}

// TestExploreInterrupted: what there is is told, and the exit code says why.
func TestExploreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, out, _ := callWith(ctx, "explore", "multiphase", "--rounds", "2", "--give-ups", "any")
	if code != exitInterrupted || !strings.Contains(out, "interrupted") || !strings.Contains(out, "states") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}
