package sim

import "time"

// Round-trip times in milliseconds between ten regions of a public cloud, rounded, of
// the order of what anybody measures between them: Seoul, Tokyo, Singapore, Sydney,
// Mumbai, Oregon, Virginia, Frankfurt, Ireland, São Paulo. Row by row, those above
// the diagonal.
func regionRTTs() [][]int {
	return [][]int{
		{35, 75, 148, 133, 128, 180, 240, 232, 295},
		{70, 110, 130, 100, 150, 228, 204, 258},
		{93, 62, 165, 218, 160, 178, 325},
		{152, 140, 198, 250, 258, 312},
		{220, 190, 125, 125, 300},
		{65, 140, 120, 175},
		{92, 68, 113},
		{27, 205},
		{178},
	}
}

const (
	zonesPerRegion = 3
	// As in the lab's own topologies.
	rttInside  = 200 * time.Microsecond // between two hosts of a zone
	rttBetween = time.Millisecond       // between two zones of a region
)

// Geography is the delays one way between so many zones, up to MaxZones: three of a
// region, then three of the next one. So 3 zones are one region, 10 are four regions
// around the western Pacific, 30 are ten all over the world.
func Geography(zones int) [][]time.Duration {
	rtts := regionRTTs()
	delay := make([][]time.Duration, zones)
	for a := range zones {
		delay[a] = make([]time.Duration, zones)
		for b := range zones {
			from, to := min(a, b)/zonesPerRegion, max(a, b)/zonesPerRegion
			rtt := rttBetween
			switch {
			case a == b:
				rtt = rttInside
			case from != to:
				rtt = time.Duration(rtts[from][to-from-1]) * time.Millisecond
			}
			delay[a][b] = rtt / 2
		}
	}
	return delay
}
