package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/locks"
	"locklab/locks/adapters"
	"locklab/locks/program"
)

// Programs are the commands of the user's locks, by their names.
type Programs map[string]program.Command

// ParsePrograms reads the values of --lock-cmd, NAME=COMMAND, once for each lock.
func ParsePrograms(values []string) (Programs, error) {
	all := Programs{}
	for _, text := range values {
		name, command, _ := strings.Cut(text, "=")
		spec, err := locks.ParseSpec(name)
		if err != nil || spec.String() != spec.Name || command == "" {
			return nil, fmt.Errorf("--lock-cmd %q: want NAME=COMMAND, such as mine='./client --flag', "+
				"and a name of lower-case letters, digits and dashes", text)
		}
		if _, known := find(name); known {
			return nil, fmt.Errorf("--lock-cmd %q: %s is a lock of locklab: want another name", text, name)
		}
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("--lock-cmd %q: %s is there already: want another name", text, name)
		}
		if all[name], err = program.ParseCommand(command); err != nil {
			return nil, fmt.Errorf("--lock-cmd %s: %w", name, err)
		}
	}
	return all, nil
}

// OfProgram is the lock of a program with this hello. Its servers have the default options of the lab's own locks.
func OfProgram(name string, command program.Command, hello program.Hello) (Lock, error) {
	l := Lock{
		Entry:   Entry{Name: name, Summary: "a program of the user's: " + command.String()},
		Spec:    locks.Spec{Name: name, Options: map[string]string{}},
		Traits:  locks.Traits{Agree: locks.AgreeUnknown, Tokens: hello.Tokens},
		Lease:   hello.Lease,
		Away:    hello.Lease,
		OnDisk:  true, // as far as the lab knows
		Program: true,
		Caveat: fmt.Sprintf("%s is a program of the user's (%s): where a scenario does not name it, it is expected to be "+
			"safe, to serve 99 %% of the requests outside of faults, and to be live where nothing is broken; "+
			"whether it goes on during a fault is not judged", name, command),
	}
	for _, need := range hello.Servers {
		s, err := serverOf(need.Role)
		if err != nil {
			return Lock{}, fmt.Errorf("lock %s: its hello: %w", name, err)
		}
		s.Nodes = need.Nodes
		l.Servers = append(l.Servers, s)
		l.roles = append(l.roles, s.Role)
	}
	return l, nil
}

// OfAdapter is the lock of a library. Its traits are known, so the rules of scenarios apply to it.
func OfAdapter(a adapters.Adapter, command program.Command, hello program.Hello) (Lock, error) {
	l, err := OfProgram(a.Name, command, hello)
	l.Summary, l.Source, l.Caveat, l.Entry.Traits = a.Summary, a.Source, "", a.Traits
	l.Traits, l.Lease = a.Traits, cmp.Or(l.Lease, a.Lease)
	l.Traits.Tokens = hello.Tokens
	return l, err
}

// serverOf is the server of that role, as the first lock with such a server has it by default.
func serverOf(name string) (Server, error) {
	for _, e := range Entries() {
		l, err := e.bind(locks.Spec{Name: e.Name})
		if err != nil {
			return Server{}, err
		}
		if i := slices.IndexFunc(l.Servers, func(s Server) bool { return s.Name == name }); i >= 0 {
			return l.Servers[i], nil
		}
	}
	var known []string
	for _, r := range ServerRoles() {
		if r.Name == name { // no lock of the lab has it
			return Server{Role: r, Settings: func([]Member, time.Duration) any { return struct{}{} }}, nil
		}
		known = append(known, r.Name)
	}
	return Server{}, fmt.Errorf("no server has the role %q: want one of %s", name, strings.Join(known, ", "))
}

func programClient(env Env) (locks.Locker, error) {
	var servers []program.Server
	for _, s := range env.Settings.Servers {
		servers = append(servers, program.Server{Name: s.Name, Role: s.Role, Addr: s.Addr})
	}
	return program.New(program.Config{
		Command: env.Command, Client: env.Settings.Cluster + "/" + env.Name, Servers: servers,
		Log: env.Log, Stderr: env.Stderr,
	})
}
