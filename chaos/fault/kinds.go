package fault

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/chaos/link"
	"locklab/internal/damage"
	"locklab/internal/strictyaml"
	"locklab/workloads/history"
)

// Faults too short or too small for the probes to see are refused before the start. On an idle machine a
// probe's round trip varies by 0.25 ms, and the timers of the links by 0.2 ms. On a busier machine, or with
// more jitter in the topology, the run decides: a shift that the variation just before it hides is not
// proven.
const (
	// LeastTime is the shortest time that a fault may be on. A cut is seen after 25 ms and three missed
	// probes, a delay after eight round trips, and probes leave every 5 ms at best. A proof takes half of
	// this time, and the fault must still be in force then.
	LeastTime = 100 * time.Millisecond
	// mostTime bounds delays and the parts of a flap.
	mostTime = time.Minute
	// leastShift is the least that a fault adds to one-way times: half of it is twice the variation of round
	// trips.
	leastShift = time.Millisecond
	// leastStall is the least delay of single chunks: any program may lose its CPU for a few milliseconds.
	leastStall = 20 * time.Millisecond
	// mostBytes is the rate in bytes per second at which a probe, at most 16 KiB, takes leastShift.
	mostBytes = 16_000_000
	// minFlap is the shortest part of a flap: a dozen probes.
	minFlap = 60 * time.Millisecond
	// leastStep is the least step of a clock: a proof must tell it from the time that reading a clock takes.
	leastStep = time.Second
	mostStep  = 24 * time.Hour
	// leastDrift is the least distance of a clock's rate from 1: to prove less takes many times LeastTime.
	leastDrift = 0.1
	mostRate   = 10
)

