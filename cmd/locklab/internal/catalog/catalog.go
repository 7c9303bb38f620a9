// Package catalog binds each lock and each workload: its description and options, the nodes that it needs with their
// settings, and the making of its clients in the masters. A scenario's rules, a suite or a default may name one, too.
package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/nearest"
	"locklab/locks"
	"locklab/locks/adapters"
	"locklab/nodes/mariadbnode"
	"locklab/nodes/natsnode"
	"locklab/nodes/process"
	"locklab/nodes/role"
	"locklab/nodes/topology"
)

// Entry describes a lock.
type Entry struct {
	Name    string
	Summary string
	Source  string // of the algorithm
	Control bool   // expected to fail: it shows that the workload would tell
	Peers   bool   // its clients talk to each other
	// Traits are those without a variant: what the rules of scenarios go by.
	Traits locks.Traits

	// Describe gives the options of the lock with a variant, "" for none, and its variants.
	Describe func(variant string) (options []locks.Option, variants []locks.Variant)

	bind   func(locks.Spec) (Lock, error)
	decode func(jsontext.Value) (Lock, error) // of the options as a controller has read them
	roles  []role.Role                        // of the servers of all variants
}

// Lock is an entry with the user's options.
type Lock struct {
	Entry
	Spec    locks.Spec
	Traits  locks.Traits // with its options
	Servers []Server
	// Lease is for how long a holder that is gone may keep the lock; 0 if it has no lease.
	Lease time.Duration
	// Away is how long a server that lost its memory stays away, so that its grants run out.
	Away time.Duration
	// Caveat is a warning for readers of the figures, "" for none.
	Caveat string
	Core   *Core // of a peer-to-peer lock
	// OnDisk says that the deciders write to a disk before they answer.
	OnDisk  bool
	Program bool // the user brings it

	options any // as the lock's package has read them
	client  func(Env) (locks.Locker, error)
	// far gives the options for a topology with this Second, unless the user set the option timeout; nil: the same.
	far func(second time.Duration) any
}

// entry completes an entry: parse reads the options of the lock, and of makes a Lock of them.
func entry[O any](e Entry, parse func(locks.Spec) (O, error), of func(O) Lock) Entry {
	e.Describe = func(variant string) ([]locks.Option, []locks.Variant) {
		options, variants, _ := locks.Describe(locks.Spec{Name: e.Name, Variant: variant}, parse)
		return options, variants
	}
	e.decode = func(text jsontext.Value) (Lock, error) {
		var o O
		if err := process.DecodeSettings(text, &o); err != nil {
			return Lock{}, err
		}
		l := of(o)
		l.options = o
		return l, nil
	}
	e.bind = func(spec locks.Spec) (Lock, error) {
		o, err := parse(spec)
		if err != nil {
			return Lock{}, err
		}
		l := of(o)
		l.Entry, l.Spec, l.options, l.Away = e, spec, o, cmp.Or(l.Away, l.Lease)
		return l, nil
	}
	_, variants := e.Describe("")
	for _, v := range append([]locks.Variant{{}}, variants...) {
		l, _ := e.bind(locks.Spec{Name: e.Name, Variant: v.Name}) // without options none is wrong
		if v.Name == "" {
			e.Traits, e.Peers = l.Traits, l.Core != nil
		}
		for _, s := range l.Servers {
			if !slices.ContainsFunc(e.roles, func(r role.Role) bool { return r.Name == s.Name }) {
				e.roles = append(e.roles, s.Role)
			}
		}
	}
	return e
}

// String is the lock's spec.
func (l Lock) String() string { return l.Spec.String() }

// Texts are the specs of locks.
func Texts(all []Lock) (texts []string) {
	for _, l := range all {
		texts = append(texts, l.String())
	}
	return texts
}

// Roles are those of all nodes that run with the lock.
func (l Lock) Roles() []string {
	roles := []string{role.Master, role.Worker}
	for _, s := range l.Servers {
		roles = append(roles, s.Name)
	}
	return roles
}

// Deciders are the roles that grant the lock: its servers but for Sentinels, or the masters.
func (l Lock) Deciders() []string {
	if len(l.Servers) == 0 {
		return []string{role.Master}
	}
	var roles []string
	for _, s := range l.Servers {
		if s.Primary == nil {
			roles = append(roles, s.Name)
		}
	}
	return roles
}

// Starts is about how long its servers take until they are ready.
func (l Lock) Starts() (about time.Duration) {
	for _, s := range l.Servers {
		about += s.Starts
	}
	return about
}

// Part is what the lock needs of a topology. Where it needs only some nodes of a role, zones give them in turn.
func (l Lock) Part(t *topology.Topology) *topology.Topology {
	t = t.Subset(l.Roles()...)
	for _, s := range l.Servers {
		if s.Nodes > 0 {
			t = t.Reduced(s.Name, s.Nodes)
		}
	}
	return t
}

// Server is a kind of node that a lock needs.
type Server struct {
	role.Role
	Nodes int // of the topology's; 0 is all
	// Dials are the roles whose nodes it dials by their aliases; nil if it dials no other role.
	Dials []string
	// Settings makes those of a node from the others of its role, as its host reaches them; with Dials from all nodes that
	// it dials and itself, in the topology's order. nil: there are none.
	Settings func(others []Member, second time.Duration) any
}

// Missing is nil if this machine has all servers of the lock; else it names one, and how to install it.
func (e Entry) Missing() (err error) {
	for _, s := range e.roles {
		if s.Missing != nil && err == nil {
			err = s.Missing()
		}
	}
	return err
}

// Names lists the names of all locks.
func Names() (names []string) {
	for _, e := range Entries() {
		names = append(names, e.Name)
	}
	return names
}

// WithVariants lists all locks as NAME:VARIANT, those without one as NAME:.
func WithVariants() (all []string) {
	for _, e := range Entries() {
		all = append(all, e.Name+":")
		_, variants := e.Describe("")
		for _, v := range variants {
			all = append(all, e.Name+":"+v.Name)
		}
	}
	return all
}

// ServerRoles are the roles of all servers that a lock, or a lock program, may ask for.
func ServerRoles() []role.Role {
	roles := []role.Role{mariadbnode.Role(), natsnode.Role()}
	for _, e := range Entries() {
		for _, r := range e.roles {
			if !slices.ContainsFunc(roles, func(o role.Role) bool { return o.Name == r.Name }) {
				roles = append(roles, r)
			}
		}
	}
	return roles
}

// Bind finds the entry of a spec and reads the spec's options.
func Bind(spec locks.Spec) (Lock, error) {
	e, known := find(spec.Name)
	if _, library := adapters.Find(spec.Name); library {
		return Lock{}, fmt.Errorf("%s: a library takes no options here", spec)
	}
	if !known {
		all := Names()
		hint := nearest.Hint(spec.Name, slices.Concat(all, adapters.Names()))
		return Lock{}, fmt.Errorf("unknown lock %q (known: %s)%s", spec.Name, strings.Join(all, ", "), hint)
	}
	return e.bind(spec)
}

func find(name string) (Entry, bool) {
	for _, e := range entries() {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}
