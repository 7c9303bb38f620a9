package fault

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// The effects that an external fault can have.
const (
	EffectPartition = "partition" // the target's hosts and all others cannot reach each other
	EffectStop      = "stop"      // the target's hosts go away, with their agents, and come back
)

// external is a fault that the lab cannot make itself: programs that the user
// allowed begin and end it. What they do is not believed but proven, like a fault of
// the lab's own.
func external() Kind {
	return Kind{
		Name:    "external",
		Summary: "a pair of programs (run --external) breaks what the lab cannot; probes prove the effect, partition or stop",
		Fields:  []string{"run", "effect", "target"},
		needs:   []string{"run", "effect", "target"},
		check:   checkExternal,
		plan:    planExternal,
	}
}

func checkExternal(s Spec) *FieldError {
	if err := CheckRun(s.Run); err != nil {
		return &FieldError{"run", err.Error()}
	}
	if s.Effect != EffectPartition && s.Effect != EffectStop {
		return &FieldError{"effect", fmt.Sprintf("%q: want %s or %s", s.Effect, EffectPartition, EffectStop)}
	}
	if !strings.HasPrefix(s.Target, "zone:") && !strings.HasPrefix(s.Target, "host:") {
		return &FieldError{"target", fmt.Sprintf("%q: want zone:NAME or host:NAME", s.Target)}
	}
	return nil
}

// maxWords bounds what a program is given.
const maxWords = 8

// CheckRun says what is wrong with the words of an external fault: the name of a
// pair of programs and their arguments. A word cannot be an option, a path or
// anything that a shell would understand.
func CheckRun(run []string) error {
	if len(run) == 0 || len(run) > maxWords {
		return fmt.Errorf("want a name and up to %d arguments, such as [fis, c, partition]", maxWords-1)
	}
	word := regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)
	for _, w := range run {
		if !word.MatchString(w) {
			return fmt.Errorf("%q: want words of up to 32 lower-case letters, digits and dashes", w)
		}
	}
	return nil
}

func planExternal(_ context.Context, _ string, s Spec, sc scene) (Plan, error) {
	from, to, pairs, err := sc.pairs(Spec{Between: []string{s.Target, Others}})
	if err != nil {
		return Plan{}, err
	}
	p := Plan{External: s.Run, Pairs: pairs, From: from, To: to, Evidence: Silent}
	if s.Effect == EffectStop {
		p.Evidence, p.Gone = Away, from
		if p.Lost, err = sc.namedNodes(s.Target); err != nil {
			return Plan{}, err
		}
	}
	return p, nil
}
