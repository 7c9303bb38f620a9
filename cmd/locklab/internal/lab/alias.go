package lab

import (
	"crypto/rand"
	"encoding/binary"
	"net/netip"

	"locklab/chaos/link"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/nodes/topology"
)

// aliasesOf gives an address of the loopback network to every server of a lock whose servers
// tell each other addresses. It means that server on every host of the run, because the
// links of all of them listen there, each for its own host's nodes. Other runs on this
// machine must have other ones, so they are drawn, and not from the seed.
func aliasesOf(lock catalog.Lock, topo *topology.Topology) map[string]netip.AddrPort {
	var random [4]byte
	_, _ = rand.Read(random[:]) // it never fails
	network, port := binary.BigEndian.Uint16(random[:2]), binary.BigEndian.Uint16(random[2:])
	// 127.1.0.0 to 127.239.255.0, and ports that kernels do not give to who dials
	next := 127<<24 + 1<<16 + uint32(network)%(239<<8)<<8
	aliases := map[string]netip.AddrPort{}
	for _, s := range lock.Servers {
		if len(s.Dials) == 0 {
			continue
		}
		for _, n := range topo.NodesOf(s.Name) {
			next++
			var ip [4]byte
			binary.BigEndian.PutUint32(ip[:], next)
			aliases[n.Name] = netip.AddrPortFrom(netip.AddrFrom4(ip), 20000+port%10000)
		}
	}
	return aliases
}

// atAlias has the link listen at the alias of the node that it leads to, for who dials from
// that of its own node.
func (p plan) atAlias(w wire, s link.Spec) link.Spec {
	s.Name = w.from.Name + " to " + s.Name
	s.Listen, s.Source = p.aliases[w.to.Name].String(), p.aliases[w.from.Name].Addr().String()
	return s
}

// nodeAt is the node with the alias, "" if there is none.
func (p plan) nodeAt(alias string) string {
	for name, at := range p.aliases {
		if at.String() == alias {
			return name
		}
	}
	return ""
}
