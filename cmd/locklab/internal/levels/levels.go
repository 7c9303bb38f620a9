// Package levels has the table of named anomalies: which runs provoke each, which lock must show it
// so that the silence of the others means something, and what runs say of a lock.
//
//	locks × runs ──▶ locklab run, once for each ──▶ rows ──▶ cells: shown, not shown in n tries, ...
//
// A letter is never used for another anomaly. A tick wants that each run of its column that applies has decided. A try
// is one time in which something was proven to be broken, or a run in which nothing is.
package levels

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/locks/adapters"
	"locklab/workloads/result"
)

// Rows are the locks of the table. Leases last 3 s: a run sees them end, and a holder of 1 s extends none, which would
// tell it that the servers have forgotten it.
func Rows() []string {
	return []string{
		"none", "multiphase", "multiphase:quorum", "redlock", "redlock:persistence=always", "redsync",
		"redis", "redis:persistence=always", "redis:setnx-getset", "redis:pubsub",
		"redis:replica", "redis:replica,wait=1", "raft", "etcd", "zookeeper",
		"postgres", "postgres:advisory", "postgres:lease",
		"redis-py", "redis-py-timeout", "redislock", "rueidislock", "tooz-redis", "symfony-redis-ttl",
		"symfony-combined", "kazoo", "kazoo-listener", "tooz-zookeeper", "curator", "curator-listener",
		"curator-semaphore", "curator-latch", "etcd-mutex", "etcd-mutex-done", "python-etcd3-ttl", "leaderelection",
		"psycopg2", "symfony-pdo", "pymysql", "nats-kv",
	}
}

// Run is a scenario with a workload.
type Run struct {
	Name, Scenario, Workload string
	Duration                 time.Duration // of one episode, at least
	// Fault is the fault's share of an episode, longer than the lease by Beyond; 0 if it need not outlast a lease.
	Fault    float64
	Beyond   time.Duration
	Episodes int    // in one run; 1 also where the scenario has several faults of its own
	Tries    int    // that one run makes
	Also     string // flags of locklab run besides; %v is the time of an episode
}

// Runs are all of them, in the order of the first column that each serves.
func Runs() []Run {
	const s, ms = time.Second, time.Millisecond
	return []Run{
		{"crowd", "herd", "handoff", 3 * s, 0, 0, 1, 1, ""},
		{"line", "herd", "handoff", 4 * s, 0, 0, 1, 1, "--clients 10 --warmup 1s"},
		{"cut", "zone-partition", "mutex", 4 * s, 0, 0, 2, 2, "--hold 20ms"},
		{"reset", "zone-partition-reset", "mutex", 3500 * ms, 0, 0, 2, 2, "--hold 200ms --resources 4"}, // cuts off a holder
		{"stop", "granted-pause", "fenced-write", 3 * s, 0.6, 700 * ms, 3, 3, ""},
		{"crash", "restart-majority", "mutex", 9 * s, 0, 0, 1, 3, ""},
		{"power", "power-loss", "mutex", 11 * s, 0, 0, 1, 3, ""},
		{"peers-power", "power-loss-peers", "mutex", 6 * s, 0, 0, 1, 3, ""},
		{"failover", "failover", "mutex", 10 * s, 0, 0, 1, 1, ""},
		{"leader-dies", "leader-kill", "mutex", 20 * s, 0, 0, 3, 3, "--hold 20ms"},
		{"leader-stops", "leader-pause", "mutex", 17 * s, 0, 0, 1, 1, "--hold 20ms"},
		{"server-clock", "server-clock", "mutex", 4 * s, 0, 0, 3, 3, ""},
		{"client-clock", "client-clock", "mutex", 4 * s, 0, 0, 3, 3, ""},
		{"late", "late-release", "mutex", 3 * s, 0.6, s, 3, 3, ""},
		{"alone", "session-expired", "mutex", 4 * s, 0.7, 1500 * ms, 3, 3, "--hold %v"},
		{"dies", "holder-kill", "mutex", 5 * s, 0.7, 2 * s, 3, 3, "--resources 12"},
		{"lost", "wakeup-lost", "mutex", 6 * s, 0, 0, 1, 4, "--hold 20ms"},
		{"news", "slow-news", "mutex", 4 * s, 0, 0, 3, 3, "--clients 32 --resources 1 --rate 4 --hold 50ms"},
		{"server-dies", "server-gone", "mutex", 18 * s, 0, 0, 2, 4, "--hold 20ms"},
		{"peer-dies", "peer-gone", "mutex", 18 * s, 0, 0, 2, 4, "--hold 20ms"},
	}
}

