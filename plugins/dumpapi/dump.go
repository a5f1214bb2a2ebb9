package dumpapi

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	l2 "github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/descriptor"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	vppl3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// dumped is an endpoint with items of a model. In its answer every item is an
// object with the item below its name and the metadata below <name>_meta; the
// fields have the names and the numbers of the generated Go code, as encoding/json
// writes it, since that is what programs know.
type dumped struct {
	path, doc string
	model     string
	name      string
	// answer makes the answer of the items; nil: a list of them.
	answer func(*Plugin, *http.Request, dumped, []api.KVWithMetadata) (any, error)
}

var dumps = []dumped{
	{"/dump/vpp/v2/interfaces", "interfaces of VPP, by index", "vpp.interfaces", "interface", (*Plugin).interfaces},
	{"/dump/vpp/v2/interfaces/{type}", "interfaces of VPP of a type (loopback, ethernet, memif, tap, afpacket, vxlan, ...), by index",
		"vpp.interfaces", "interface", (*Plugin).interfaces},
	{"/dump/vpp/v2/bd", "bridge domains of VPP, by number", "vpp.l2.bridge-domain", "bridge_domain", (*Plugin).bridgeDomains},
	{"/dump/vpp/v2/fib", "entries of the L2 FIB of VPP", "vpp.l2.fib", "fib", nil},
	{"/dump/vpp/v2/xc", "cross connects of VPP", "vpp.l2.xconnect", "x_connect", nil},
	{"/dump/vpp/v2/routes", "routes of VPP", "vpp.route", "route", nil},
	{"/dump/vpp/v2/arps", "static ARP entries of VPP", "vpp.arp", "arp", nil},
	{"/dump/vpp/v2/vrrps", "virtual routers of VPP", "vpp.vrrp", "vrrp", nil},
	{"/dump/vpp/v2/ipscanneigh", "how VPP checks its neighbours", "vpp.ipscanneigh-global", "ip_scan_neigh", nil},
	{"/dump/vpp/v2/proxyarp/interfaces", "interfaces on which VPP answers for others", "vpp.proxyarp-global", "interface",
		func(_ *Plugin, _ *http.Request, d dumped, kvs []api.KVWithMetadata) (any, error) {
			return parts(d.name, kvs, (*vppl3.ProxyARP).GetInterfaces), nil
		}},
	{"/dump/vpp/v2/proxyarp/ranges", "addresses that VPP answers for", "vpp.proxyarp-global", "range",
		func(_ *Plugin, _ *http.Request, d dumped, kvs []api.KVWithMetadata) (any, error) {
			return parts(d.name, kvs, (*vppl3.ProxyARP).GetRanges), nil
		}},
	{"/dump/linux/v2/interfaces", "interfaces of Linux", "linux.interfaces.interface", "interface", nil},
	{"/dump/linux/v2/routes", "routes of Linux", "linux.l3.route", "route", nil},
	{"/dump/linux/v2/arps", "static ARP entries of Linux", "linux.l3.arp", "arp", nil},
}

