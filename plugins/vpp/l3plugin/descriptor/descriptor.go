// Package descriptor teaches the scheduler to handle layer 3 items of VPP: VRF
// tables, routes, neighbours and their ageing, proxy ARP, cross-connects, DHCP
// proxies, tunnel endpoints and virtual routers.
package descriptor

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// Southbound names the session that VPP values live in.
const Southbound = "vpp"

// Names of the descriptors.
const (
	VrfTableName          = "vpp-vrf-table"
	RouteName             = "vpp-route"
	ARPName               = "vpp-arp"
	ProxyARPName          = "vpp-proxy-arp"
	ProxyARPInterfaceName = "vpp-proxy-arp-interface"
	IPScanNeighborName    = "vpp-ip-scan-neighbor"
	L3XConnectName        = "vpp-l3xc"
	DHCPProxyName         = "dhcp-proxy"
	TeibName              = "vpp-teib"
	VRRPName              = "vrrp"
)

// interfaceName is the descriptor of interfaces, whose metadata are needed to
// recognise them.
const interfaceName = "vpp-interface"

// concurrency is how many routes or neighbours may be in flight at a time: they
// are independent of each other.
const concurrency = 256

// Interfaces are the interfaces that exist in VPP.
type Interfaces interface {
	LookupByName(name string) (*ifaceidx.IfMeta, bool)
	// Snapshot tells which of them VPP has now, by their indexes.
	Snapshot(ctx context.Context) *ifaceidx.Snapshot
}

func swIfIndex(ifs Interfaces, name string) (uint32, error) {
	m, ok := ifs.LookupByName(name)
	if !ok {
		return 0, fmt.Errorf("interface %q is not known to exist in VPP", name)
	}
	return m.SwIfIndex, nil
}

func interfaceDependency(label, name string) kvs.Dependency {
	return kvs.Dependency{Label: label, Key: ifmodel.InterfaceModel.KeyFor(name)}
}

// tableDependency is on a table of the version of IP of addr; none is needed on
// table 0, which always exists.
func tableDependency(label string, id uint32, addr netip.Addr) []kvs.Dependency {
	if id == 0 {
		return nil
	}
	return []kvs.Dependency{{Label: label, Key: model.VrfTableKey(id, protocolOf(addr))}}
}

func protocolOf(addr netip.Addr) l3.VrfTable_Protocol {
	if addr.Is6() {
		return l3.VrfTable_IPV6
	}
	return l3.VrfTable_IPV4
}

// VRFMeta is the metadata of a VRF table. It is never changed.
type VRFMeta struct {
	// Index is the number of the table.
	Index    uint32
	Protocol l3.VrfTable_Protocol
	// FlowHash is what the hash was set to in this session with VPP, which does
	// not tell; nil if it was not set.
	FlowHash *l3.VrfTable_FlowHashSettings
}

// ByIndex finds VRF tables by their number.
var ByIndex = idxmap.Index[*VRFMeta, uint32]{
	Name: "vrf_index",
	Keys: func(m *VRFMeta) []uint32 {
		if m == nil {
			return nil
		}
		return []uint32{m.Index}
	},
}

// VrfTables are the VRF tables that exist in VPP.
type VrfTables struct{ m idxmap.Map[*VRFMeta] }

// NewVrfTables makes the view of the metadata map of the descriptor
// vpp-vrf-table.
func NewVrfTables(r idxmap.Reader) (VrfTables, error) {
	m, err := idxmap.Of[*VRFMeta](r)
	return VrfTables{m}, err
}

// Map returns the underlying map, for listing and for watching changes.
func (v VrfTables) Map() idxmap.Map[*VRFMeta] { return v.m }

// LookupByIndex returns the sorted names of the tables with the number: one
// for each version of IP.
func (v VrfTables) LookupByIndex(index uint32) []string { return ByIndex.Lookup(v.m, index) }

// invalid is the error of Validate for one field.
func invalid(field, format string, args ...any) error {
	return kvs.NewInvalidValueError(fmt.Errorf(format, args...), field)
}