// Flags are those of the locklab run that makes at least so many tries.
func (r Run) Flags(lock string, lease time.Duration, tries int) []string {
	d := r.Duration
	if r.Fault > 0 {
		d = max(d, time.Duration(float64(lease+r.Beyond)/r.Fault).Round(100*time.Millisecond))
	}
	flags := []string{
		"--locks", lock, "--workload", r.Workload, "--scenarios", r.Scenario, "--duration", d.String(), "--warmup", "300ms",
		"--capacity", "off",
	}
	if r.Episodes > 1 {
		flags = append(flags, "--episodes", fmt.Sprint(r.Episodes))
	}
	if n := r.Repeat(tries); n > 1 {
		flags = append(flags, "--repeat", fmt.Sprint(n))
	}
	return append(flags, strings.Fields(strings.ReplaceAll(r.Also, "%v", d.String()))...)
}

// Repeat is how often it makes at least so many tries.
func (r Run) Repeat(tries int) int { return (tries + r.Tries - 1) / r.Tries }

// Anomaly is one named way in which a lock fails.
type Anomaly struct {
	Letter, Name, Shown string
	// Control is a lock that must show it in the first of the runs: where it does not, nothing is said of the others.
	Control string
	Runs    []string // that provoke it; any of them shows it
	Figures []string // of a report, that show it; none if it is the verdict on safety
	// shows says whether a run showed it, or why that cannot be known: of this run, or of the lock in any run.
	shows judge
}

type judge func(a Anomaly, r *result.Row, lease time.Duration) (shown bool, run, lock string)

// Anomalies are the columns.
func Anomalies() []Anomaly {
	return []Anomaly{
		{
			"A", "two at once, calm", "two held at once, or a token went back, with nothing broken",
			"none",
			[]string{"crowd"},
			nil, unsafe,
		},
		{
			"B", "split", "the same, while the zones were cut or as they met again",
			"multiphase",
			[]string{"cut", "reset"},
			nil, unsafe,
		},
		{
			"C", "late holder", "a holder that had stood still wrote after the next grant, or tried to",
			"redis",
			[]string{"stop"},
			[]string{"stale_writes", "fenced_writes"},
			above(0),
		},
		{"D", "late write taken", "and the store took it", "redis", []string{"stop"}, []string{"stale_writes"}, above(0)},
		{
			"E", "two at once, crash", "two held at once after most servers were killed and came back",
			"redis",
			[]string{"crash"},
			nil, unsafe,
		},
		{
			"F", "two at once, power loss", "two held at once after most servers lost their power",
			"redis:persistence=everysec",
			[]string{"power", "peers-power"},
			nil, unsafe,
		},
		{
			"G", "two at once, failover", "two held at once after another server took over",
			"redis:replica",
			[]string{"failover", "leader-dies"},
			nil, unsafe,
		},
		{
			"H", "trusts a clock", "two held at once after the clock of the servers, or of a client, was set",
			"redis",
			[]string{"server-clock", "client-clock"},
			nil, unsafe,
		},
		{
			"I", "frees another's", "a release that came after its lease freed the next one's hold",
			"redis:release=naive",
			[]string{"late"},
			nil, unsafe,
		},
		{
			"J", "silent loss",
			"a holder that was cut off believed that it held after the next grant; the time is the longest seen",
			"kazoo",
			[]string{"alone"},
			nil, unsafe,
		},
		{
			"K", "ghost", "clients wanted a resource, and none got it for the lease and 1.8 s",
			"redis-py",
			[]string{"dies", "lost", "cut", "reset"},
			[]string{"resource_outage_ms", "zone_outage_ms"},
			ghost,
		},
		{
			// A waiter that is not woken gives up after 2.5 s; 32 that poll five servers left it free for up to 2.01 s.
			"L", "lost wake-up", "a resource was free for 2.4 s while others waited, though no message was lost",
			"zookeeper:watch=late",
			[]string{"news"},
			[]string{"resource_outage_ms"},
			above(2400),
		},
		{
			"M", "barging", "one of 20 clients overtook the same waiter more than twice, in at least 40 grants",
			"redlock",
			[]string{"line"},
			[]string{"overtaken_max"},
			overtaken,
		},
		{
			"N", "herd", "more than 10 of 100 waiters were woken for each handoff",
			"zookeeper:watch=all",
			[]string{"crowd"},
			[]string{"wakeups_per_handoff"},
			above(10),
		},
		{
			"O", "down without one server",
			"no grant in a zone for 5 s after one server or peer had died or stood still for 6 s",
			"redis",
			[]string{"server-dies", "peer-dies", "leader-dies", "leader-stops"},
			[]string{"zone_outage_ms"},
			above(5000),
		},
	}
}

