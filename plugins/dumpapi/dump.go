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
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	vppl3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/vpp/punt"
)

// dumped is an endpoint with items of a model. Its response has the form of the
// predecessor's: every item is an object with the item and its metadata; the fields of the
// item have the names and the numbers of the generated Go code, as encoding/json writes it.
type dumped struct {
	path, doc string
	model     string
	// name is the field of the item, meta the field of its metadata. Without a name the
	// item itself is the element of the response.
	name, meta string
	// key makes the response an object of items by this key; nil: a list.
	key func(numbers, proto.Message) string
	// answer makes the answer of the items, if it is neither.
	answer func(*Plugin, *http.Request, dumped, []api.KVWithMetadata) (any, error)
}

var dumps = []dumped{
	{path: "/dump/vpp/v2/interfaces", doc: "interfaces of VPP, by index", model: "vpp.interfaces", name: "interface", answer: (*Plugin).interfaces},
	{path: "/dump/vpp/v2/interfaces/{type}", doc: "interfaces of VPP of a type (loopback, ethernet, memif, tap, afpacket, vxlan, ...), by index",
		model: "vpp.interfaces", name: "interface", answer: (*Plugin).interfaces},
	{path: "/dump/vpp/v2/bd", doc: "bridge domains of VPP", model: "vpp.l2.bridge-domain", name: "bridge_domain", meta: "bridge_domain_meta"},
	{path: "/dump/vpp/v2/fib", doc: "entries of the L2 FIB of VPP, by MAC address", model: "vpp.l2.fib", name: "fib", meta: "fib_meta", key: byMAC},
	{path: "/dump/vpp/v2/xc", doc: "cross connects of VPP, by the index of the receiving interface", model: "vpp.l2.xconnect", name: "x_connect", meta: "x_connect_meta", key: byReceiver},
	{path: "/dump/vpp/v2/routes", doc: "routes of VPP", model: "vpp.route", name: "Route", meta: "Meta"},
	{path: "/dump/vpp/v2/arps", doc: "static ARP entries of VPP", model: "vpp.arp", name: "Arp", meta: "Meta"},
	{path: "/dump/vpp/v2/vrrps", doc: "virtual routers of VPP", model: "vpp.vrrp", name: "vrrp", meta: "vrrp_meta"},
	{path: "/dump/vpp/v2/ipscanneigh", doc: "how VPP checks its neighbours", model: "vpp.ipscanneigh-global", name: "ip_scan_neigh", meta: "ip_scan_neigh_meta"},
	{path: "/dump/vpp/v2/proxyarp/interfaces", doc: "interfaces on which VPP answers for others", model: "vpp.proxyarp-global", answer: (*Plugin).proxyInterfaces},
	{path: "/dump/vpp/v2/proxyarp/ranges", doc: "addresses that VPP answers for", model: "vpp.proxyarp-global", answer: (*Plugin).proxyRanges},
	{path: "/dump/vpp/v2/acl/ip", doc: "IP ACLs of VPP", model: "vpp.acls.acl", name: "acl", meta: "acl_meta", answer: (*Plugin).ipACLs},
	{path: "/dump/vpp/v2/acl/macip", doc: "MACIP ACLs of VPP", model: "vpp.acls.acl", name: "acl", meta: "acl_meta", answer: (*Plugin).macipACLs},
	{path: "/dump/vpp/v2/abf", doc: "ACL-based forwarding of VPP", model: "vpp.abfs.abf", name: "abf", meta: "abf_meta"},
	{path: "/dump/vpp/v2/nat/global", doc: "settings of NAT44 in VPP", model: "vpp.nat.nat44-global", answer: (*Plugin).natGlobal},
	{path: "/dump/vpp/v2/nat/dnat", doc: "DNAT44 of VPP", model: "vpp.nat.dnat44"},
	{path: "/dump/vpp/v2/nat/interfaces", doc: "interfaces with NAT44 in VPP", model: "vpp.nat.nat44-interface"},
	{path: "/dump/vpp/v2/nat/pools", doc: "address pools of NAT44 in VPP", model: "vpp.nat.nat44-pool"},
	{path: "/dump/vpp/v2/ipsec/spds", doc: "IPsec security policy databases of VPP", model: "vpp.ipsec.spd", name: "spd", meta: "spd_meta"},
	{path: "/dump/vpp/v2/ipsec/sps", doc: "IPsec security policies of VPP", model: "vpp.ipsec.sp", name: "sp", meta: "sp_meta"},
	{path: "/dump/vpp/v2/ipsec/sas", doc: "IPsec security associations of VPP", model: "vpp.ipsec.sa", name: "sa", meta: "sa_meta"},
	{path: "/dump/vpp/v2/punt/sockets", doc: "sockets that VPP punts packets to", model: "vpp.tohost", answer: (*Plugin).puntSockets},
	{path: "/dump/linux/v2/interfaces", doc: "interfaces of Linux", model: "linux.interfaces.interface", name: "interface", meta: "interface_meta"},
	{path: "/dump/linux/v2/routes", doc: "routes of Linux", model: "linux.l3.route", name: "Route", meta: "Meta"},
	{path: "/dump/linux/v2/arps", doc: "static ARP entries of Linux", model: "linux.l3.arp", name: "linux_arp", meta: "linux_arp_meta"},
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
	answer := (*Plugin).items
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

// items is the answer for most items: a list, or an object by key.
func (p *Plugin) items(_ *http.Request, d dumped, kvs []api.KVWithMetadata) (any, error) {
	n := p.numbers()
	all, byKey := []any{}, map[string]any{}
	for _, kv := range kvs {
		var item any = kv.Value
		if d.name != "" {
			item = map[string]any{d.name: kv.Value, d.meta: n.meta(kv)}
		}
		if d.key != nil {
			byKey[d.key(n, kv.Value)] = item
		}
		all = append(all, item)
	}
	if d.key != nil {
		return byKey, nil
	}
	return all, nil
}

func (p *Plugin) proxyInterfaces(_ *http.Request, _ dumped, kvs []api.KVWithMetadata) (any, error) {
	n, all := p.numbers(), []any{}
	for _, kv := range kvs {
		for _, i := range kv.Value.(*vppl3.ProxyARP).GetInterfaces() {
			all = append(all, map[string]any{"Interface": i, "Meta": interfaceIndex{n.index(i.GetName())}})
		}
	}
	return all, nil
}

func (p *Plugin) proxyRanges(_ *http.Request, _ dumped, kvs []api.KVWithMetadata) (any, error) {
	all := []any{}
	for _, kv := range kvs {
		for _, r := range kv.Value.(*vppl3.ProxyARP).GetRanges() {
			all = append(all, map[string]any{"Range": r})
		}
	}
	return all, nil
}

func (p *Plugin) ipACLs(r *http.Request, d dumped, kvs []api.KVWithMetadata) (any, error) {
	return p.items(r, d, slices.DeleteFunc(kvs, macip))
}

func (p *Plugin) macipACLs(r *http.Request, d dumped, kvs []api.KVWithMetadata) (any, error) {
	return p.items(r, d, slices.DeleteFunc(kvs, func(kv api.KVWithMetadata) bool { return !macip(kv) }))
}

// macip reports whether an item is an ACL of MAC and IP addresses.
func macip(kv api.KVWithMetadata) bool {
	return slices.ContainsFunc(kv.Value.(*acl.ACL).GetRules(), func(r *acl.ACL_Rule) bool { return r.GetMacipRule() != nil })
}

// natGlobal answers with the one item, or an empty one.
func (p *Plugin) natGlobal(_ *http.Request, _ dumped, kvs []api.KVWithMetadata) (any, error) {
	if len(kvs) == 0 {
		return &nat.Nat44Global{}, nil
	}
	return kvs[0].Value, nil
}

func (p *Plugin) puntSockets(_ *http.Request, _ dumped, kvs []api.KVWithMetadata) (any, error) {
	all := []any{}
	for _, kv := range kvs {
		all = append(all, map[string]any{"punt_data": kv.Value, "socket_path": kv.Value.(*punt.ToHost).GetSocketPath()})
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

// interfaceMeta is what VPP reports about an interface besides its configuration.
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
			p.Log.Warn("cannot read the interfaces of VPP", "error", err)
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
		m.SupSwIfIndex, m.SubID = d.Parent, d.SubID
	}
	return m
}

func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