// dump reads the southbound and answers.
func (p *Plugin) dump(w http.ResponseWriter, r *http.Request, d dumped, descriptor string) {
	kvs, err := p.Scheduler.DumpValuesByDescriptor(descriptor, api.SBView)
	if err != nil {
		rest.WriteError(w, http.StatusServiceUnavailable, fmt.Errorf("read from the southbound: %w", err))
		return
	}
	kvs = slices.DeleteFunc(slices.Clone(kvs), func(kv api.KVWithMetadata) bool { return kv.Value == nil })
	if !rest.ShowSecrets(r) {
		for i := range kvs {
			kvs[i].Value, _ = logging.HideSecrets(kvs[i].Value)
		}
	}
	answer := list
	if d.answer != nil {
		answer = d.answer
	}
	body, err := answer(p, r, d, kvs)
	if err != nil {
		rest.WriteError(w, http.StatusNotFound, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, body)
}

// list is the answer for items that have no number.
func list(_ *Plugin, _ *http.Request, d dumped, kvs []api.KVWithMetadata) (any, error) {
	all := []map[string]any{}
	for _, kv := range kvs {
		all = append(all, map[string]any{d.name: kv.Value, d.name + "_meta": kv.Metadata})
	}
	return all, nil
}

// parts are the elements of a list within the items.
func parts[V proto.Message, E any](name string, kvs []api.KVWithMetadata, of func(V) []E) []map[string]any {
	all := []map[string]any{}
	for _, kv := range kvs {
		v, ok := kv.Value.(V)
		if !ok {
			continue
		}
		for _, e := range of(v) {
			all = append(all, map[string]any{name: e})
		}
	}
	return all
}

// bridgeDomainMeta is the metadata of a bridge domain.
type bridgeDomainMeta struct {
	ID uint32 `json:"bridge_domain_id"`
}

func (p *Plugin) bridgeDomains(_ *http.Request, d dumped, kvs []api.KVWithMetadata) (any, error) {
	all := map[string]any{}
	for _, kv := range kvs {
		meta, ok := kv.Metadata.(*l2.BDMeta)
		if !ok {
			return nil, fmt.Errorf("%s: there is no number of the bridge domain", kv.Key)
		}
		all[decimal(meta.ID)] = map[string]any{d.name: kv.Value, d.name + "_meta": bridgeDomainMeta{meta.ID}}
	}
	return all, nil
}

// interfaceTypes are the names of types in paths.
var interfaceTypes = map[string]interfaces.Interface_Type{
	"loopback": interfaces.Interface_SOFTWARE_LOOPBACK,
	"ethernet": interfaces.Interface_DPDK,
	"memif":    interfaces.Interface_MEMIF,
	"tap":      interfaces.Interface_TAP,
	"afpacket": interfaces.Interface_AF_PACKET,
	"vxlan":    interfaces.Interface_VXLAN_TUNNEL,
	"bond":     interfaces.Interface_BOND_INTERFACE,
	"gre":      interfaces.Interface_GRE_TUNNEL,
	"gtpu":     interfaces.Interface_GTPU_TUNNEL,
	"ipip":     interfaces.Interface_IPIP_TUNNEL,
	//lint:ignore SA1019 deprecated, but part of the wire schema
	"ipsec":     interfaces.Interface_IPSEC_TUNNEL,
	"rdma":      interfaces.Interface_RDMA,
	"sub":       interfaces.Interface_SUB_INTERFACE,
	"vmxnet3":   interfaces.Interface_VMXNET3_INTERFACE,
	"wireguard": interfaces.Interface_WIREGUARD_TUNNEL,
}

// interfaceMeta is what VPP tells of an interface besides its configuration.
type interfaceMeta struct {
	SwIfIndex    uint32    `json:"sw_if_index"`
	SupSwIfIndex uint32    `json:"sub_sw_if_index"` // of the parent; its own if it has none
	L2Address    string    `json:"l2_address"`      // in base64
	InternalName string    `json:"internal_name"`
	DevType      string    `json:"dev_type"`
	AdminUp      bool      `json:"is_admin_state_up"`
	LinkUp       bool      `json:"is_link_state_up"`
	LinkDuplex   uint32    `json:"link_duplex"`
	LinkMTU      uint32    `json:"link_mtu"`
	MTU          [4]uint32 `json:"mtu"`
	LinkSpeed    uint32    `json:"link_speed"` // in kbit/s
	SubID        uint32    `json:"sub_id"`
	Tag          string    `json:"tag"`
	DHCP         any       `json:"dhcp"`
	VrfIPv4      uint32    `json:"vrf_ipv4"`
	VrfIPv6      uint32    `json:"vrf_ipv6"`
	PCI          uint32    `json:"pci"`
}

func (p *Plugin) interfaces(r *http.Request, d dumped, kvs []api.KVWithMetadata) (any, error) {
	only, err := wantedType(r.PathValue("type"))
	if err != nil {
		return nil, err
	}
	details := map[uint32]vppcalls.Details{}
	if p.Interfaces != nil {
		all, err := p.Interfaces.DumpInterfaces(r.Context())
		if err != nil {
			p.Log.Warn("what VPP tells of its interfaces cannot be read", "error", err)
		}
		for _, one := range all {
			details[one.SwIfIndex] = one
		}
	}
	all := map[string]any{}
	for _, kv := range kvs {
		itf, isInterface := kv.Value.(*interfaces.Interface)
		meta, hasMeta := kv.Metadata.(*ifaceidx.IfMeta)
		if !isInterface || !hasMeta || meta == nil || only != nil && itf.Type != *only {
			continue
		}
		all[decimal(meta.SwIfIndex)] = map[string]any{d.name: itf, d.name + "_meta": metaOf(meta, details)}
	}
	return all, nil
}

// wantedType returns nil for all types.
func wantedType(name string) (*interfaces.Interface_Type, error) {
	if name == "" {
		return nil, nil
	}
	t, ok := interfaceTypes[name]
	if !ok {
		return nil, fmt.Errorf("interfaces of the type %q: expected one of %s", name, strings.Join(slices.Sorted(maps.Keys(interfaceTypes)), ", "))
	}
	return &t, nil
}

func metaOf(meta *ifaceidx.IfMeta, details map[uint32]vppcalls.Details) interfaceMeta {
	m := interfaceMeta{
		SwIfIndex: meta.SwIfIndex, SupSwIfIndex: meta.SwIfIndex, InternalName: meta.InternalName, DevType: meta.DevType,
		VrfIPv4: meta.Vrf, VrfIPv6: meta.Vrf,
	}
	d, ok := details[meta.SwIfIndex]
	if !ok {
		return m
	}
	m.L2Address = base64.StdEncoding.EncodeToString(d.MAC[:])
	m.AdminUp, m.LinkUp, m.LinkDuplex, m.LinkSpeed = d.AdminUp, d.LinkUp, d.Duplex, d.Speed
	m.LinkMTU, m.MTU[0], m.Tag = d.MTU, d.MTU, d.Tag
	if d.SubInterface {
		m.SupSwIfIndex, m.SubID = d.Parent, d.VLAN
	}
	return m
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
