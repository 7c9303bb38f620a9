// Package suite reads suites: comparisons that belong together, and the claims that their
// results decide.
//
//	parts of flags ──▶ locklab run, once for each ──▶ rows ──▶ claims: shown, refuted, ...
//
// A part is a comparison, written as the flags of `locklab run`; there is no second way to
// say what is to be run.
package suite

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/threshold"
	"locklab/internal/nearest"
	"locklab/internal/strictyaml"
	"locklab/workloads/result"
)

// ErrInvalid is wrapped by every error about a suite that cannot be used.
var ErrInvalid = errors.New("suite: invalid")

//go:embed builtin/*.yaml
var builtin embed.FS

func files() strictyaml.Files {
	return strictyaml.Files{What: "suite", Builtin: builtin, Invalid: ErrInvalid}
}

// Names are the names of the built-in suites.
func Names() []string { return files().Names() }

// Suite is a list of comparisons, run in this order into one result.
type Suite struct {
	File    string // what errors call it
	Name    string
	Summary string
	Parts   []Part
	Claims  []Claim
}

// Part is one comparison.
type Part struct {
	Line  int // in the file
	Flags []Flag
}

// Flag is one flag of `locklab run`, without its dashes.
type Flag struct {
	Name, Value string
	Line        int
}

// Claim is a statement about locks, and the rows that decide it.
type Claim struct {
	ID     string // "" in a suite whose claims are not run one by one
	Claim  string
	Source string // document and section, or a public reference
	Cells  []Cell
}

// Cell is a row, and what it must show.
type Cell struct {
	result.Key
	Line int
	// Shows are words of the row's verdict, each of which supports the claim: safe or unsafe; live, stalls or down.
	Shows  []string
	Figure *threshold.Threshold // that supports the claim, with its text in Shows; nil: a word does
}

// Load reads a built-in suite by its name, or a file by its path.
func Load(nameOrPath string) (Suite, error) {
	file, text, err := files().Read(nameOrPath)
	if err != nil {
		return Suite{}, err
	}
	return Parse(file, text)
}

// Parse checks the YAML text of a suite; file is what errors call it.
func Parse(file string, text []byte) (Suite, error) {
	doc, err := strictyaml.Parse(file, text, ErrInvalid)
	if err != nil {
		return Suite{}, err
	}
	f := doc.Root.Fields("name", "summary", "locks", "parts", "claims")
	s := Suite{File: file, Name: f.Get("name").Name(100), Summary: f.Get("summary").Text()}
	for _, n := range f.Get("parts").Some("at least one comparison, such as {locks: redlock, scenarios: baseline}") {
		s.Parts = append(s.Parts, readPart(n))
	}
	s.share(f.Get("locks"))
	for _, n := range f.Get("claims").List() {
		s.Claims = append(s.Claims, readClaim(n))
	}
	return s, doc.Err()
}

// share gives the suite's locks to parts that name none, except those of other parts with one of the same scenarios.
func (s *Suite) share(locks strictyaml.Node) {
	if !locks.Given() {
		return
	}
	own := slices.Clone(s.Parts)
	for i := range s.Parts {
		p := &s.Parts[i]
		if p.flag("locks") != nil {
			continue
		}
		value := locks.Text()
		if named := namedIn(own, p.scenarios()); len(named) > 0 {
			whole, err := catalog.ParseList([]string{value})
			if err != nil {
				locks.Fail("%v", err)
			}
			value = strings.Join(slices.DeleteFunc(catalog.Texts(whole),
				func(lock string) bool { return slices.Contains(named, lock) }), ",")
		}
		p.Flags = append(p.Flags, Flag{"locks", value, locks.Line()})
	}
}

// namedIn are the locks of parts with one of these scenarios.
func namedIn(parts []Part, scenarios []string) (all []string) {
	among := func(name string) bool { return slices.Contains(scenarios, name) }
	for _, p := range parts {
		if f := p.flag("locks"); f != nil && slices.ContainsFunc(p.scenarios(), among) {
			some, _ := catalog.ParseList([]string{f.Value}) // reading the part says what is wrong
			all = append(all, catalog.Texts(some)...)
		}
	}
	return all
}

