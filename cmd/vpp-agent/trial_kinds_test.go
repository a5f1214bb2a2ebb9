package main

import (
	"fmt"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// changing adds an interface that is of another type in each variant.
func (g *group) changing() {
	i, device := &interfaces.Interface{Name: g.name("x"), IpAddresses: []string{fmt.Sprintf("10.%d.40.1/24", g.n)}}, ""
	switch g.v {
	case 1:
		i.Type, device = interfaces.Interface_SOFTWARE_LOOPBACK, "Loopback"
	case 2:
		i.Type, device = interfaces.Interface_TAP, "virtio"
		i.Link = &interfaces.Interface_Tap{Tap: &interfaces.TapLink{Version: 2}}
		g.expect("if "+i.Name+" rx queue 0", "RX_MODE_API_POLLING", "if "+i.Name)
	case 3:
		i.Type, i.Link = interfaces.Interface_MEMIF, g.slave(5000)
		device = fmt.Sprintf("memif %d", i.GetMemif().Id)
	default:
		return
	}
	g.vppInterface(i, device)
}

// slave is the link of a memif on a socket of its own.
func (g *group) slave(id int) *interfaces.Interface_Memif {
	l := &interfaces.MemifLink{Id: uint32(id + g.n), SocketFilename: fmt.Sprintf("/run/s%d.sock", g.n)}
	g.expect("memif-socket "+l.SocketFilename, "")
	return &interfaces.Interface_Memif{Memif: l}
}

// borrowing adds an interface that borrows the addresses of the loopback, or has its own.
func (g *group) borrowing() {
	i := &interfaces.Interface{Name: g.name("un"), Type: interfaces.Interface_MEMIF, Link: g.slave(2000)}
	device, name := fmt.Sprintf("memif %d", i.GetMemif().Id), "if "+i.Name
	if g.v%2 == 0 {
		i.IpAddresses = []string{fmt.Sprintf("10.%d.50.1/24", g.n)}
		g.vppInterface(i, device)
		return
	}
	i.Unnumbered = &interfaces.Interface_Unnumbered{InterfaceWithIp: g.name("lo")}
	g.vppInterface(i, device)
	lender := "if " + g.name("lo")
	g.expect(name+" unnumbered", "to "+g.name("lo"), name+" table", lender+fmt.Sprintf(" address 10.%d.%d.1/24", g.n, g.v))
	g.expect(name+" table", g.objects[lender+" table"], name, lender+" table", name+" unnumbered")
}

// subInterface adds a VLAN on the TAP.
func (g *group) subInterface() {
	i := &interfaces.Interface{
		Name: g.name("sub"), Type: interfaces.Interface_SUB_INTERFACE, IpAddresses: []string{fmt.Sprintf("10.%d.60.1/24", g.n)},
		Link: &interfaces.Interface_Sub{Sub: &interfaces.SubInterface{ParentName: g.name("tap"), SubId: uint32(100 + g.v%2)}},
	}
	g.vppInterface(i, fmt.Sprintf("virtio of %s vlan %d/0", g.name("tap"), i.GetSub().SubId), "if "+g.name("tap"))
	g.expect("if "+i.Name+" mtu", "0", "if "+i.Name)
}
