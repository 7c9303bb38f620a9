// Package result defines result.json, the contract between a run and everything that reads
// it. The checker fills it, and every report is made of it and of the histories that it names.
// Units are in the names; what was not measured is absent.
package result

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"locklab/internal/atomicfile"
	"locklab/internal/strictjson"
	"locklab/workloads/history"
)

// Schema is the version of the format. Files of other versions are not read.
const Schema = "locklab/result/v2"

// FileName is the name of the result in a run's directory.
const FileName = "result.json"

// File is the whole of result.json.
type File struct {
	Schema string `json:"schema"`
	Run    Run    `json:"run"`
	Rows   []Row  `json:"results"` // one for each run: lock, scenario, workload, repeat
}

// Run says what was run, where and with what.
type Run struct {
	ID         string            `json:"id"`
	Started    time.Time         `json:"started"`
	DurationMS int64             `json:"duration_ms"`
	Seed       uint64            `json:"seed"`
	Commit     string            `json:"commit"`
	Topology   string            `json:"topology"`
	Zones      []string          `json:"zones,omitempty"` // short names, in the order of the topology
	Command    string            `json:"command"`
	Args       []string          `json:"args,omitempty"` // of the command, by which --resume goes on
	Load       string            `json:"load,omitempty"` // the workload and its settings, as name=value name=value
	Repeats    int               `json:"repeats"`
	Host       Host              `json:"host"`
	Versions   map[string]string `json:"versions"`
	Warnings   []string          `json:"warnings,omitempty"`
	// Interrupted: the user stopped the run before its end. Unfinished: it goes on, or was
	// killed before its end.
	Interrupted bool       `json:"interrupted,omitempty"`
	Unfinished  bool       `json:"unfinished,omitempty"`
	Scenarios   []Scenario `json:"scenarios,omitempty"` // in the order of the columns
	Unfit       []Unfit    `json:"unfit,omitempty"`     // combinations that do not apply
	Majority    []string   `json:"majority,omitempty"`  // locks that need a majority of their servers or peers
	Claims      []Claim    `json:"claims,omitempty"`    // of a suite, as the rows decide them
}

// Warn adds a warning, once.
func (r *Run) Warn(text string) {
	if !slices.Contains(r.Warnings, text) {
		r.Warnings = append(r.Warnings, text)
	}
}

// Scenario names a column: its title is at most 16 characters, in English and Korean.
type Scenario struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	TitleKO string `json:"title_ko,omitempty"`
}

// Host is the machine that the controller ran on.
type Host struct {
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	Kernel    string `json:"kernel,omitempty"`
	CPUs      int    `json:"cpus"`
	CPUModel  string `json:"cpu_model,omitempty"`
	MemoryMiB int64  `json:"memory_mib,omitempty"`
	Go        string `json:"go"`
}

// Unfit is a combination that was left out, and why.
type Unfit struct {
	Key
	Why string `json:"why"`
	// NotHere says that the lock has what the scenario would break, but that this cannot be done to it.
	NotHere bool `json:"not_here,omitzero"`
}

// Claim is a sentence of a source document, with the verdict of the rows.
type Claim struct {
	Claim    string     `json:"claim"`
	Source   string     `json:"source"`
	Verdict  string     `json:"verdict"`
	Evidence []Evidence `json:"evidence"`
}

// Evidence is a row that decides a claim.
type Evidence struct {
	Key
	Wanted  []string `json:"wanted"` // any of these shows the claim
	Verdict string   `json:"verdict"`
	Shown   int      `json:"shown,omitempty"` // runs that showed it, of Tries that decided
	Tries   int      `json:"tries,omitempty"`
}

// The verdicts on a claim.
const (
	ClaimShown     = "shown"
	ClaimRefuted   = "refuted"
	ClaimPartly    = "partly"
	ClaimUndecided = "undecided"
	ClaimNotRun    = "not run"
)

