package scenario

import (
	"cmp"
	_ "embed" // the rules
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/chaos/fault"
	"locklab/internal/strictyaml"
	"locklab/locks"
	"locklab/workloads/history"
)

// NotJudged is expected where both outcomes are right.
const NotJudged = "not-judged"

// Expectation is what the rules expect of one lock, with the rules that decided.
type Expectation struct {
	history.Expect
	SafetyBy, LivenessBy Rule
}

// defaultServed is the share expected where nothing is broken.
const defaultServed = 0.99

//go:embed rules.yaml
var general []byte

// generalRules reads the rules for all scenarios, which come after their own.
func generalRules() ([]Rule, error) {
	const file = "rules.yaml"
	doc, err := strictyaml.Parse(file, general, ErrInvalid)
	if err != nil {
		return nil, err
	}
	f := doc.Root.Fields("safety", "liveness")
	return slices.Concat(readRules(f.Get("safety"), file, ""), readRules(f.Get("liveness"), file, "")), doc.Err()
}

// traitFields are the conditions on the lock itself, which no fault changes.
func traitFields() []string { return []string{"lock", "agree", "lease", "keeps", "replica"} }

// facts lists the words that a rule can use, by condition.
func facts() map[string][]string {
	var kinds []string
	for _, k := range fault.Kinds() {
		kinds = append(kinds, k.Name)
	}
	return map[string][]string{
		"agree": {
			locks.AgreeUnknown, locks.AgreeNobody, locks.AgreeServer, locks.AgreeServers, locks.AgreePeers,
			locks.AgreeConnected, locks.AgreeAll,
		},
		"lease":     {none, locks.LeaseOwn, locks.LeaseServer, locks.LeaseClient, locks.LeaseRelease},
		"keeps":     {none, locks.KeepsNothing, locks.KeepsSyncedLater, locks.KeepsEverything},
		"replica":   {none, locks.ReplicaAsync, locks.ReplicaAcked},
		"fault":     append(kinds, none),
		"target":    {history.AimHolder, history.AimLeader, history.AimPrimary, "other"},
		"left":      {leftAll, leftEnough, leftTooFew},
		"cut":       append(fault.Cuts(), none),
		"clients":   {none, "killed", "paused", "clock"},
		"restarted": {none, "at-once", "within-a-lease", "after-a-lease"},
		"failover":  {none, "possible"},
		"masters":   {"one", "more"},
	}
}

// readRules reads a list of rules; source is the default of their Source.
func readRules(n strictyaml.Node, file, source string) (rules []Rule) {
	known := facts()
	for _, item := range n.List() {
		f := item.Fields("when", "safety", "liveness", "served", "not_for", "why", "source")
		r := Rule{
			Safety: f.Get("safety").OneOf("safe", "unsafe", NotJudged), Served: readShare(f.Get("served")),
			NotFor: f.Get("not_for").Text(),
			Why:    f.Get("why").Text(), Source: cmp.Or(f.Get("source").Text(), source), File: file, Line: item.Line(),
			when: map[string][]string{},
		}
		if liveness := f.Get("liveness"); liveness.Given() {
			for _, one := range several(liveness) {
				r.Liveness = append(r.Liveness, one.OneOf("live", "stalls", "down", NotJudged))
			}
			if len(r.Liveness) > 1 && slices.Contains(r.Liveness, NotJudged) {
				liveness.Fail("want %s alone, or one or more of live, stalls, down", NotJudged)
			}
		}
		says := f.Get("safety").Given() || f.Get("liveness").Given() || f.Get("served").Given()
		when := f.Get("when").Fields(append([]string{"lock"}, slices.Sorted(maps.Keys(known))...)...)
		happens := func(field string) bool { return !slices.Contains(traitFields(), field) }
		switch not := f.Get("not_for"); {
		case not.Given() && (says || not.Text() == ""):
			not.Fail("want only why the scenario does not apply, and nothing that is expected")
		case not.Given() && slices.ContainsFunc(when.Names(), happens):
			when.Fail("want only %s where the scenario does not apply: nothing is hit then", strings.Join(traitFields(), ", "))
		case !not.Given() && !says:
			item.Fail("want safety, liveness, served or not_for")
		}
		for _, field := range when.Names() {
			for _, one := range several(when.Get(field)) {
				if field != "lock" {
					r.when[field] = append(r.when[field], one.OneOf(known[field]...))
					continue
				}
				spec, err := locks.ParseSpec(one.Text())
				if err != nil {
					one.Fail("%v", err)
				}
				r.locks = append(r.locks, spec)
			}
		}
		rules = append(rules, r)
	}
	return rules
}

