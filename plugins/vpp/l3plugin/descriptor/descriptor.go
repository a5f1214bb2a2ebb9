// Package descriptor teaches the scheduler to handle layer 3 items of VPP: VRF
// tables, routes, neighbours and their ageing, proxy ARP, cross-connects, DHCP
// proxies, tunnel endpoints and virtual routers.
package descriptor

import (
	"slices"
	"strconv"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

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

// Capabilities returns what layer 3 items need of VPP.
func Capabilities() []binding.Capability {
	return slices.Concat(vppcalls.Operations.Capabilities(), operations.Capabilities())
}

var operations = session.Operations{neighbors, dhcpProxies, l3xconnects, proxyARP, teibEntries}

// concurrency is how many routes or neighbours may be in flight at a time: they
// are independent of each other.
const concurrency = 256

// VRFMeta is the metadata of a VRF table. It is never changed.
type VRFMeta struct {
	// Index is the number of the table.
	Index    uint32
	Protocol l3.VrfTable_Protocol
	// FlowHash is what the hash was set to in this session with VPP, which does
	// not report; nil if it was not set.
	FlowHash *l3.VrfTable_FlowHashSettings
}

// IndexFields returns the number; see api.IndexedMetadata.
func (m *VRFMeta) IndexFields() map[string][]string {
	if m == nil {
		return nil
	}
	return map[string][]string{"index": {strconv.FormatUint(uint64(m.Index), 10)}}
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
