package linuxconfig

import (
	"google.golang.org/protobuf/proto"

	linuxinterfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
	linuxl3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	nftables "github.com/tenuto-dev/tenuto/proto/ligato/linux/nftables"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/linux/punt"
	netalloc "github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
)

// Delete collects items to remove; the arguments are the fields that identify an
// item among the items of its type.
type Delete struct{ r *Request }

// Put continues with items to add or to change.
func (d *Delete) Put() *Put { return d.r.Put() }

// Send sends the request, see Request.Send.
func (d *Delete) Send() Reply { return d.r.Send() }

// Interface removes an interface.
func (d *Delete) Interface(name string) *Delete {
	d.r.remove(&linuxinterfaces.Interface{Name: name})
	return d
}

// ArpEntry removes a static neighbour.
func (d *Delete) ArpEntry(iface, ipAddress string) *Delete {
	d.r.remove(&linuxl3.ARPEntry{Interface: iface, IpAddress: ipAddress})
	return d
}

// Route removes a route of the table of its interface.
func (d *Delete) Route(dstNetwork, iface string) *Delete {
	d.r.remove(&linuxl3.Route{DstNetwork: dstNetwork, OutgoingInterface: iface})
	return d
}

// TableRoute removes a route of another table.
func (d *Delete) TableRoute(table uint32, dstNetwork, iface string) *Delete {
	d.r.remove(&linuxl3.Route{Table: table, DstNetwork: dstNetwork, OutgoingInterface: iface})
	return d
}

// Rule removes a policy rule.
func (d *Delete) Rule(name string) *Delete {
	d.r.remove(&linuxl3.Rule{Name: name})
	return d
}

// Nexthop removes a nexthop object.
func (d *Delete) Nexthop(name string) *Delete {
	d.r.remove(&linuxl3.Nexthop{Name: name})
	return d
}

// IptablesRuleChain removes a chain of packet filter rules.
func (d *Delete) IptablesRuleChain(name string) *Delete {
	d.r.remove(&iptables.RuleChain{Name: name})
	return d
}

// NftablesTable removes a table of nftables.
func (d *Delete) NftablesTable(name string) *Delete {
	d.r.remove(&nftables.Table{Name: name})
	return d
}

// PuntProxy removes a proxy between ports and Unix sockets.
func (d *Delete) PuntProxy(name string) *Delete {
	d.r.remove(&punt.Proxy{Name: name})
	return d
}

// IPAllocation removes an allocated address.
func (d *Delete) IPAllocation(network, iface string) *Delete {
	d.r.remove(&netalloc.IPAllocation{NetworkName: network, InterfaceName: iface})
	return d
}

// Item removes an item of any model; of its fields only those are used that its key has.
func (d *Delete) Item(v proto.Message) *Delete { d.r.remove(v); return d }
