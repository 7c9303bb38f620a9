// Package catalog lists the locks that the lab can test: how they are described,
// which nodes they need, and how a master builds its client of each.
package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/locks"
	"locklab/locks/lamport"
	"locklab/locks/local"
	"locklab/locks/multiphase"
	"locklab/locks/none"
	"locklab/locks/raftlock"
	"locklab/locks/redlock"
	"locklab/locks/ricartagrawala"
	"locklab/locks/twophase"
	"locklab/nodes/role"
)

// Entry is one lock of the catalog.
type Entry struct {
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
	Options string   `json:"options,omitempty"`
	Needs   []string `json:"needs"`   // roles besides master and worker
	Control bool     `json:"control"` // expected to fail: it shows that the workload can
	Peers   bool     `json:"peers"`   // its clients talk to each other

	check func(locks.Spec) error
	build func(locks.Spec, Env) (locks.Locker, error)
	lease func(locks.Spec) time.Duration // nil if there is none
}

// Lease is how long a server that has lost its memory must stay away, so that what it
// may have granted has run out: the lock's lease, or what the spec says instead
// (redlock:restart_delay). 0 if the lock has no lease. The spec has been checked.
func (e Entry) Lease(spec locks.Spec) time.Duration {
	if e.lease == nil {
		return 0
	}
	return e.lease(spec)
}

// Roles are those of all nodes that run with the lock.
func (e Entry) Roles() []string { return append([]string{role.Master, role.Worker}, e.Needs...) }

// Entries lists the catalog in the order in which reports show it.
func Entries() []Entry {
	return []Entry{
		{
			Name: "none", Control: true, Needs: []string{},
			Summary: "no lock: every acquisition is granted at once",
			check:   func(s locks.Spec) error { _, err := none.New(s); return err },
			build:   func(s locks.Spec, _ Env) (locks.Locker, error) { return none.New(s) },
		},
		{
			Name: "local", Control: true, Needs: []string{},
			Summary: "one mutex per resource inside each master: exact in one process, nothing beyond it",
			check:   func(s locks.Spec) error { _, err := local.New(s); return err },
			build:   func(s locks.Spec, _ Env) (locks.Locker, error) { return local.New(s) },
		},
		{
			Name: "multiphase", Peers: true, Needs: []string{},
			Summary: "peer-to-peer mutual exclusion with fixed priorities; no server; splits when the network does, but for the variant quorum",
			Options: multiphaseOptions,
			check:   func(s locks.Spec) error { _, err := multiphase.ParseOptions(s); return err },
			build:   buildMultiphase,
		},
		{
			Name: lamport.Name, Peers: true, Needs: []string{},
			Summary: "Lamport's queue of timestamped requests, acknowledged by every peer; a dead peer blocks it",
			Options: detectOptions,
			check:   func(s locks.Spec) error { _, err := lamport.ParseOptions(s); return err },
			build:   buildLamport,
		},
		{
			Name: ricartagrawala.Name, Peers: true, Needs: []string{},
			Summary: "Ricart and Agrawala's deferred replies: the fewest messages; a dead peer blocks it",
			Options: detectOptions,
			check:   func(s locks.Spec) error { _, err := ricartagrawala.ParseOptions(s); return err },
			build:   buildRicartAgrawala,
		},
		{
			Name: twophase.Name, Peers: true, Needs: []string{},
			Summary: "two-phase commit of a reservation at every master; a participant that is gone blocks it",
			Options: "delay, fair=on|off",
			check:   func(s locks.Spec) error { _, err := twophase.ParseOptions(s); return err },
			build:   buildTwoPhase,
		},
		{
			Name: "redlock", Needs: []string{role.Redis},
			Summary: "a quorum of independent Redis primaries, leases by expiry, no fencing token",
			Options: redlockOptions,
			check:   func(s locks.Spec) error { _, err := redlock.ParseOptions(s); return err },
			build:   buildRedlock,
			lease: func(s locks.Spec) time.Duration {
				o, _ := redlock.ParseOptions(s) // checked before
				if o.RestartDelay > 0 {
					return o.RestartDelay
				}
				return o.TTL
			},
		},
		{
			Name: "raft", Needs: []string{role.Raft},
			Summary: "a lock service on hashicorp/raft: log on disk, FIFO waiters, sessions, fencing tokens",
			Options: raftOptions,
			check:   func(s locks.Spec) error { _, err := raftlock.ParseOptions(s); return err },
			build:   buildRaft,
			lease: func(s locks.Spec) time.Duration {
				o, _ := raftlock.ParseOptions(s) // checked before
				return o.Lease
			},
		},
	}
}

// What `list locks` says of the options of each lock.
const (
	multiphaseOptions = "variant cohort: cohort=N; variant quorum: ttl, extend=on|off, store=disk|memory, view=on|off, cohort=N; but for quorum: rule=flow|literal, fair=on|off, view=on|off, rounds=on|off"
	detectOptions     = "detect=on|off"
	redlockOptions    = "order=parallel|sequential, retry=random|fixed, wake=poll|publish, delay, timeout, ttl, extend=on|off, persistence=none|everysec|always, restart_delay"
	raftOptions       = "lease, store=disk|memory, cancel"
)

// Names lists the names of all locks.
func Names() []string {
	var names []string
	for _, e := range Entries() {
		names = append(names, e.Name)
	}
	return names
}

// DefaultLocks are compared when the user names none.
func DefaultLocks() []string { return []string{"none", "local", "multiphase", "redlock", "raft"} }

// Lookup finds the entry of a spec and checks the spec's options.
func Lookup(spec locks.Spec) (Entry, error) {
	all := Entries()
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == spec.Name })
	if i < 0 {
		meant := ""
		if name := nearest(spec.Name, Names()); name != "" {
			meant = fmt.Sprintf("; did you mean %s?", name)
		}
		return Entry{}, fmt.Errorf("unknown lock %q (known: %s)%s", spec.Name, strings.Join(Names(), ", "), meant)
	}
	if err := all[i].check(spec); err != nil {
		return Entry{}, err
	}
	return all[i], nil
}

// ParseList reads the values of --locks. A value holds one spec or several behind
// each other: "redlock:order=sequential,retry=fixed,raft" are two, because what
// reads key=value belongs to the spec before it.
func ParseList(values []string) ([]locks.Spec, error) {
	if len(values) == 0 {
		values = DefaultLocks()
	}
	var texts []string
	for _, value := range values {
		begin := len(texts)
		for field := range strings.SplitSeq(value, ",") {
			key, _, isPair := strings.Cut(field, "=")
			if isPair && !strings.Contains(key, ":") && len(texts) > begin {
				texts[len(texts)-1] = join(texts[len(texts)-1], field)
				continue
			}
			texts = append(texts, strings.TrimSpace(field))
		}
	}
	var specs []locks.Spec
	seen := map[string]bool{}
	for _, text := range texts {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			return nil, fmt.Errorf("--locks: %w", err)
		}
		if _, err := Lookup(spec); err != nil {
			return nil, fmt.Errorf("--locks: %w", err)
		}
		if seen[spec.String()] {
			return nil, fmt.Errorf("--locks: %q is named twice", spec)
		}
		seen[spec.String()] = true
		specs = append(specs, spec)
	}
	return specs, nil
}

// join adds one more option to the text of a spec.
func join(spec, option string) string {
	if strings.Contains(spec, ":") {
		return spec + "," + option
	}
	return spec + ":" + option
}