// Kinds are all kinds of faults, sorted by name.
func Kinds() []Kind {
	all := slices.Concat(linkKinds(), nodeKinds(), []Kind{externalKind()})
	slices.SortFunc(all, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// linkKinds are faults of the traffic between hosts.
func linkKinds() []Kind {
	mode := Field{
		"mode", "hold",
		"what becomes of what is sent: hold (it arrives after the heal), drop, or reset (with its connection; both ways " +
			"only)", true,
	}
	return []Kind{
		{
			Name: "partition", Summary: "traffic is cut, both ways or one way",
			Fields: traffic(mode), read: readCut,
		},
		{
			Name: "flap", Summary: "traffic is cut, passes, is cut again, and so on",
			Fields: traffic(
				mode,
				Field{"down", "300ms", "for how long it is cut: at least 60ms", true},
				Field{"up", "700ms", "for how long it passes then: at least 60ms", true},
			),
			read: readFlap,
		},
		{
			Name: "latency", Summary: "traffic arrives later",
			Fields: traffic(
				Field{"delay", "50ms", "how much later, one way: at least 1ms", true},
				Field{"jitter", "10ms", "up to so much more, drawn for each chunk of bytes", false},
			),
			read: func(f fields) Fault {
				l := &link.Latency{Delay: f.duration("delay", leastShift), Jitter: f.duration("jitter", 0)}
				return onLinks(f.sides(), l, slower{l.Delay, l.Delay + l.Jitter/2})
			},
		},
		{
			Name: "jitter", Summary: "traffic arrives later, by a time that varies",
			Fields: traffic(Field{
				"jitter", "20ms", "up to so much later, one way, drawn for each chunk of bytes: at least 2ms", true,
			}),
			read: func(f fields) Fault {
				l := &link.Latency{Jitter: f.duration("jitter", 2*leastShift)}
				half := l.Jitter / 2 // half of the chunks are at least this late
				return onLinks(f.sides(), l, bychance{slower{half, half}, half, 0.5})
			},
		},
		{
			Name: "bandwidth", Summary: "every connection carries so many bytes a second at most",
			Fields: traffic(Field{
				"bytes_per_s", "100000", "what every connection carries at most, one way: 1 to 16000000", true,
			}),
			read: func(f fields) Fault {
				text := f.need("bytes_per_s").Text()
				rate, err := strconv.ParseInt(text, 10, 64)
				if err != nil || rate < 1 || rate > mostBytes {
					f.Get("bytes_per_s").Fail("%q: want a whole number from 1 to %d: probes see no more", text, mostBytes)
				}
				return onLinks(f.sides(), &link.Bandwidth{BytesPerS: rate}, slower{link.ProbeTime(rate), link.ProbeTime(rate)})
			},
		},
		{
			Name: "flaky", Summary: "a share of what is sent comes late, and all behind it, as where packets are lost",
			Fields: traffic(
				Field{"loss", "0.05", "the share that comes late: above 0, up to 1", true},
				Field{"stall", "200ms", "how late: at least 20ms", true},
			),
			read: func(f fields) Fault {
				loss, ok := strictyaml.Decimal(f.need("loss").Text())
				if !ok || loss == 0 || loss > 1 {
					f.Get("loss").Fail("want a share above 0, up to 1, such as 0.05")
				}
				stall := f.duration("stall", leastStall)
				return onLinks(f.sides(), &link.Flaky{Loss: loss, Stall: stall}, bychance{slower{stall, stall}, stall / 2, loss})
			},
		},
	}
}

func readCut(f fields) Fault {
	mode := f.need("mode").OneOf("hold", "drop", "reset")
	s := f.sides()
	if mode == "reset" && !s.both {
		f.Get("mode").Fail("a reset hits both ways: want between: instead of from: and to:")
	}
	how := map[string]link.Effect{"hold": new(link.Hold), "drop": new(link.Drop), "reset": new(link.Reset)}
	fault := onLinks(s, how[mode], silent{silence})
	if fault.Cut = map[string]string{"hold": "held", "drop": "dropped", "reset": "reset"}[mode]; !s.both {
		fault.Cut = "one-way"
	}
	return fault
}

func readFlap(f fields) Fault {
	down, up := f.duration("down", minFlap), f.duration("up", minFlap)
	fault := readCut(f)
	fault.Cut = "flapping"
	fault.windows = func(from, until time.Duration) (windows []Window) {
		for at := from; at < until && (at == from || until-at >= minFlap); at += down + up {
			windows = append(windows, Window{at, min(at+down, until)})
		}
		return windows
	}
	return fault
}

// nodeKinds are faults of processes, their clocks and their disks.
func nodeKinds() []Kind {
	return []Kind{
		{
			Name: "kill", Summary: "processes get SIGKILL; they start again when the fault ends",
			Fields: []Field{hits("holder"), lost()}, read: readKill,
		},
		{
			Name: "restart", Summary: "processes get SIGKILL and start again at once",
			Fields: []Field{hits("one:server"), lost()}, Instant: true, read: readKill,
		},
		{
			Name: "pause",
			Summary: "processes get SIGSTOP, as in a long garbage collection or a VM's migration, and run on when the fault " +
				"ends",
			Fields: []Field{hits("holder"), {
				"point", "granted", "stop masters, each where its client next comes to it: acquiring (nothing sent yet), granted " +
					"(nothing done yet that others see), " +
					"releasing (nothing sent yet)", false,
			}},
			read: readPause,
		},
		{
			Name: "power-loss",
			Summary: "processes die at once, and their disks forget what was not synced, bytes and names; they start again " +
				"when the fault ends",
			Fields: []Field{
				hits("majority:server"),
				{
					"torn", "on", "with on, the file that was written to last keeps what was not synced, up to the middle of its " +
						"last write", false,
				},
				{
					"names", "strict", "with strict, only the sync of a directory makes names in it durable, as POSIX has it; else " +
						"that of a new file does, too, as in the file systems of Linux", false,
				},
			},
			read: func(f fields) Fault {
				power := damage.Power{Torn: f.only("torn", "on"), Strict: f.only("names", "strict")}
				return prepared(onNodes(f.target(), func(sc scene, found []string) (Plan, error) {
					return Plan{Kill: found, Cut: sc.onDisk(found), Power: power}, nil
				}))
			},
		},
		{
			Name: "zone-failure", Summary: "a zone's processes die and its connections are reset; then it returns",
			Fields: []Field{
				{"target", "zone:a", "the zone: zone: and its name, or first-zone", true},
				{"power", "on", "with on, its disks lose what was not synced, too", false},
				lost(),
			},
			read: readZoneFailure,
		},
		{
			Name: "clock-step", Summary: "wall clocks of processes jump, and back when the fault ends",
			Fields: []Field{hits("role:redis"), {"by", "1m", "how far, or -1m for back: 1s to 24h", true}},
			read: func(f fields) Fault {
				by := f.need("by")
				step, err := time.ParseDuration(by.Text())
				if by.Given() && (err != nil || step.Abs() < leastStep || step.Abs() > mostStep) {
					by.Fail("%q: want a duration of at least %v, up to %v, forward or back, such as 1m or -1m", by.Text(), leastStep,
						mostStep)
				}
				return prepared(onNodes(f.target(), func(_ scene, found []string) (Plan, error) {
					return Plan{Clocks: found, Step: step}, nil
				}))
			},
		},
		{
			Name:    "clock-drift",
			Summary: "clocks of processes run too fast or too slowly; they are set right when the fault ends",
			Fields:  []Field{hits("role:redis"), {"rate", "1.5", "how fast: 0.1 to 10, and at least 0.1 off 1", true}},
			read: func(f fields) Fault {
				rate := f.need("rate")
				r, ok := strictyaml.Decimal(rate.Text())
				if rate.Given() && (!ok || r < leastDrift || r > mostRate || math.Abs(r-1) < leastDrift) {
					rate.Fail("%q: want a number from %v to %v that is at least %v off 1, such as 1.5 or 0.5", rate.Text(),
						leastDrift, mostRate, leastDrift)
				}
				return prepared(onNodes(f.target(), func(_ scene, found []string) (Plan, error) {
					return Plan{Clocks: found, Rate: r}, nil
				}))
			},
		},
		{
			Name: "slow-disk", Summary: "each fsync of processes takes longer, as on a disk that fails or that others use",
			Fields: []Field{hits("one:raft"), {"delay", "200ms", "how much longer: at least 1ms", true}},
			read: func(f fields) Fault {
				return onDisks(f.target(), damage.Disk{Delay: f.duration("delay", leastShift)})
			},
		},
		{
			Name: "full-disk",
			Summary: "processes cannot write to their files (ENOSPC); they are killed and start again, with their data, when " +
				"the fault ends",
			Exits:  history.ExitsAlone,
			Fields: []Field{hits("one:raft")},
			read:   func(f fields) Fault { return onDisks(f.target(), damage.Disk{Full: true}) },
		},
	}
}

func readKill(f fields) Fault {
	lost := f.Get("lose_data").Texts()
	fault := onNodes(f.target(), func(sc scene, found []string) (Plan, error) {
		return Plan{Kill: found, Wipe: sc.ofRoles(found, lost)}, nil
	})
	fault.LoseData = lost
	return fault
}

func readPause(f fields) Fault {
	point := ""
	if at := f.Get("point"); at.Given() {
		point = at.OneOf(history.PointAcquiring, history.PointGranted, history.PointReleasing)
	}
	fault := onNodes(f.target(), func(_ scene, found []string) (Plan, error) {
		return Plan{Pause: found, Point: point}, nil
	})
	if fault.Aim.Point = point; point != "" {
		fault.Target += " at " + point
	}
	return fault
}

// readZoneFailure reads a fault that resets a zone's connections and kills its nodes, which may lose data.
func readZoneFailure(f fields) Fault {
	zone, lost, power := f.target(FirstZone, "zone"), f.Get("lose_data").Texts(), f.only("power", "on")
	fault := onLinks(sides{zone, selector{kind: Others}, true}, new(link.Reset), silent{silence})
	cut := fault.plan
	fault.Target, fault.LoseData, fault.Prepared = zone.String(), lost, power
	fault.plan = func(ctx context.Context, id string, sc scene) (Plan, error) {
		p, err := cut(ctx, id, sc)
		if err != nil {
			return Plan{}, err
		}
		p.Kill, err = sc.nodes(ctx, zone)
		p.Wipe = sc.ofRoles(p.Kill, lost)
		if power {
			p.Cut = sc.onDisk(p.Kill)
		}
		return p, err
	}
	return fault
}

// onDisks is a fault of the disks of the target's nodes, without those that keep nothing on disk.
func onDisks(target selector, disk damage.Disk) Fault {
	return prepared(onNodes(target, func(sc scene, found []string) (p Plan, err error) {
		if p.Disk, p.Disks = disk, sc.onDisk(found); len(p.Disks) == 0 {
			err = fmt.Errorf("nothing is kept on a disk by %s: %w", strings.Join(found, ", "), ErrNoTarget)
		}
		return p, err
	}))
}

func prepared(fault Fault) Fault {
	fault.Prepared = true
	return fault
}
