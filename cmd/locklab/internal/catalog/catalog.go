// Package catalog says of each lock, and of each workload, all that the lab knows of it:
// how it is described, what its options are, which nodes it needs and what they are told,
// what its clients are made of. Nothing else names one.
package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/nearest"
	"locklab/locks"
	"locklab/nodes/process"
	"locklab/nodes/role"
	"locklab/nodes/topology"
)

// Entry describes a lock.
type Entry struct {
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
	Source  string   `json:"source,omitempty"` // of the algorithm
	Options string   `json:"options,omitempty"`
	Needs   []string `json:"needs"`   // roles besides master and worker, without a variant
	Control bool     `json:"control"` // expected to fail: it shows that the workload can
	Peers   bool     `json:"peers"`   // its clients talk to each other
	// Traits are what it is, by which scenarios know what to expect of it: without a variant.
	Traits locks.Traits `json:"traits"`

	// Describe gives the options of the lock with a variant, "" for none, and its variants.
	Describe func(variant string) (options []locks.Option, variants []locks.Variant) `json:"-"`

	bind    func(locks.Spec) (Lock, error)
	decode  func(jsontext.Value) (options any, err error)
	client  func(options any, env Env) (locks.Locker, error)
	servers []role.Role // of all variants
}

// Lock is an entry with the options that the user asked for, read.
type Lock struct {
	Entry
	Spec    locks.Spec
	Traits  locks.Traits // with its options
	Servers []Server
	// Lease is for how long a holder that is gone may keep the lock; 0 if it has no lease.
	Lease time.Duration
	// Away is how long a server that has lost its memory must stay away, so that what it
	// may have granted has run out: the lock's lease, or what its options say instead.
	Away time.Duration
	// Caveat is what a reader of the figures must be told, if anything.
	Caveat string
	Core   *Core // of a peer-to-peer lock
	// Disks are the roles whose nodes keep on a disk what the lock's answers wait for.
	Disks []string
	// Program says that the lock is one that the user brings.
	Program bool

	options any // as the lock's package has read them
	// far gives the options where a second is as long: see topology.Second. Nil if they are the same.
	far func(second time.Duration) any
}

// String is the lock's spec.
func (l Lock) String() string { return l.Spec.String() }

// Roles are those of all nodes that run with the lock.
func (l Lock) Roles() []string {
	roles := []string{role.Master, role.Worker}
	for _, s := range l.Servers {
		roles = append(roles, s.Name)
	}
	return roles
}

// Deciders are the roles of the nodes that give the lock: its servers, without those that only choose among
// them (Sentinels), or the masters.
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

// Part is what the lock needs of a topology. Of a role of which it needs a few nodes they
// are taken from one zone after the other.
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
	// Settings are a node's, given the others of its role as its host reaches them; with Dials given all
	// nodes that it dials, and itself, in the topology's order. A second is the topology's.
	Settings func(others []Member, second time.Duration) any
}

// binding is all that there is to say of one lock. O is its options.
type binding[O any] struct {
	name, summary, source string
	control               bool
	traits                func(O) locks.Traits
	parse                 func(locks.Spec) (O, error)
	// timeout is the option of that name and the longest it may be: unless it is given, it
	// follows the topology's second. Nil if there is none that does.
	timeout func(*O) (*time.Duration, time.Duration)
	client  func(O, Env) (locks.Locker, error)
	servers []server[O]
	lease   func(O) time.Duration // see Lock; nil if there is none
	away    func(O) time.Duration // see Lock; nil if it is the lease
	caveat  func(O) string        // see Lock
	disk    func(O) bool          // see Lock; nil if it has none
	core    func(O) Core          // of peer-to-peer locks
}

type server[O any] struct {
	role     role.Role
	settings func(o O, others []Member, second time.Duration) any
	nodes    func(O) int      // how many of the topology's: see Server; less than 0 are none; nil is all
	dials    func(O) []string // see Server; nil is nobody
}

func (b binding[O]) entry() Entry {
	e := Entry{Name: b.name, Summary: b.summary, Source: b.source, Control: b.control, Peers: b.core != nil, Needs: []string{}}
	for _, s := range b.servers {
		e.servers = append(e.servers, s.role)
	}
	e.Describe = func(variant string) ([]locks.Option, []locks.Variant) {
		options, variants, _ := locks.Describe(locks.Spec{Name: b.name, Variant: variant}, b.parse)
		return options, variants
	}
	e.Options = optionsText(e.Describe)
	e.decode = func(text jsontext.Value) (any, error) {
		var o O
		err := process.DecodeSettings(text, &o)
		return o, err
	}
	e.client = func(options any, env Env) (locks.Locker, error) { return b.client(options.(O), env) }
	e.bind = func(spec locks.Spec) (Lock, error) {
		o, err := b.parse(spec)
		if err != nil {
			return Lock{}, err
		}
		l := Lock{Entry: e, Spec: spec, Traits: locks.Traits{Agree: locks.AgreeUnknown}, options: o}
		if b.traits != nil {
			l.Traits = b.traits(o)
		}
		for _, s := range b.servers {
			nodes := 0
			if s.nodes != nil {
				nodes = s.nodes(o)
			}
			if nodes < 0 {
				continue
			}
			var dials []string
			if s.dials != nil {
				dials = s.dials(o)
			}
			l.Servers = append(l.Servers, Server{s.role, nodes, dials, func(others []Member, second time.Duration) any { return s.settings(o, others, second) }})
		}
		if _, given := spec.Options["timeout"]; b.timeout != nil && !given {
			l.far = func(second time.Duration) any {
				far := o
				limit, longest := b.timeout(&far)
				*limit = max(*limit, min(longest, time.Duration(float64(*limit)*second.Seconds())))
				return far
			}
		}
		if b.lease != nil {
			l.Lease = b.lease(o)
		}
		if l.Away = l.Lease; b.away != nil {
			l.Away = b.away(o)
		}
		if b.caveat != nil {
			l.Caveat = b.caveat(o)
		}
		if b.disk != nil && b.disk(o) {
			l.Disks = l.Deciders()
		}
		if b.core != nil {
			l.Core = new(b.core(o))
		}
		return l, nil
	}
	if plain, err := e.bind(locks.Spec{Name: b.name}); err == nil {
		e.Traits = plain.Traits
		for _, s := range plain.Servers {
			e.Needs = append(e.Needs, s.Name)
		}
	}
	return e
}

