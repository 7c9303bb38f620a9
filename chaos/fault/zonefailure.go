package fault

import (
	"context"

	"locklab/chaos/toxic"
)

// ZoneFailure takes a whole zone away: its processes die and every connection
// into and out of it is reset. When it is healed the zone returns.
func (kinds) ZoneFailure() Kind {
	return Kind{
		Name:    "zone-failure",
		Summary: "a zone's processes die and its connections are reset; then it returns",
		Fields: []Field{
			{"target", "zone:a", "the zone: zone: and its name, or first-zone", true},
			{"power", "on", "with on, its disks lose what was not synced, too", false},
			lost(),
		},
		read: func(f fields) Fault {
			zone, lost, power := f.target(FirstZone, "zone"), f.loseData(), f.only("power", "on")
			cut := onLinks(sides{zone, selector{kind: Others}, true}, new(toxic.Reset), silent{silence})
			fault := onNodes(zone, lost, func(ctx context.Context, id string, sc scene) (Plan, error) {
				p, err := cut.plan(ctx, id, sc)
				if err != nil {
					return Plan{}, err
				}
				p.Kill, err = sc.nodes(ctx, zone)
				p.Wipe = sc.ofRoles(p.Kill, lost)
				if power {
					p.Cut = sc.onDisk(p.Kill)
				}
				return p, err
			})
			fault.Prepared = power
			return fault
		},
	}
}