func unsafe(_ Anomaly, r *result.Row, _ time.Duration) (shown bool, run, lock string) {
	return r.Verdict.Safety.State == result.Failed, "", ""
}

// above says whether one of the figures is above the limit.
func above(limit float64) judge {
	return func(a Anomaly, r *result.Row, _ time.Duration) (shown bool, run, lock string) {
		lock = "it does not count " + strings.Join(a.Figures, " or ")
		for _, name := range a.Figures {
			if v, has := r.Of(name); has {
				shown, lock = shown || v > limit, ""
			}
		}
		return shown, "", lock
	}
}

// ghost looks at canaries, too, in wakeup-lost. The others that partition cut a zone off for 1.4 s, and a holder in it
// keeps what it has for so long.
func ghost(a Anomaly, r *result.Row, lease time.Duration) (shown bool, run, lock string) {
	if r.Scenario != "wakeup-lost" {
		a.Figures = a.Figures[:1]
	}
	return above(float64((lease + 1800*time.Millisecond).Milliseconds()))(a, r, lease)
}

// overtaken wants 40 grants to clients that asked in the measured part: a lock that draws the next holder of 20, who
// wait for 2.5 s at most, showed it in each of 3,000 simulated runs with 40 to 50.
func overtaken(a Anomaly, r *result.Row, lease time.Duration) (shown bool, run, lock string) {
	if r.Verdict.Safety.State == result.Failed {
		return false, "", "two hold at once with nothing broken, so that waiters have no turn"
	}
	shown, _, lock = above(2)(a, r, lease)
	if grants := math.Round(r.Figures["requests"] * r.Figures["acquired"]); grants < 40 {
		run = "a run had too few grants to tell"
	}
	return shown, run, lock
}

// Result is what the runs of one lock left.
type Result struct {
	Lock  string
	Lease time.Duration
	Files map[string]result.File  // by the names of the runs
	Again map[string]string       // likewise, the commands
	Does  map[string]string       // likewise, what all tries of a run have in common; it may have none now
	Unfit map[string]result.Unfit // likewise, why there is none
}

// Cell is what the runs say of a lock and an anomaly.
type Cell struct {
	Letter string `json:"letter"`
	Glyph  string `json:"glyph"`
	Shown  int    `json:"shown,omitzero"` // in how many runs
	Runs   int    `json:"runs,omitzero"`  // that decided
	Tries  int    `json:"tries,omitzero"` // that these made
	// By are those of each run. Older versions of locklab counted some that no run has.
	By        map[string]Count `json:"by,omitzero"`
	LongestMS float64          `json:"longest_ms,omitzero"` // of J, how long it lasted
	Why       string           `json:"why,omitzero"`        // there is nothing to say
	// Lacks is why a run that applies decided nothing; with NotHere the lab cannot do it to the lock.
	Lacks   string `json:"lacks,omitzero"`
	NotHere bool   `json:"not_here,omitzero"`
	// Decided are the runs that did.
	Decided []string `json:"decided,omitzero"`
	// Settings is a digest of the library's version and of what the runs do: tries add up where it is the same.
	Settings string `json:"settings,omitzero"`
	// Counted are the [Mark] of each run that decided, so that none counts twice.
	Counted []string `json:"counted,omitzero"`
	// Run and Mark are the first of a directory that showed it, where there is no history yet.
	Run  string `json:"-"`
	Mark string `json:"-"`
	// Again repeats it, History has its events if they are kept, Promise is the documented one that it breaks.
	Again   string `json:"again,omitzero"`
	History string `json:"history,omitzero"`
	Promise string `json:"promise,omitzero"`
}

// Count is how many runs showed it, of how many that decided, and the tries that these made.
type Count struct {
	Shown int `json:"shown,omitzero"`
	Runs  int `json:"runs"`
	Tries int `json:"tries"`
}

