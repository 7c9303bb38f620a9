package reports

import (
	"maps"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// servers counts the servers of a lock in a row by what they are and by zone. Masters and
// workers are the load's, whatever the lock; nodes of an older file have no role.
func servers(r result.Row) map[string]map[string]int {
	all := map[string]map[string]int{}
	for _, n := range r.Nodes {
		if n.Role == "" || n.Zone == "" || n.Role == "master" || n.Role == "worker" {
			continue
		}
		if all[n.Role] == nil {
			all[n.Role] = map[string]int{}
		}
		all[n.Role][n.Zone]++
	}
	return all
}

// majorityOf is the zone that has more than half of some servers; "" if none has.
func majorityOf(byZone map[string]int) (zone string, has, of int) {
	for _, n := range byZone {
		of += n
	}
	for name, n := range byZone {
		if 2*n > of {
			zone, has = name, n
		}
	}
	return zone, has, of
}

// diedWithMajority says that the zone that a row's fault took had most of the lock's servers.
func diedWithMajority(r result.Row) bool {
	for _, byZone := range servers(r) {
		zone, _, _ := majorityOf(byZone)
		if zone != "" && slices.ContainsFunc(r.Faults, func(f result.Fault) bool {
			return f.Kind == "zone-failure" && strings.TrimPrefix(f.Target, "zone:") == zone
		}) {
			return true
		}
	}
	return false
}

// majorities says which zone has most of the servers of the locks; "" where that decides
// nothing, because there is one zone, or is not known.
func majorities(say *lang.Lang, rows []result.Row) string {
	var zones []string
	var parts [][]string // of each zone
	several := map[string]bool{}
	for _, r := range rows {
		for _, n := range r.Nodes {
			several[n.Zone] = true
		}
	}
	if delete(several, ""); len(several) < 2 {
		return ""
	}
	type cluster struct {
		role, zone string
		has, of    int
	}
	var clusters []cluster
	locks, kinds := map[cluster][]string{}, map[string]int{}
	for _, r := range rows {
		all := servers(r)
		for _, role := range slices.Sorted(maps.Keys(all)) {
			c := cluster{role: role}
			c.zone, c.has, c.of = majorityOf(all[role])
			if locks[c] == nil {
				clusters = append(clusters, c)
				kinds[role]++
			}
			if lock := plain(r.Lock); !slices.Contains(locks[c], lock) {
				locks[c] = append(locks[c], lock)
			}
		}
	}
	for _, c := range clusters {
		if c.zone == "" {
			continue
		}
		at := slices.Index(zones, c.zone)
		if at < 0 {
			at, zones, parts = len(zones), append(zones, c.zone), append(parts, nil)
		}
		text := say.Sprintf("%d of %d %s servers", c.has, c.of, plain(c.role))
		if kinds[c.role] > 1 { // another lock has others of the kind
			text += " " + bracketed(strings.Join(locks[c], "; "))
		}
		parts[at] = append(parts[at], text)
	}
	var all []string
	for i, zone := range zones {
		slices.Sort(parts[i])
		all = append(all, say.Sprintf("Zone %s has the majority: %s.", plain(zone), say.List(parts[i])))
	}
	return strings.Join(all, " ")
}