// Row is one run: one lock under one scenario, once.
type Row struct {
	Lock     string `json:"lock"`
	Scenario string `json:"scenario"`
	Workload string `json:"workload"`
	Repeat   int    `json:"repeat"` // 1 is the first
	Seed     uint64 `json:"seed"`
	History  string `json:"history,omitempty"` // a path below the directory of the report

	Verdict  Verdict  `json:"verdict"`
	Expected Expected `json:"expected,omitzero"`

	// Figures are those of [Figures], by name.
	Figures map[string]float64 `json:"figures"`
	// Errors counts the operations that failed, by kind of error.
	Errors map[string]int64 `json:"errors,omitempty"`

	MeasuredMS float64     `json:"measured_ms"`
	Faults     []Fault     `json:"faults,omitempty"`
	Outages    []Outage    `json:"outages,omitempty"`    // the longest of the lock, of each zone, of one resource
	Violations []Violation `json:"violations,omitempty"` // the first [MaxViolations], in order of time
	Hosts      []Machine   `json:"hosts,omitempty"`
	Partial    bool        `json:"partial,omitempty"` // the run was cut short
	Played     bool        `json:"played,omitempty"`  // a person broke things
}

// Key names a row but for its repeat.
type Key struct {
	Lock     string `json:"lock"`
	Scenario string `json:"scenario"`
	Workload string `json:"workload"`
}

// Key returns the key of the row.
func (r *Row) Key() Key { return Key{r.Lock, r.Scenario, r.Workload} }

// Of returns a figure of the row; false if it was not measured. The name must be in [Figures].
func (r *Row) Of(name string) (float64, bool) {
	MustFigure(name)
	v, known := r.Figures[name]
	return v, known
}

// Decided says that the run was sound.
func (r *Row) Decided() bool { return r.Verdict.Sound.State == OK }

// Outage is the outage to explain: the one that decided Liveness, else a zone's longest, if it has a second or
// more.
func (r *Row) Outage() (longest Outage, told bool) {
	if l := r.Verdict.Liveness; l.State == Failed {
		if len(r.Outages) > 0 && r.Outages[0].Of == l.Of { // the first is the one that decided
			return r.Outages[0], true
		}
		return Outage{Of: l.Of, ToMS: l.N}, true
	}
	for _, o := range r.Outages {
		if strings.HasPrefix(o.Of, "zone ") && o.MS() >= 1000 && o.MS() > longest.MS() {
			longest, told = o, true
		}
	}
	return longest, told
}

// Subject is what explains the row: the first violation of the kind that decided, else the outage
// that it tells of, else an excused violation. Both are nil if nothing went wrong.
func (r *Row) Subject() (*Violation, *Outage) {
	decided := func(v Violation) bool { return !v.Excused && v.Code == r.Verdict.Safety.Code }
	if i := slices.IndexFunc(r.Violations, decided); i >= 0 {
		return &r.Violations[i], nil
	}
	if o, told := r.Outage(); told {
		return nil, &o
	}
	if len(r.Violations) > 0 {
		return &r.Violations[0], nil
	}
	return nil, nil
}

// MaxViolations is how many violations a row lists at most.
const MaxViolations = 20

// State is one of three outcomes.
type State string

// The outcomes.
const (
	OK      State = "ok"
	Failed  State = "failed"
	Unknown State = "unknown"
)

// Statement is one statement about the run: an outcome, why, and how much of it: a count, or
// milliseconds for codes of outages. Of names the node, fault, zone or resource that it is about.
type Statement struct {
	State State   `json:"state"`
	Code  Code    `json:"code,omitempty"`
	N     float64 `json:"n,omitempty"`
	Of    string  `json:"of,omitempty"`
}

// Verdict is three statements about the run, in this order, and whether that is what the
// scenario expected.
type Verdict struct {
	Sound    Statement `json:"sound"`
	Safety   Statement `json:"safety"`
	Liveness Statement `json:"liveness"`
	// Word is live, stalls, down, dead or not judged.
	Word string `json:"word"`
	// As compares the verdict with what was expected: it alone decides the exit code.
	As Comparison `json:"as"`
	// Why is why As is not as expected: the code of a deviation, or that of Sound.
	Why Statement `json:"why,omitzero"`
}

// The words of liveness.
const (
	Live      = "live"
	Stalls    = "stalls"
	Down      = "down"
	Dead      = "dead"
	NotJudged = "not judged"
)

// The words of expected safety.
const (
	Safe   = "safe"
	Unsafe = "unsafe"
)

// Comparison says how a verdict compares with what was expected.
type Comparison string

// The comparisons, with their exit codes.
const (
	AsExpected    Comparison = "as expected"        // 0
	NotAsExpected Comparison = "not as expected"    // 2
	Silent        Comparison = "control was silent" // 3
	Unsound       Comparison = "not sound"          // 4
)

