// Package topology describes where everything runs: zones, the hosts in each, the
// nodes on each host, and the base latency inside and between zones.
//
// A topology is YAML, either built in ([List], such as seoul-2az) or a file that
// [Load] is given the path of:
//
//	name: two-zones
//	summary: One master in each of two zones.
//	zones:
//	  - {name: ap-northeast-2a, short: a}
//	  - {name: ap-northeast-2c, short: c}
//	latency:
//	  inside:  {rtt: 0.2ms, jitter: 0.04ms}
//	  between: {rtt: 1ms, jitter: 0.1ms}
//	  pairs:                                  # optional: zones that differ from between
//	    - {zones: [a, c], rtt: 1.4ms, jitter: 0.1ms}
//	without: {etcd: not installed here}       # optional: why no node has a role
//	hosts:
//	  - {name: master-a, zone: a, nodes: [{name: master-a, role: master}]}
//	  - name: worker-c
//	    zone: c
//	    agent: http://10.0.2.7:7500           # optional: a running agent; without it, one is started locally
//	    nodes: [{name: worker-c, role: worker}]
//
// Names are lower-case letters, digits and dashes. Round trips are what a request
// and its answer take together; one way is half of it, and so is its jitter.
// Everything wrong with a file is reported with its file, line and field, and
// what would be right there.
package topology
