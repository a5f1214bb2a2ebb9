package dumpapi

import (
	"net/netip"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	linuxidx "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
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
	vppRouteMeta   struct {
		OutgoingIfIdx uint32
		IsIPv6        bool
	}
	linuxIfMeta struct {
		Index int `json:"linux_if_index"`
	}
	linuxRouteMeta struct {
		Index int `json:"interface_index"`
		Scope int `json:"link_scope"`
	}
	linuxARPMeta struct {
		Index  int `json:"interface_index"`
		Family int `json:"ip_family"`
	}
)

// noIndex is the index of no interface.
const noIndex = ^uint32(0)

// Families of addresses, and scopes of routes, in the numbers of Linux.
const familyIPv4, familyIPv6 = 2, 10

var scopes = map[linuxl3.Route_Scope]int{linuxl3.Route_SITE: 200, linuxl3.Route_LINK: 253, linuxl3.Route_HOST: 254}

// numbers finds the numbers of interfaces and bridge domains by their names.
type numbers struct {
	interfaces, domains map[string]uint32
	links               map[string]int // interfaces of Linux
}

// numbers reads what the scheduler knows, without asking the southbound.
func (p *Plugin) numbers() numbers {
	n := numbers{map[string]uint32{}, map[string]uint32{}, map[string]int{}}
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
				n.links[named.GetName()] = meta.LinuxIfIndex
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
		return vppRouteMeta{n.index(v.OutgoingInterface), dst.Addr().Is6()}
	case *vppl3.ARPEntry:
		return interfaceIndex{n.index(v.Interface)}
	case *linuxl3.Route:
		return linuxRouteMeta{n.links[v.OutgoingInterface], scopes[v.Scope]}
	case *linuxl3.ARPEntry:
		family := familyIPv4
		if addr, err := netip.ParseAddr(v.IpAddress); err == nil && addr.Is6() {
			family = familyIPv6
		}
		return linuxARPMeta{n.links[v.Interface], family}
	}
	if meta, ok := kv.Metadata.(linuxidx.LinuxIfMetadata); ok {
		return linuxIfMeta{meta.LinuxIfIndex}
	}
	return kv.Metadata
}

// byMAC and byReceiver are the keys of items in responses that are objects.
func byMAC(_ numbers, m proto.Message) string {
	return m.(*l2.FIBEntry).GetPhysAddress()
}

func byReceiver(n numbers, m proto.Message) string {
	return decimal(n.index(m.(*l2.XConnectPair).GetReceiveInterface()))
}