// ExitCode is the program's exit code for the comparison.
func (c Comparison) ExitCode() int {
	return map[Comparison]int{NotAsExpected: 2, Silent: 3, Unsound: 4}[c]
}

// Expected is what a scenario expects of a lock; what is empty is not judged.
type Expected struct {
	Safety   string   `json:"safety,omitempty"`
	Liveness []string `json:"liveness,omitempty"`
	// Served and ServedInFault are the least shares, 0 to 1.
	Served        float64 `json:"served,omitempty"`
	ServedInFault float64 `json:"served_in_fault,omitempty"`
}

// Control says that the lock is expected to be unsafe, to show that the run can find that.
func (e *Expected) Control() bool { return e.Safety == Unsafe }

// Fault is one entry of the ledger. Times are milliseconds since the measured part began; [Never] if it did not
// happen.
type Fault struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	Target  string   `json:"target,omitempty"`
	From    []string `json:"from,omitempty"` // hosts whose traffic towards To it hit
	To      []string `json:"to,omitempty"`
	Nodes   []string `json:"nodes,omitempty"` // that it hit
	Proven  bool     `json:"proven"`
	Unasked bool     `json:"unasked,omitempty"` // no scenario asked for it: a node died, a hand broke it
	Why     string   `json:"why,omitempty"`     // the reason that it was not proven, or that the node ended
	Log     []string `json:"log,omitempty"`     // the last lines of a node that ended
	// Lost is what a power cut took from each node with a disk.
	Lost    []history.Lost `json:"lost,omitempty"`
	AskedMS float64        `json:"asked_ms"`
	BeganMS float64        `json:"began_ms"`
	HealMS  float64        `json:"heal_ms"` // the order to heal
	EndedMS float64        `json:"ended_ms"`
}

// Never is the time of an event that did not happen.
const Never = -1.0

// Outage is a time without the lock.
type Outage struct {
	// Of is empty for the lock, "zone c" for a zone, else the name of a resource.
	Of     string  `json:"of,omitempty"`
	FromMS float64 `json:"from_ms"`
	ToMS   float64 `json:"to_ms"`
	Open   bool    `json:"open,omitempty"` // it went on when the measured part ended
}

// MS is its length.
func (o Outage) MS() float64 { return o.ToMS - o.FromMS }

// Violation is what the lock should have prevented. First is the earlier room or hold, Second the one that came
// too early.
type Violation struct {
	Code     Code    `json:"code"`
	AtMS     float64 `json:"at_ms"`
	Resource string  `json:"resource"`
	First    Party   `json:"first"`
	Second   Party   `json:"second"`
	// Excused says that it does not count against the lock: an unreachable duplicate.
	Excused bool `json:"excused,omitempty"`
}

// Party is one side of a violation.
type Party struct {
	Node   string  `json:"node,omitempty"` // the master
	Hold   string  `json:"hold,omitempty"`
	Room   string  `json:"room,omitempty"`
	Worker string  `json:"worker,omitempty"`
	Token  uint64  `json:"token,omitempty"`
	FromMS float64 `json:"from_ms"`
	ToMS   float64 `json:"to_ms"` // Never: to the end
}

// Machine is what the CPUs of one machine did in the measured part; shares are 0 to 1.
type Machine struct {
	Host     string  `json:"host"` // "" is the controller's machine
	CPUs     int     `json:"cpus"`
	Busy     float64 `json:"busy"`
	Others   float64 `json:"others"`   // with anything but the lab's processes
	Slowdown float64 `json:"slowdown"` // CPU time and waiting for a CPU, over CPU time
	LateMS   float64 `json:"late_ms"`  // the longest that a timer went off late
	FsyncMS  float64 `json:"fsync_ms,omitempty"`
}

// Cell is all repeats of one combination.
type Cell struct {
	Key
	Rows []*Row
}

// Cells groups the rows by combination, in the order of the first of each.
func (f *File) Cells() (cells []Cell) {
	at := map[Key]int{}
	for i := range f.Rows {
		r := &f.Rows[i]
		n, known := at[r.Key()]
		if !known {
			n = len(cells)
			at[r.Key()] = n
			cells = append(cells, Cell{Key: r.Key()})
		}
		cells[n].Rows = append(cells[n].Rows, r)
	}
	return cells
}

