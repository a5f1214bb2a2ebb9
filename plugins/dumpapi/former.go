package dumpapi

import (
	"cmp"
	"net/netip"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	linuxidx "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	l2desc "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/descriptor"
	linuxl3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
	vppl3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// The metadata of items in the responses of the predecessor: numbers of what the item
// names. Fields without a value here do not exist in our responses.
type (
	bridgeDomainMeta struct {
		ID uint32 `json:"bridge_domain_id"`
	}
	fibMeta struct {
		Domain    uint32 `json:"bridge_domain_id"`
		Interface uint32 `json:"outgoing_interface_sw_if_idx"`
	}
	xconnectMeta struct {
		Receive  uint32 `json:"receive_interface_sw_if_idx"`
		Transmit uint32 `json:"transmit_interface_sw_if_idx"`
	}
	interfaceIndex struct{ SwIfIndex uint32 }
	// vppRouteMeta has fields that are never set, because no item has such paths.
	vppRouteMeta struct {
		TableName                                                                                           string
		OutgoingIfIdx                                                                                       uint32
		IsIPv6                                                                                              bool
		Afi                                                                                                 uint32
		IsLocal, IsUDPEncap, IsUnreach, IsProhibit, IsResolveHost, IsResolveAttached, IsDvr, IsSourceLookup bool
		NextHopID, RpfID                                                                                    uint32
		LabelStack                                                                                          []label
	}
	label struct {
		IsUniform       bool
		Label, TTL, Exp uint32
	}
	linuxIfMeta struct {
		Index         int    `json:"linux_if_index"`
		Parent        int    `json:"parent_index"` // of the peer of a VETH, or of the link beneath
		Master        int    `json:"master_index"`
		OperState     int    `json:"oper_state"`
		Flags         int    `json:"flags"`
		Encapsulation string `json:"encapsulation"`
		RXQueues      int    `json:"num_rx_queue"`
		TXQueues      int    `json:"num_tx_queue"`
		TXQueueLength int    `json:"tx_queue_len"`
	}
	linuxRouteMeta struct {
		Index    int    `json:"interface_index"`
		Scope    int    `json:"link_scope"`
		Protocol int    `json:"protocol"`
		MTU      int    `json:"mtu"` // always 0, as no route has one
		Table    uint32 `json:"table"`
	}
	linuxARPMeta struct {
		Index  int `json:"interface_index"`
		Family int `json:"ip_family"`
		VNI    int `json:"vni"` // always 0, as no entry has one
	}
)

// noIndex is the index of no interface.
const noIndex = ^uint32(0)

// Families of addresses, and scopes of routes, in the numbers of Linux.
const familyIPv4, familyIPv6 = 2, 10

var scopes = map[linuxl3.Route_Scope]int{linuxl3.Route_SITE: 200, linuxl3.Route_LINK: 253, linuxl3.Route_HOST: 254}

// Flags and operational states of links, in the numbers of Linux.
const (
	flagUp, flagBroadcast, flagLoopback, flagRunning, flagMulticast, flagLowerUp = 1, 2, 8, 0x40, 0x1000, 0x10000

	operDown, operUp = 2, 6
)

// numbers finds the numbers of interfaces and bridge domains by their names.
type numbers struct {
	interfaces, domains map[string]uint32
	links               map[string]linuxidx.LinuxIfMetadata // interfaces of Linux
	look                func(name string) (netlinkapi.Link, error)
}

// numbers reads what the scheduler knows, without asking the southbound.
func (p *Plugin) numbers() numbers {
	n := numbers{map[string]uint32{}, map[string]uint32{}, map[string]linuxidx.LinuxIfMetadata{}, nil}
	if p.Links != nil {
		n.look = p.Links.Link
	}
	descriptors := p.descriptors()
	for _, model := range []string{"vpp.interfaces", "vpp.l2.bridge-domain", "linux.interfaces.interface"} {
		kvs, _ := p.Scheduler.DumpValuesByDescriptor(descriptors[model], api.CachedView) // without the plugin there are none
		for _, kv := range kvs {
			named, ok := kv.Value.(interface{ GetName() string })
			if !ok {
				continue
			}
			switch meta := kv.Metadata.(type) {
			case *ifaceidx.IfMeta:
				n.interfaces[named.GetName()] = meta.SwIfIndex
			case *l2desc.BDMeta:
				n.domains[named.GetName()] = meta.ID
			case linuxidx.LinuxIfMetadata:
				n.links[named.GetName()] = meta
			}
		}
	}
	return n
}

func (n numbers) index(name string) uint32 {
	if index, ok := n.interfaces[name]; ok {
		return index
	}
	return noIndex
}

// meta returns the metadata of an item as in the responses of the predecessor.
func (n numbers) meta(kv api.KVWithMetadata) any {
	switch v := kv.Value.(type) {
	case *l2.BridgeDomain:
		if meta, ok := kv.Metadata.(*l2desc.BDMeta); ok {
			return bridgeDomainMeta{meta.ID}
		}
	case *l2.FIBEntry:
		return fibMeta{n.domains[v.BridgeDomain], n.index(v.OutgoingInterface)}
	case *l2.XConnectPair:
		return xconnectMeta{n.index(v.ReceiveInterface), n.index(v.TransmitInterface)}
	case *vppl3.Route:
		dst, _ := netip.ParsePrefix(v.DstNetwork) // as retrieved
		meta := vppRouteMeta{OutgoingIfIdx: n.index(v.OutgoingInterface), IsIPv6: dst.Addr().Is6(), LabelStack: []label{}}
		for _, l := range v.GetOutLabels() {
			meta.LabelStack = append(meta.LabelStack, label{Label: l})
		}
		return meta
	case *vppl3.ARPEntry:
		return interfaceIndex{n.index(v.Interface)}
	case *linuxl3.Route:
		return linuxRouteMeta{
			Index: n.links[v.OutgoingInterface].LinuxIfIndex, Scope: scopes[v.Scope], Protocol: int(netlinkapi.ProtocolAgent), Table: n.table(v),
		}
	case *linuxl3.ARPEntry:
		family := familyIPv4
		if addr, err := netip.ParseAddr(v.IpAddress); err == nil && addr.Is6() {
			family = familyIPv6
		}
		return linuxARPMeta{Index: n.links[v.Interface].LinuxIfIndex, Family: family}
	}
	if meta, ok := kv.Metadata.(linuxidx.LinuxIfMetadata); ok {
		return n.linkMeta(kv.Value, meta)
	}
	return kv.Metadata
}

// table is the routing table of a route.
func (n numbers) table(v *linuxl3.Route) uint32 {
	master := n.links[v.OutgoingInterface].VrfMasterIf
	return cmp.Or(v.GetTable(), n.links[master].VrfDevRT, netlinkapi.MainTable)
}

// linkMeta returns what the kernel reports about a link; if that is gone, only its index.
func (n numbers) linkMeta(m proto.Message, meta linuxidx.LinuxIfMetadata) linuxIfMeta {
	out := linuxIfMeta{Index: meta.LinuxIfIndex}
	named, ok := m.(interface{ GetName() string })
	if !ok || n.look == nil {
		return out
	}
	link, err := n.look(named.GetName())
	if err != nil {
		return out
	}
	out.Parent, out.Master, out.OperState = link.Parent, link.Master, operDown
	out.RXQueues, out.TXQueues, out.TXQueueLength = link.Queues.RX, link.Queues.TX, link.Queues.Length
	out.Encapsulation, out.Flags = "ether", flagBroadcast|flagMulticast
	if link.Loopback {
		out.Encapsulation, out.Flags = "loopback", flagLoopback
	}
	if link.Up {
		out.Flags |= flagUp
	}
	if link.Running {
		out.Flags |= flagRunning | flagLowerUp
		out.OperState = operUp
	}
	return out
}

// byMAC and byReceiver are the keys of items in responses that are objects.
func byMAC(_ numbers, m proto.Message) string {
	return m.(*l2.FIBEntry).GetPhysAddress()
}

func byReceiver(n numbers, m proto.Message) string {
	return decimal(n.index(m.(*l2.XConnectPair).GetReceiveInterface()))
}