// optionsText lists the options of a lock and of its variants.
func optionsText(describe func(variant string) ([]locks.Option, []locks.Variant)) string {
	line := func(options []locks.Option) string {
		var texts []string
		for _, o := range options {
			texts = append(texts, o.String())
		}
		return strings.Join(texts, ", ")
	}
	plain, variants := describe("")
	all := []string{line(plain)}
	for _, v := range variants {
		options, _ := describe(v.Name)
		all = append(all, v.Name+": "+line(options))
	}
	return strings.Join(all, "; ")
}

// Missing says which server of the lock is not installed on this machine, and how to install it; nil if
// all are.
func (e Entry) Missing() (err error) {
	for _, s := range e.servers {
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

// PeerNames lists the peer-to-peer locks.
func PeerNames() (names []string) {
	for _, e := range Entries() {
		if e.Peers {
			names = append(names, e.Name)
		}
	}
	return names
}

// ServerRoles are the kinds of nodes that any of the locks needs.
func ServerRoles() (roles []role.Role) {
	for _, e := range Entries() {
		for _, r := range e.servers {
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
	if !known {
		return Lock{}, fmt.Errorf("unknown lock %q (known: %s)%s", spec.Name, strings.Join(Names(), ", "), nearest.Hint(spec.Name, Names()))
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

// ParsePeers reads the spec of a peer-to-peer lock, which has a Core.
func ParsePeers(text string) (Lock, error) {
	spec, err := locks.ParseSpec(text)
	if err != nil {
		return Lock{}, err
	}
	l, err := Bind(spec)
	if err != nil {
		return Lock{}, err
	}
	return l, l.CheckCore()
}

// CheckCore refuses locks without a core.
func (l Lock) CheckCore() error {
	if l.Core == nil {
		return fmt.Errorf("lock %q is no peer-to-peer lock with a pure core: want one of %s", l, strings.Join(PeerNames(), ", "))
	}
	return nil
}

// ParseList reads the values of a flag. A value holds one spec or several behind
// each other: "redlock:order=sequential,retry=fixed,raft" are two, because what
// reads key=value belongs to the spec before it. It may name those that the user brings.
func ParseList(flag string, values []string, own ...Lock) (all []Lock, err error) {
	for _, value := range values {
		for _, text := range splitSpecs(value) {
			spec, err := locks.ParseSpec(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", flag, err)
			}
			i := slices.IndexFunc(own, func(o Lock) bool { return o.String() == spec.String() })
			var l Lock
			if i >= 0 {
				l = own[i]
			} else if l, err = Bind(spec); err != nil {
				return nil, fmt.Errorf("%s: %w%s", flag, err, meant(all, spec))
			}
			if slices.ContainsFunc(all, func(o Lock) bool { return o.String() == l.String() }) {
				return nil, fmt.Errorf("%s: %q is named twice", flag, spec)
			}
			all = append(all, l)
		}
	}
	return all, nil
}

// meant says, of a name that is no lock's, that the lock before it has a variant or an option of
// that name.
func meant(before []Lock, spec locks.Spec) string {
	if _, known := find(spec.Name); known || len(before) == 0 {
		return ""
	}
	last := before[len(before)-1]
	if last.Describe == nil { // one of the user's
		return ""
	}
	options, variants := last.Describe(last.Spec.Variant)
	switch {
	case slices.ContainsFunc(variants, func(v locks.Variant) bool { return v.Name == spec.Name }):
		return fmt.Sprintf("; a variant stands behind a colon: %s:%s", last.Name, spec.Name)
	case slices.ContainsFunc(options, func(o locks.Option) bool { return o.Key == spec.Name }):
		return fmt.Sprintf("; an option has a value: %s:%s=VALUE", last.Name, spec.Name)
	}
	return ""
}

// splitSpecs cuts a list where a new spec begins. Blanks behind a comma count for nothing.
func splitSpecs(list string) (texts []string) {
	for field := range strings.SplitSeq(list, ",") {
		field = strings.TrimSpace(field)
		key, _, isPair := strings.Cut(field, "=")
		if !isPair || strings.Contains(key, ":") || len(texts) == 0 {
			texts = append(texts, field)
			continue
		}
		last := &texts[len(texts)-1]
		if strings.Contains(*last, ":") {
			*last += "," + field
		} else {
			*last += ":" + field
		}
	}
	return texts
}