// often is the count of the column's run that showed it most often. What belongs to no run counts as another run.
func (c Cell) often() (most Count) {
	rest := Count{Shown: c.Shown, Runs: c.Runs}
	for _, n := range c.By {
		rest.Shown, rest.Runs = rest.Shown-n.Shown, rest.Runs-n.Runs
	}
	for _, n := range append(slices.Collect(maps.Values(c.By)), rest) {
		if of, than := n.Shown*most.Runs, most.Shown*n.Runs; of > than || of == than && n.Runs > most.Runs {
			most = n
		}
	}
	return most
}

// tells says whether any run does.
func (r Result) tells() bool {
	for _, file := range r.Files {
		if slices.ContainsFunc(file.Rows, func(r result.Row) bool { return Tells(&r) }) {
			return true
		}
	}
	return false
}

// Tells says whether a run counts: it is sound, and whole. A control that stayed silent counts as one.
func Tells(r *result.Row) bool { return r.Decided() && !r.Partial }

// Mark tells a run from the others of its lock: the last 32 bits of its random seed.
func Mark(r *result.Row) string { return fmt.Sprintf("%08x", uint32(r.Seed)) } //nolint:gosec // enough to tell it

// settings is the digest of a cell.
func (a Anomaly) settings(of Result, version string) string {
	digest := fnv.New32a()
	fmt.Fprintln(digest, version)
	for _, run := range a.Runs {
		fmt.Fprintln(digest, run, of.Does[run])
	}
	return fmt.Sprintf("%08x", digest.Sum32())
}

// cell adds the runs that it has not counted to the published cell, if that has the same settings.
func (a Anomaly) cell(of Result, version string, before Cell) Cell {
	c := Cell{Letter: a.Letter, Settings: a.settings(of, version)}
	if before.Settings == c.Settings {
		c = before
	}
	c.By = maps.Clone(c.By)
	lacked := cmp.Or(c.Lacks, "it was not run")
	c.Lacks, c.NotHere = "", false
	var unfit, undecided []string
	for _, run := range a.Runs {
		file, ran := of.Files[run]
		if _, fits := of.Does[run]; !ran && fits { // it was not made now
			if c.Glyph != "·" && !slices.Contains(c.Decided, run) {
				undecided = append(undecided, lacked)
				c.Lacks = lacked
			}
			continue
		}
		if !ran {
			unfit = append(unfit, of.Unfit[run].Why)
			if of.Unfit[run].NotHere && c.Lacks == "" {
				c.Lacks, c.NotHere = of.Unfit[run].Why, true
			}
			continue
		}
		why, told, doesNot := "", false, ""
		for i := range file.Rows {
			r := &file.Rows[i]
			if !Tells(r) {
				why = fmt.Sprintf("%s: %s", run, cmp.Or(r.Verdict.Sound.Code, r.Verdict.Why.Code))
				continue
			}
			shown, few, never := a.shows(a, r, of.Lease)
			told = told || never == ""
			switch {
			case never != "":
				doesNot = never
				continue
			case few != "":
				why = few
				continue
			case slices.Contains(c.Counted, Mark(r)):
				continue
			}
			c.Counted = append(c.Counted, Mark(r))
			if !slices.Contains(c.Decided, run) {
				c.Decided = append(c.Decided, run)
			}
			if c.By == nil {
				c.By = map[string]Count{}
			}
			by := c.By[run]
			by.Runs, by.Tries, c.Runs, c.Tries = by.Runs+1, by.Tries+tries(r), c.Runs+1, c.Tries+tries(r)
			if shown {
				by.Shown, c.Shown = by.Shown+1, c.Shown+1
			}
			c.By[run] = by
			if shown && c.Run == "" && c.History == "" {
				c.Run, c.Mark, c.Again = run, Mark(r), of.Again[run]
			}
			if shown && a.Letter == "J" {
				c.LongestMS = max(c.LongestMS, math.Round(r.Figures["zombie_ms"]))
			}
		}
		if doesNot != "" && !told { // earlier runs do not count either
			return Cell{Letter: c.Letter, Settings: c.Settings, Glyph: "·", Why: doesNot}
		}
		if why != "" && !slices.Contains(c.Decided, run) {
			undecided = append(undecided, why)
			c.Lacks, c.NotHere = why, false
		}
	}
	switch {
	case c.Runs > 0: // its glyph depends on the control's
	case before.Runs > 0 && len(undecided) > 0:
		return before // until a run with the new settings decides
	case len(undecided) == 0:
		c.Glyph, c.Why = "·", cmp.Or(c.Lacks, cmp.Or(unfit...), c.Why)
	case c.Glyph != "·": // by an earlier run
		c.Glyph, c.Why = "?", undecided[0]
	}
	return c
}

