package vnet

import (
	"go.fd.io/govpp/binapi/ip_types"
)

// natReceives are the outside addresses that VPP receives, so that it answers ARP requests for
// them: it adds them to the table of each outside interface. It removes them from the table in
// which the interface is then.
type natReceives struct {
	entries map[natReceived]uint32 // the interface that was added last
	users   map[natReceiver]int    // of ED, which counts
}

type natReceived struct {
	table uint32
	addr  ip_types.IP4Address
}

type natReceiver struct {
	addr  ip_types.IP4Address
	index uint32
}

func newNATReceives() natReceives {
	return natReceives{map[natReceived]uint32{}, map[natReceiver]int{}}
}

// receive adds or removes an address for all outside interfaces.
func (n *nat44) receive(addr ip_types.IP4Address, add bool) {
	for _, p := range []*pool[natInterface]{&n.ifs, &n.outputs} {
		for _, i := range p.all() {
			if i.outside {
				n.receiveOn(i.index, addr, add)
			}
		}
	}
}

// receiveAll adds or removes all addresses for an interface.
func (n *nat44) receiveAll(index uint32, add bool) {
	for _, a := range n.addresses {
		n.receiveOn(index, a.addr, add)
	}
	for _, m := range n.mappings.all() {
		if !n.ei || m.addrOnly && !m.identity {
			n.receiveOn(index, m.external, add)
		}
	}
}

func (n *nat44) receiveOn(index uint32, addr ip_types.IP4Address, add bool) {
	if !n.ei {
		reg := natReceiver{addr, index}
		switch users := n.receives.users[reg]; {
		case add:
			n.receives.users[reg]++
			if users > 0 {
				return
			}
		case users == 0:
			return
		case users > 1:
			n.receives.users[reg]--
			return
		default:
			delete(n.receives.users, reg)
		}
	}
	entry := natReceived{addr: addr}
	if i := n.VNet.ifs.at(index); i != nil {
		entry.table = i.table[ip4]
	}
	if add {
		n.receives.entries[entry] = index
	} else {
		delete(n.receives.entries, entry)
	}
}