// Values returns the figure of each repeat that has it.
func (c *Cell) Values(name string) (values []float64) {
	for _, r := range c.Rows {
		if v, known := r.Of(name); known {
			values = append(values, v)
		}
	}
	return values
}

// Median is the median of the repeats; 0 and false if none has the figure.
func (c *Cell) Median(name string) (float64, bool) {
	values := c.Values(name)
	if len(values) == 0 {
		return 0, false
	}
	return Median(values), true
}

// Median of values in any order; NaN of none.
func Median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return math.NaN()
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// Worst is the row to explain the cell by. First comes a row that is not as expected, then one that decides
// something, then the most violations, then the longest outage.
func (c *Cell) Worst() *Row {
	rank := func(r *Row) (of [4]float64) {
		if r.Verdict.As == NotAsExpected {
			of[0] = 1
		}
		if r.Decided() {
			of[1] = 1
		}
		if r.Verdict.Safety.State == Failed {
			of[2] = r.Verdict.Safety.N
		}
		of[3] = max(r.Figures["outage_ms"], r.Figures["zone_outage_ms"], r.Figures["resource_outage_ms"])
		return of
	}
	return slices.MaxFunc(c.Rows, func(a, b *Row) int {
		x, y := rank(a), rank(b)
		return slices.Compare(x[:], y[:])
	})
}

// Measured are the figures that any row has.
func (f *File) Measured() []Figure {
	return slices.DeleteFunc(Figures(), func(fig Figure) bool {
		for i := range f.Rows {
			if _, known := f.Rows[i].Of(fig.Name); known {
				return false
			}
		}
		return true
	})
}

// ErrInvalid says that a file is not a result that this program reads.
var ErrInvalid = errors.New("not a usable result")

// maxBytes bounds a result: a row has a few kilobytes.
const maxBytes = 64 << 20

// Read reads the result at path, or in it if path is a directory. Errors name the file and
// the field.
func Read(path string) (File, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, FileName)
		info, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{}, fmt.Errorf("%s: %w: want a directory that locklab run has written", path, fs.ErrNotExist)
	case err == nil && (!info.Mode().IsRegular() || info.Size() > maxBytes): // opening a pipe would wait for a writer
		return File{}, fmt.Errorf("%s: want a regular file of at most %d bytes: %w", path, maxBytes, ErrInvalid)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("read result: %w", err)
	}
	f, err := Parse(data)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Parse decodes a result. Fields that it does not know are ignored.
func Parse(data []byte) (File, error) {
	// The schema comes first: other versions have fields of the same names and other types.
	var of struct {
		Schema string `json:"schema"`
	}
	if err := strictjson.DecodeOpen(data, &of); err != nil {
		return File{}, fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	if of.Schema != Schema {
		return File{}, fmt.Errorf("schema %q, want %q, so run it again: %w", of.Schema, Schema, ErrInvalid)
	}
	var f File
	if err := strictjson.DecodeOpen(data, &f); err != nil {
		return File{}, fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	for i := range f.Rows {
		if err := f.Rows[i].check(); err != nil {
			return File{}, fmt.Errorf("results[%d]: %w: %w", i, err, ErrInvalid)
		}
	}
	return f, nil
}

// check refuses rows that readers cannot handle.
func (r *Row) check() error {
	if r.Lock == "" || r.Scenario == "" || r.Workload == "" {
		return errors.New("want a lock, a scenario and a workload")
	}
	if r.History != "" && !filepath.IsLocal(r.History) {
		return fmt.Errorf("history %q: want a path below the directory of the result", r.History)
	}
	if !slices.Contains([]Comparison{AsExpected, NotAsExpected, Silent, Unsound}, r.Verdict.As) {
		return fmt.Errorf("verdict.as %q: want %q, %q, %q or %q", r.Verdict.As, AsExpected, NotAsExpected, Silent, Unsound)
	}
	for name, v := range r.Figures {
		if f, known := Lookup(name); known && f.As == Count && v < 0 {
			return fmt.Errorf("figures.%s: have %v, want a number from 0", name, v)
		}
	}
	return nil
}

// Write replaces the result at path: a reader sees the old file or the new one.
func Write(path string, f File) error {
	f.Schema = Schema
	if f.Rows == nil {
		f.Rows = []Row{} // a list in the file, not null
	}
	data, err := json.Marshal(f, jsonv1.DefaultOptionsV1(), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return atomicfile.Write(path, append(data, '\n'))
}

// Code is the reason for a statement.
type Code string