// judge sets the glyph of a cell with runs that decided.
func (a Anomaly) judge(c *Cell, control Cell, promise adapters.Promise) {
	switch {
	case c.Shown > 0:
		c.Glyph, c.Why, c.Promise = "✗", "", promise.Of(a.Letter)
		if most := c.often(); most.Shown < most.Runs {
			c.Glyph += fmt.Sprintf(" %d/%d", most.Shown, most.Runs)
		}
		if a.Letter == "J" {
			c.Glyph += fmt.Sprintf(" %.1f s", c.LongestMS/1000)
		}
		if c.Promise != "" {
			c.Glyph += " !"
		}
	case c.Runs > 0 && control.Runs == 0:
		c.Glyph, c.Why = "?", "the control "+a.Control+": "+control.Why
	case c.Runs > 0 && control.Shown == 0:
		c.Glyph, c.Why = "?", "the control "+a.Control+" was silent"
	case c.Lacks != "" && c.Runs > 0: // the other runs are half of the truth
		c.Glyph, c.Why = map[bool]string{true: "·", false: "?"}[c.NotHere], c.Lacks
	case c.Runs > 0:
		c.Glyph, c.Why = fmt.Sprint("✓ ", c.Tries), ""
	}
}

// Needs says whether the columns of these letters need the run of a lock: of a row, or as a control.
func Needs(letters, lock, run string, row bool) bool {
	return slices.ContainsFunc(Anomalies(), func(a Anomaly) bool {
		return strings.Contains(letters, a.Letter) &&
			(row && slices.Contains(a.Runs, run) || a.Control == lock && a.Runs[0] == run)
	})
}

// Letters are those of all columns.
func Letters() (all string) {
	for _, a := range Anomalies() {
		all += a.Letter
	}
	return all
}

// scenarios are those of its runs.
func (a Anomaly) scenarios() (names []string) {
	all := Runs()
	for _, name := range a.Runs {
		names = append(names, all[slices.IndexFunc(all, func(r Run) bool { return r.Name == name })].Scenario)
	}
	return names
}

// tries is how many times something was broken in a run, or 1. Faults that overlap are one time.
func tries(r *result.Row) (n int) {
	faults := slices.DeleteFunc(slices.Clone(r.Faults), func(f result.Fault) bool { return f.Unasked })
	slices.SortFunc(faults, func(a, b result.Fault) int { return cmp.Compare(a.AskedMS, b.AskedMS) })
	until := math.Inf(-1)
	for _, f := range faults {
		if f.AskedMS >= until {
			n++
		}
		until = max(until, f.HealMS)
	}
	return max(n, 1)
}

// Command repeats a run that showed it, so often that it is probably shown, and prints the figures that did.
func (c Cell) Command() string {
	n := Count{Shown: c.Shown, Runs: c.Runs}
	for _, run := range Runs() {
		if by := c.By[run.Name]; by.Shown > 0 && strings.Contains(c.Again, " "+run.Scenario+" ") {
			n = by
		}
	}
	if n.Shown < n.Runs { // so many runs miss it in one of twenty cases
		c.Again += fmt.Sprintf(" --repeat %d", (3*n.Runs+n.Shown-1)/n.Shown)
	}
	if slices.ContainsFunc(Anomalies(), func(a Anomaly) bool { return a.Letter == c.Letter && len(a.Figures) > 0 }) {
		return c.Again + " --full"
	}
	return c.Again
}

// Level lists the names whose cells are ticks or do not apply, at least one of them a tick: each for itself.
func Level(cells []Cell) string {
	var level []string
	late := slices.ContainsFunc(cells, func(c Cell) bool { return c.Letter == "C" && strings.HasPrefix(c.Glyph, "✗") })
	for _, name := range [][2]string{{"ABI", "lease-safe"}, {"EFG", "crash-safe"}, {"H", "clock-free"}, {"D", "fenced"}} {
		ticks := 0
		for _, c := range cells {
			switch {
			case !strings.Contains(name[0], c.Letter):
			case strings.HasPrefix(c.Glyph, "✓"):
				ticks++
			case c.Glyph != "·" || c.NotHere:
				ticks -= len(cells)
			}
		}
		if name[0] == "D" && !late { // nothing was there to be refused
			ticks = 0
		}
		if ticks > 0 {
			level = append(level, name[1])
		}
	}
	return cmp.Or(strings.Join(level, ", "), "best effort")
}
