package fault

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"locklab/workloads/history"
)

// The effects that an external fault can have.
const (
	effectPartition = "partition" // the target's hosts and all others cannot reach each other
	effectStop      = "stop"      // the target's hosts go away, with their agents, and come back
)

// longSilence is how long traffic must be silent to prove an external fault. Such a fault may begin minutes
// late; in that time a busy machine causes many shorter silences.
const longSilence = time.Second

// externalKind is a fault that the lab cannot make itself: programs that the user allowed begin and end it.
// Probes prove it like any other fault.
func externalKind() Kind {
	return Kind{
		Name: "external", Summary: "a pair of programs breaks what the lab cannot; probes prove its effect",
		Exits: history.ExitsSignal,
		Fields: []Field{
			{
				"run", "[fis, c, stop]", "the name of a pair of programs that run --external allows, and up to 7 words for them",
				true,
			},
			{"effect", "stop", "what probes have to find: partition (its hosts and all others are cut off) or stop (its " +
				"hosts are gone)", true},
			{"target", "zone:c", "whom it hits: zone: or host: and a name, or first-zone", true},
		},
		read: readExternal,
	}
}

func readExternal(f fields) Fault {
	run := f.need("run").Texts()
	if err := CheckRun(run); err != nil {
		f.Get("run").Fail("%v", err)
	}
	effect := f.need("effect").OneOf(effectPartition, effectStop)
	target := f.target(FirstZone, "zone", "host")
	fault := Fault{Target: target.String() + " (" + strings.Join(run, " ") + ")", Run: run}
	fault.plan = func(_ context.Context, _ string, sc scene) (Plan, error) {
		p, err := sc.pairs(sides{target, selector{kind: Others}, true})
		p.External, p.Proof = run, silent{longSilence}
		if err == nil && effect == effectStop {
			p.Proof, p.Gone = away{}, p.From
			for _, n := range sc.Nodes {
				if slices.Contains(p.Gone, n.Host) {
					p.Lost = append(p.Lost, n.Name)
				}
			}
		}
		return p, err
	}
	if effect == effectPartition {
		fault.Cut = "dropped" // assumed: the lab does not know how it cuts
	}
	return fault
}

// maxWords bounds the words of an external fault, its name included.
const maxWords = 8

// CheckRun checks the words of an external fault: the name of a pair of programs and their arguments. A word
// cannot be an option, a path or shell syntax.
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

// away proves that hosts are gone: the controller does not reach them, and hosts that probe them get no
// answer.
type away struct{ silent }

func (away) Begun(c *Change, now Reports) (int64, error) {
	for _, host := range c.Plan.Gone {
		if _, reports := now[host]; reports {
			return 0, fmt.Errorf("host %s still answers the controller", host)
		}
	}
	return c.every(now, func(c *Change, now Reports, pair Pair) (int64, bool, error) {
		if !slices.Contains(c.Plan.Gone, pair.To) {
			return 0, false, nil
		}
		return silent{longSilence}.unanswered(c, now, pair)
	})
}

// Ended proves that the controller reaches the hosts again. Their probes may not work: a restarted host has
// lost its links.
func (away) Ended(c *Change, now Reports) (last int64, err error) {
	for n, host := range c.Plan.Gone {
		report, reports := now[host]
		if !reports {
			return 0, fmt.Errorf("host %s is not back", host)
		}
		if n == 0 || report.At > last {
			last = report.At
		}
	}
	return last, nil
}
