// Package result defines result.json, the contract between a run and everything
// that reads it. Units are in the names; what a workload does not measure is absent.
package result

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/internal/sentence"

	"github.com/go-json-experiment/json/jsontext"
)

// Schema is the version of the format.
const Schema = "locklab/result/v1"

// File is the whole of result.json.
type File struct {
	Schema  string `json:"schema"`
	Run     Run    `json:"run"`
	Results []Row  `json:"results"`
}

// Run says what was run, where and with what.
type Run struct {
	ID          string            `json:"id"`
	Started     time.Time         `json:"started"`
	DurationMS  int64             `json:"duration_ms"`
	Seed        uint64            `json:"seed"`
	Commit      string            `json:"commit"`
	Topology    string            `json:"topology"`
	Command     string            `json:"command"`
	Load        string            `json:"load,omitempty"` // the workload and its settings, as name=value name=value
	Host        Host              `json:"host"`
	Versions    map[string]string `json:"versions"`
	FailOn      []string          `json:"fail_on,omitempty"`     // the thresholds of --fail-on
	Warnings    []string          `json:"warnings,omitempty"`    // such as the embedded stand-in for Redis
	Warned      []sentence.Text   `json:"warned,omitempty"`      // the same for any language
	Interrupted bool              `json:"interrupted,omitempty"` // the user stopped the run before its end
	Unfinished  bool              `json:"unfinished,omitempty"`  // the run goes on, or the lab was killed before its end
	LinkCost    *LinkCost         `json:"link_cost,omitempty"`
	// Args are the arguments of the command, by which --resume goes on.
	Args []string `json:"args,omitempty"`
	// Inputs are the SHA-256 of the user's files that say what is run, by their paths.
	Inputs map[string]string `json:"inputs,omitempty"`
	// Unfit lists the combinations of a suite that do not apply, and why.
	Unfit  []Unfit `json:"unfit,omitempty"`
	Claims []Claim `json:"claims,omitempty"` // of the suite, as the rows decide them
	Clocks []Clock `json:"clocks,omitempty"` // of hosts on other machines
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

// LinkCost is the measured round trip of one small message on the loopback:
// directly, and through a link's proxy without any toxic.
type LinkCost struct {
	DirectP50US float64 `json:"direct_p50_us"`
	LinkP50US   float64 `json:"link_p50_us"`
	Ratio       float64 `json:"ratio"`
}

// Unfit is a combination that was left out because the scenario has nothing to break there.
type Unfit struct {
	Lock     string `json:"lock"`
	Scenario string `json:"scenario"`
	Workload string `json:"workload"`
	Why      string `json:"why"`
}

// The values of Claim.Verdict.
const (
	ClaimShown     = "shown"
	ClaimRefuted   = "refuted"
	ClaimPartly    = "shown only under some"
	ClaimUndecided = "undecided"
	ClaimNotRun    = "not run" // there is no such row
)

// Claim is what a source says of locks, and what the rows of this result make of it.
type Claim struct {
	Claim    string     `json:"claim"`
	Source   string     `json:"source"`
	Verdict  string     `json:"verdict"`
	Evidence []Evidence `json:"evidence"`
}

// Evidence is one row that decides a claim.
type Evidence struct {
	Lock     string   `json:"lock"`
	Scenario string   `json:"scenario"`
	Workload string   `json:"workload"`
	Wanted   []string `json:"wanted"`  // any of these words in its verdict: safe, unsafe; live, stalls, down; or a threshold of a figure
	Verdict  string   `json:"verdict"` // shown, refuted or undecided
}

// Row is one lock under one scenario with one workload, over all repeats.
type Row struct {
	Lock     string `json:"lock"`
	Scenario string `json:"scenario"`
	Workload string `json:"workload"`
	Repeats  int    `json:"repeats"`
	// Partial says that a run was interrupted, or that repeats are missing.
	Partial bool `json:"partial,omitempty"`

	Verdict Verdict `json:"verdict"`
	// Tries says in how many of the repeats a violation was seen; absent where there was one.
	Tries *Tries `json:"tries,omitempty"`

	MeasuredMS   int64   `json:"measured_ms,omitempty"` // length of the measured part, over all repeats
	OfferedPerS  float64 `json:"offered_per_s"`
	AchievedPerS float64 `json:"achieved_per_s"`

	Matches           int64       `json:"matches,omitempty"`
	RoomsCreated      *int64      `json:"rooms_created,omitempty"`
	Duplicates        *Duplicates `json:"duplicates,omitempty"`
	DuplicatesPer1000 *float64    `json:"duplicates_per_1000,omitempty"`
	Overlaps          *int64      `json:"overlaps,omitempty"`

	Availability float64 `json:"availability"` // share of operations that ended ok, 0 to 1
	// The same of the operations that no fault touched, and of those while one was in
	// force or had just ended; absent where there were none.
	AvailabilityOutside *float64 `json:"availability_outside,omitempty"`
	AvailabilityDuring  *float64 `json:"availability_during,omitempty"`
	// AvailabilityInForce is that of those that were due or under way between when a fault was
	// asked for and when its end was proven; absent where there were none, and from older files.
	AvailabilityInForce *float64 `json:"availability_in_force,omitempty"`

	RecoveryMS *float64 `json:"recovery_ms,omitempty"`
	// NotRecovered says that there is no RecoveryMS because the run ended before.
	NotRecovered bool     `json:"not_recovered,omitempty"`
	StallMS      *float64 `json:"stall_ms,omitempty"` // longest time of the measured part in which somebody wanted it and nobody got it
	// StallResource is the resource that StallMS is of, and LivenessResource the one that the
	// verdict's liveness is of; "" is the lock as a whole, and what older files say.
	StallResource    string `json:"stall_resource,omitempty"`
	LivenessResource string `json:"liveness_resource,omitempty"`
	// ZoneStallMS is the same of the zone that fared worst, and ZoneStalled which one that was;
	// absent where there is one zone, and from older files.
	ZoneStallMS *float64 `json:"zone_stall_ms,omitempty"`
	ZoneStalled string   `json:"zone_stalled,omitempty"`

	LatencyMS  *Quantiles `json:"latency_ms,omitempty"`
	AcquireMS  *Quantiles `json:"acquire_ms,omitempty"` // of the acquisitions asked for in the measured part that were granted
	HoldMS     *Quantiles `json:"hold_ms,omitempty"`
	FillMS     *Quantiles `json:"fill_ms,omitempty"`     // rooms: from open to full
	LatenessMS *Quantiles `json:"lateness_ms,omitempty"` // generator: really sent minus intended

	// Acquired is the share of the acquisitions asked for in the measured part that were granted, 0 to 1, without those that were
	// called off; absent where there was none, and from older files.
	Acquired *float64 `json:"acquired,omitempty"`

	HandoffMS *Quantiles `json:"handoff_ms,omitempty"` // a holder stopped acting until a waiter held

	WakeupsPerHandoff  *float64 `json:"wakeups_per_handoff,omitempty"`
	MessagesPerHandoff *float64 `json:"messages_per_handoff,omitempty"`

	RTTMS              *float64 `json:"rtt_ms,omitempty"` // measured median round trip between a master and what its lock talks to
	GrantsPerS         *float64 `json:"grants_per_s,omitempty"`
	HandoffsPerS       *float64 `json:"handoffs_per_s,omitempty"`
	CPUUSPerGrant      *float64 `json:"cpu_us_per_grant,omitempty"`
	AcquireRTT         *float64 `json:"acquire_rtt,omitempty"` // acquire p50 / measured RTT
	MessagesPerAcquire *float64 `json:"messages_per_acquire,omitempty"`
	Fairness           *float64 `json:"fairness,omitempty"`      // Jain's index over clients, 1 is fair
	PeerFairness       *float64 `json:"peer_fairness,omitempty"` // the same over peers, that is masters
	ZombieMS           *float64 `json:"zombie_ms,omitempty"`
	ZombieSince        string   `json:"zombie_since,omitempty"` // whose grant it begins at: SinceServer or SinceClient

	Peers []Peer `json:"peers,omitempty"` // mutex: who waited how long, by rank

	// PerRepeat are the figures of each repeat by itself.
	PerRepeat []Repeat `json:"per_repeat,omitempty"`

	Hosts []HostLoad `json:"hosts,omitempty"` // what the machines had to do

	Nodes []NodeLoad `json:"nodes,omitempty"` // what each node used, by name

	// ViolationsAtMS is when each judged violation began, since the measured part of its
	// run began; of the first 10,000 of each repeat.
	ViolationsAtMS []float64 `json:"violations_at_ms,omitempty"`

	Errors map[string]int64 `json:"errors,omitempty"`
	Faults []Fault          `json:"faults,omitempty"`

	// SharedServers says that in some repeat the lock's servers were up since an earlier run.
	SharedServers bool `json:"shared_servers,omitempty"`

	// Played says that a person broke things by hand and ended the run: no scenario asked for
	// the Faults, and nothing was expected. Rates are what the offered rate was changed to, and
	// RateAtFirst what it was before the first of them.
	Played      bool    `json:"played,omitempty"`
	RateAtFirst float64 `json:"rate_at_first,omitempty"` // per second
	Rates       []Rate  `json:"rates,omitempty"`

	Histories []string `json:"histories,omitempty"` // paths below the run's directory, one per repeat

	// Measured are the [Figures] that have no field of their own here, by their Field, and
	// whatever else a newer program wrote.
	Measured map[string]jsontext.Value `json:",inline"`
}

// Measure adds a figure that has no field of its own.
func (r *Row) Measure(field string, v float64) {
	if r.Measured == nil {
		r.Measured = map[string]jsontext.Value{}
	}
	r.Measured[field] = jsontext.Value(strconv.FormatFloat(v, 'f', -1, 64))
}

// Verdict is what was observed against what the scenario expects of the lock.
type Verdict struct {
	Status   string `json:"status"`   // expected, violated, control-silent, inconclusive, not-judged
	Safety   string `json:"safety"`   // safe, unsafe, not-judged
	Liveness string `json:"liveness"` // live, stalls, down, dead, or LivenessNotJudged
	// ShortFault says that the lock was down, but that no fault was there for long enough to
	// tell that from a stall.
	ShortFault bool     `json:"short_fault,omitempty"`
	Expected   Expected `json:"expected"` // what the scenario asks
	Why        string   `json:"why"`      // one sentence: what decided
	// Reason is Why for any language; absent from older files.
	Reason    sentence.Text `json:"reason,omitzero"`
	FailedOns []string      `json:"fail_on,omitempty"` // --fail-on thresholds that were crossed
	// Own is what was decided before --fail-on changed it; absent where it did not.
	Own *Own `json:"own,omitempty"`
}

// Tries counts repeats. Those that decide nothing are in neither Seen nor Unseen.
type Tries struct {
	Seen      int `json:"seen"`
	Unseen    int `json:"unseen"`
	Undecided int `json:"undecided"`
}

// Own is a verdict without --fail-on.
type Own struct {
	Status string        `json:"status"`
	Why    string        `json:"why"`
	Reason sentence.Text `json:"reason,omitzero"`
}

// Told is why, for any language; of an older file it is English in each.
func (v Verdict) Told() sentence.Text {
	if v.Reason.IsZero() {
		return sentence.Name(strings.TrimSuffix(v.Why, "."))
	}
	return v.Reason
}

// Say sets why.
func (v *Verdict) Say(why sentence.Text) { v.Why, v.Reason = why.Whole(), why }

// Warn adds a warning, once.
func (r *Run) Warn(w sentence.Text) {
	if !slices.Contains(r.Warnings, w.String()) {
		r.Warnings, r.Warned = append(r.Warnings, w.String()), append(r.Warned, w)
	}
}

// Warning is one of Warnings for any language; of an older file it is English in each.
func (r *Run) Warning(i int) sentence.Text {
	text := r.Warnings[i]
	if j := slices.IndexFunc(r.Warned, func(w sentence.Text) bool { return w.String() == text }); j >= 0 {
		return r.Warned[j]
	}
	return sentence.Name(text)
}

// KeepOwn notes what was decided, before --fail-on changes it.
func (v *Verdict) KeepOwn() {
	if v.Own == nil {
		v.Own = &Own{v.Status, v.Why, v.Reason}
	}
}

// Undecided says that the run decides nothing, whatever --fail-on made of its verdict.
func (v Verdict) Undecided() bool {
	if v.Own != nil {
		return v.Own.Status == StatusInconclusive
	}
	return v.Status == StatusInconclusive
}

// Restore takes back what --fail-on made of it.
func (v *Verdict) Restore() {
	if v.Own != nil {
		v.Status, v.Why, v.Reason = v.Own.Status, v.Own.Why, v.Own.Reason
	}
	v.Own, v.FailedOns = nil, nil
}

// The values of Verdict.Status.
const (
	StatusExpected      = "expected"
	StatusViolated      = "violated"
	StatusControlSilent = "control-silent"
	StatusInconclusive  = "inconclusive"
	StatusNotJudged     = "not-judged" // the scenario expects nothing of the lock
)

// The values of Verdict.Safety.
const (
	Safe            = "safe"
	Unsafe          = "unsafe"
	SafetyNotJudged = "not-judged" // the scenario does not judge it, and no violation was seen
	// LivenessNotJudged: the scenario does not judge it, and nobody, or too few, asked while a fault lasted.
	LivenessNotJudged = "not-judged"
)

// Expected is the scenario's expectation of one lock; what is empty is not judged.
type Expected struct {
	Safety   string   `json:"safety,omitempty"`
	Liveness []string `json:"liveness,omitempty"`
	// Outside and During are the least shares of operations that had to end ok, 0 to 1.
	Outside float64 `json:"availability_outside,omitempty"`
	During  float64 `json:"availability_during,omitempty"`
}

// Duplicates are those of the measured part, by cause.
type Duplicates struct {
	Total       int64 `json:"total"`
	Raced       int64 `json:"raced"`
	Overlooked  int64 `json:"overlooked"`
	Unreachable int64 `json:"unreachable"`
	// Warmup were raced or overlooked before the measured part. They are in no rate and
	// not in Total, but the lock is judged on them.
	Warmup int64 `json:"warmup,omitempty"`
	// Unclear may be raced or overlooked, and nobody can tell. They are not counted as such.
	Unclear int64 `json:"unclear,omitempty"`
}

// Quantiles of a distribution, in milliseconds.
type Quantiles struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Never is the time, in milliseconds, of what did not happen: nobody asked for the
// loss of a host, and a fault may last until after the run.
const Never = -1

// Whose record of the next grant a zombie's time begins at.
const (
	SinceServer = "server" // of the lock
	SinceClient = "client" // that got it
)

// Rate is the operations per second that were offered from a moment of the run on.
type Rate struct {
	AtMS float64 `json:"at_ms"` // since the measured part began
	PerS float64 `json:"per_s"`
}

// Fault is one entry of the proof-of-fault ledger. Times are milliseconds since
// the measured part of the run began, or [Never].
type Fault struct {
	Kind    string  `json:"kind"`
	Target  string  `json:"target"`
	AskedMS float64 `json:"asked_ms"`
	BeganMS float64 `json:"began_ms"`
	EndedMS float64 `json:"ended_ms"`
	Proven  bool    `json:"proven"`
	// KeptMS is for how long servers that had lost their data were kept away after the order to heal,
	// until what they may have granted had run out.
	KeptMS float64 `json:"kept_ms,omitzero"`
	// From and To are the hosts whose traffic it hit, what the first sent to the second; Nodes
	// the processes.
	From  []string `json:"from,omitempty"`
	To    []string `json:"to,omitempty"`
	Nodes []string `json:"nodes,omitempty"`
	// Log is the last that a node wrote that ended although nobody asked for it.
	Log []string `json:"log,omitempty"`
}