// scenarios are those that the part names.
func (p *Part) scenarios() []string {
	f := p.flag("scenarios")
	if f == nil {
		return nil
	}
	names := strings.Split(f.Value, ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	return names
}

func (p *Part) flag(name string) *Flag {
	if i := slices.IndexFunc(p.Flags, func(f Flag) bool { return f.Name == name }); i >= 0 {
		return &p.Flags[i]
	}
	return nil
}

func readPart(n strictyaml.Node) Part {
	p := Part{Line: n.Line()}
	f := n.Fields()
	for _, name := range f.Names() {
		p.Flags = append(p.Flags, Flag{name, f.Get(name).Text(), f.Get(name).Line()})
	}
	return p
}

func readClaim(n strictyaml.Node) Claim {
	f := n.Fields("id", "claim", "source", "cells")
	c := Claim{
		ID: f.Get("id").Text(), Claim: f.Get("claim").Need("a sentence").Text(),
		Source: f.Get("source").Need("the document and section that says so").Text(),
	}
	for _, one := range f.Get("cells").Some("the rows that decide it") {
		c.Cells = append(c.Cells, readCell(one))
	}
	return c
}

func readCell(n strictyaml.Node) Cell {
	f, cell := n.Fields("lock", "scenario", "workload", "shows"), Cell{Line: n.Line()}
	cell.Lock = f.Get("lock").Need("a lock").Text()
	cell.Scenario = f.Get("scenario").Need("a scenario").Text()
	cell.Workload = f.Get("workload").Need("a workload").Text()
	cell.Shows, cell.Figure = readShows(f.Get("shows").Need("what the row must show"))
	return cell
}

// readShows reads a word, a list of words about the same thing, or a threshold of a figure.
func readShows(n strictyaml.Node) (words []string, figure *threshold.Threshold) {
	if n.IsList() {
		for _, one := range n.Some("one or more of live, stalls, down") {
			words = append(words, one.OneOf("live", "stalls", "down"))
		}
		return words, nil
	}
	text := n.Text()
	if !strings.ContainsAny(text, "<>=") {
		return []string{n.OneOf(result.Safe, result.Unsafe, "live", "stalls", "down")}, nil
	}
	t, err := threshold.Parse(text)
	if err != nil {
		n.Fail("%s", strings.TrimPrefix(err.Error(), "--fail-on "))
	} else if t.Differs() {
		n.Fail("%q: want a limit without a sign", text)
	}
	return []string{text}, &t
}

// Only is the suite of the claims with these names, and of the parts that make their rows.
func (s Suite) Only(ids []string) (Suite, error) {
	all := s.Claims
	s.Claims = nil
	for _, id := range ids {
		i := slices.IndexFunc(all, func(c Claim) bool { return c.ID == id && id != "" })
		if i < 0 {
			var known []string
			for _, c := range all {
				known = append(known, c.ID)
			}
			return s, fmt.Errorf("%q: want a claim of the suite %s (known: %s)%s", id, s.Name,
				strings.Join(known, ", "), nearest.Hint(id, known))
		}
		s.Claims = append(s.Claims, all[i])
	}
	s.Parts = slices.DeleteFunc(slices.Clone(s.Parts), func(p Part) bool { return !s.needs(p) })
	return s, nil
}

// needs says whether a part makes a row of a claim. One that names no locks, or no scenarios, may.
func (s Suite) needs(p Part) bool {
	named := p.flag("locks")
	if named == nil || p.flag("scenarios") == nil {
		return true
	}
	locks, _ := catalog.ParseList([]string{named.Value}) // libraries are no locks of the catalogue
	made := append(catalog.Texts(locks), strings.Split(named.Value, ",")...)
	for _, c := range s.Claims {
		for _, cell := range c.Cells {
			if slices.Contains(made, cell.Lock) && slices.Contains(p.scenarios(), cell.Scenario) {
				return true
			}
		}
	}
	return false
}

// CheckCells says which claim asks for a row that no part makes.
func (s Suite) CheckCells(made map[result.Key]bool) error {
	for _, c := range s.Claims {
		for _, cell := range c.Cells {
			if !made[cell.Key] {
				return fmt.Errorf("%s:%d: claims: no part runs %s under %s with the workload %s: %w",
					s.File, cell.Line, cell.Lock, cell.Scenario, cell.Workload, ErrInvalid)
			}
		}
	}
	return nil
}