// several returns the items of a list, or a single word as a list of one.
func several(n strictyaml.Node) []strictyaml.Node {
	if n.IsList() {
		return n.Some("one word or more")
	}
	return []strictyaml.Node{n}
}

// readShare reads 99%.
func readShare(n strictyaml.Node) *float64 {
	if !n.Given() {
		return nil
	}
	p, ok := strictyaml.Percent(n.Text())
	if !ok {
		n.Fail("%q: want a share of the operations, 0%% to 100%%", strings.TrimSpace(n.Text()))
	}
	return new(p / 100)
}

// fits says whether the rule applies to the lock and the facts.
func (r Rule) fits(lock locks.Spec, is map[string][]string) bool {
	named := len(r.locks) == 0 || slices.ContainsFunc(r.locks, func(s locks.Spec) bool { return covers(s, lock) })
	for field, wanted := range r.when {
		if slices.ContainsFunc(is[field], func(word string) bool { return !slices.Contains(wanted, word) }) ||
			len(is[field]) == 0 {
			return false
		}
	}
	return named
}

// covers says whether a spec names the lock: its name, and its variant and options where given.
func covers(s, lock locks.Spec) bool {
	if s.Name != lock.Name || s.Variant != "" && s.Variant != lock.Variant {
		return false
	}
	for key, value := range s.Options {
		if lock.Options[key] != value {
			return false
		}
	}
	return true
}

// NotFor returns why the scenario does not apply to a lock: the first rule that fits its traits decides.
func (s Scenario) NotFor(spec locks.Spec, traits locks.Traits) error {
	is := traitsOf(traits)
	i := slices.IndexFunc(s.Rules, func(r Rule) bool { return r.fits(spec, is) })
	if i < 0 || s.Rules[i].NotFor == "" {
		return nil
	}
	return fmt.Errorf("%s:%d: %s", s.Rules[i].File, s.Rules[i].Line, s.Rules[i].NotFor)
}

// Expect returns what the rules expect of a lock under the planned faults.
func (s Scenario) Expect(lock Lock, plans []Planned) (e Expectation) {
	var served *float64
	is := lock.facts(plans)
	for _, r := range s.Rules {
		if !r.fits(lock.Spec, is) {
			continue
		}
		if e.SafetyBy.Safety == "" && r.Safety != "" {
			e.SafetyBy = r
		}
		speaks := len(e.LivenessBy.Liveness) == 0 && len(r.Liveness) > 0
		if served == nil && r.Served != nil && (speaks || len(r.Liveness) == 0) {
			served = r.Served
		}
		if speaks {
			e.LivenessBy = r
			if served == nil && len(plans) > 0 {
				served = new(0.0)
			}
		}
	}
	if e.SafetyBy.Safety != NotJudged {
		e.Safety = e.SafetyBy.Safety
	}
	if !slices.Contains(e.LivenessBy.Liveness, NotJudged) {
		e.Liveness = e.LivenessBy.Liveness
	}
	if len(plans) > 0 {
		e.Availability.During = *cmp.Or(served, new(0.0))
	} else {
		e.Availability.Outside = *cmp.Or(served, new(defaultServed))
	}
	return e
}
