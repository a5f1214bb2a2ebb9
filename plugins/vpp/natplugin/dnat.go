package natplugin

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"

	"github.com/tenuto-dev/tenuto/infra/models"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// A group of mappings is known by its label, which VPP keeps with each of them. All static
// mappings translate from the outside to the inside alone, so that several can share an inside
// endpoint. A mapping with an interface follows the address of the interface; VPP lists it a
// second time, with that address. Endpoint-independent NAT wants the outside address of a
// mapping with ports in a pool.

// maxLabel is the number of bytes of a label.
const maxLabel = 64

// NewDNAT describes groups of mappings.
func NewDNAT(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewGroup(vpp, ifs, item.Group[*nat.DNat44, mapping, mappingID]{
		Name: DNATName, Model: model.DNATModel, Parts: partsOf(vpp, mappingOperations),
		Resolve: func(r *item.Resolver, v *nat.DNat44) []mapping {
			d := dnatResolver{Resolver: r, tag: v.GetLabel()}
			return d.resolve(v)
		},
		ID: func(m mapping) mappingID { return m.mappingID },
		Once: func(m mapping) any {
			id := m.mappingID
			id.tag = ""
			return id
		},
		Listed: listedMapping,
		Key: func(_ *item.Names, m mapping) string {
			if m.tag == "" {
				return ""
			}
			return model.DNATModel.KeyFor(m.tag)
		},
		Nameless: func(n *item.Names, m mapping) (object, text string) {
			return model.DNATModel.KeyPrefix(), m.outside(n) + ", which has no tag"
		},
		Value: dnatOf,
		Gone:  gone, After: []string{GlobalName},
		Explain: map[api.VPPApiError]string{
			api.VALUE_EXIST:   "external_ip, external_port, protocol: another mapping has the outside endpoint, or, in endpoint-independent mode, the inside endpoint",
			api.NO_SUCH_ENTRY: "external_ip: the address is in no NAT44 address pool, as endpoint-independent NAT wants it",
		},
	})
}

var protocols = map[nat.DNat44_Protocol]uint8{nat.DNat44_TCP: 6, nat.DNat44_UDP: 17, nat.DNat44_ICMP: 1}

func protocolOf(number uint8) nat.DNat44_Protocol {
	for p, n := range protocols {
		if n == number {
			return p
		}
	}
	return nat.DNat44_TCP
}

// dnatResolver translates a group.
type dnatResolver struct {
	*item.Resolver
	tag   string
	seen  map[mappingID]string // the fields of the mappings, if there are several
	needs []string             // the labels of what the group waits for
}

func (d *dnatResolver) resolve(v *nat.DNat44) []mapping {
	if len(d.tag) > maxLabel {
		d.Fail("label", "%d bytes, expected at most %d", len(d.tag), maxLabel)
	}
	d.tag = d.tag[:min(len(d.tag), tagLength)]
	dependsOnGlobal(d.Resolver)
	all := make([]mapping, 0, len(v.GetStMappings())+len(v.GetIdMappings()))
	if cap(all) > 1 {
		d.seen = make(map[mappingID]string, cap(all))
	}
	for n, m := range v.GetStMappings() {
		if len(m.GetLocalIps()) == 0 {
			continue // translates to nothing yet
		}
		field := "st_mappings[" + strconv.Itoa(n) + "]"
		all = append(all, d.once(field, d.static(field, m)))
	}
	for n, m := range v.GetIdMappings() {
		field := fmt.Sprintf("id_mappings[%d]", n)
		all = append(all, d.once(field, d.identity(field, m)))
	}
	return all
}

// once refuses what VPP would have twice.
func (d *dnatResolver) once(field string, m mapping) mapping {
	if d.seen == nil {
		return m
	}
	end := m.mappingID
	end.form, end.via = static, inner{}
	if other, has := d.seen[end]; has {
		d.Fail(field, "has the outside endpoint of %s", other)
	}
	d.seen[end] = field
	return m
}

// need reports that the group does not wait for something yet, and notes that it does.
func (d *dnatResolver) need(label string) bool {
	if slices.Contains(d.needs, label) {
		return false
	}
	d.needs = append(d.needs, label)
	return true
}

// table returns a VRF table; VPP takes 4294967295 for the one of the inside, which is 0.
func (d *dnatResolver) table(vrf uint32) uint32 {
	if vrf == math.MaxUint32 || vrf == 0 {
		return 0
	}
	if label := fmt.Sprintf("vrf-table-exists-%d", vrf); d.Waits() && d.need(label) {
		d.DependsOn(label, l3model.VrfTableKey(vrf, l3.VrfTable_IPV4))
	}
	return vrf
}

func (d *dnatResolver) iface(name string) interface_types.InterfaceIndex {
	if label := "interface-exists-" + name; d.Waits() && d.need(label) {
		d.DependsOn(label, ifmodel.InterfaceModel.KeyFor(name))
	}
	return d.SwIfIndex(name)
}

func (d *dnatResolver) requireED() {
	if d.need("endpoint-dependent") {
		dependsOnED(d.Resolver)
	}
}

// outside sets the outside address of a mapping.
func (d *dnatResolver) outside(id *mappingID, field, ifField, iface, ipField, ip string) {
	id.iface = noIface
	switch {
	case iface != "" && ip != "":
		d.Fail(field+"."+ipField, "%q together with %s, expected one of them", ip, ifField)
	case iface != "":
		id.iface = d.iface(iface)
	default:
		id.external = ip4(d.Resolver, field+"."+ipField, ip)
	}
}

func (d *dnatResolver) static(field string, v *nat.DNat44_StaticMapping) mapping {
	m := mapping{mappingID: mappingID{tag: d.tag, protocol: protocols[v.GetProtocol()]}, twice: twiceNAT(v.GetTwiceNat())}
	m.port = uint16(v.GetExternalPort())
	d.outside(&m.mappingID, field, "external_interface", v.GetExternalInterface(), "external_ip", v.GetExternalIp())
	if m.protocol == 0 || m.twice < noTwiceNAT || m.twice > twiceNATSelf {
		d.Fail(field, "unknown protocol or twice_nat")
	}
	if m.twice != noTwiceNAT {
		d.requireED()
	}
	if text := v.GetTwiceNatPoolIp(); text != "" {
		m.poolIP = ip4(d.Resolver, field+".twice_nat_pool_ip", text)
		if m.twice != twiceNATAlways || len(v.GetLocalIps()) > 1 {
			d.Fail(field+".twice_nat_pool_ip", "%s, expected none without twice_nat ENABLED and with several local_ips", text)
		}
		d.requirePool(text)
	}
	if len(v.GetLocalIps()) > 1 {
		return d.balanced(field, v, m)
	}
	d.requireAddress(m.mappingID)
	l := v.GetLocalIps()[0]
	m.local, m.localPort = ip4(d.Resolver, field+".local_ips[0].local_ip", l.GetLocalIp()), uint16(l.GetLocalPort())
	m.vrf = d.table(l.GetVrfId())
	switch {
	case (m.port == 0) != (m.localPort == 0):
		d.Fail(field+".local_ips[0].local_port", "%d, expected both ports or none, and external_port is %d", m.localPort, m.port)
	case m.allPorts() && m.twice != noTwiceNAT:
		d.Fail(field+".twice_nat", "%s, expected DISABLED for all ports: VPP refuses it", v.GetTwiceNat())
	}
	return staticMapping(m)
}

func (d *dnatResolver) balanced(field string, v *nat.DNat44_StaticMapping, m mapping) mapping {
	d.requireED()
	m.form, m.affinity = balanced, v.GetSessionAffinity()
	if m.iface != noIface {
		d.Fail(field+".external_interface", "%q, expected external_ip with several local_ips: VPP balances for an address alone", v.GetExternalInterface())
		m.iface = noIface
	}
	if m.port == 0 {
		d.Fail(field+".external_port", "0, expected a port with several local_ips")
	}
	var all []local
	type endpoint struct {
		addr ip_types.IP4Address
		port uint16
		vrf  uint32
	}
	seen := map[endpoint]bool{}
	for n, l := range v.GetLocalIps() {
		at := fmt.Sprintf("%s.local_ips[%d]", field, n)
		e := local{
			Addr: ip4(d.Resolver, at+".local_ip", l.GetLocalIp()), Port: uint16(d.Range(at+".local_port", l.GetLocalPort(), 1, math.MaxUint16)),
			Probability: uint8(l.GetProbability()), VrfID: d.table(l.GetVrfId()),
		}
		if end := (endpoint{e.Addr, e.Port, e.VrfID}); seen[end] {
			d.Fail(at, "%s port %d in VRF table %d is listed twice", e.Addr, e.Port, e.VrfID)
		} else {
			seen[end] = true
		}
		all = append(all, e)
	}
	m.locals = encodeLocals(all)
	return m
}

// requirePool waits for a pool for twice-NAT with an address.
func (d *dnatResolver) requirePool(text string) {
	addr, err := netip.ParseAddr(text)
	addr = addr.Unmap()
	if label := "a twice-NAT pool with " + text; err == nil && d.Waits() && d.need(label) {
		d.DependsOnAny(label, kvs.AnyOfDependency{
			KeyPrefixes: properties,
			KeySelector: func(key string) bool { return hasAddress(key, model.TwiceNATPoolKey, "on", addr) },
		})
	}
}

// requireAddress waits for a pool with the outside address of a mapping with ports, unless
// NAT44 is in endpoint-dependent mode.
func (d *dnatResolver) requireAddress(id mappingID) {
	if id.iface != noIface || id.port == 0 || !d.Waits() {
		return
	}
	addr := netip.AddrFrom4(id.external)
	if label := "endpoint-dependent mode, or a pool with " + addr.String(); d.need(label) {
		d.DependsOnAny(label, kvs.AnyOfDependency{
			KeyPrefixes: properties,
			KeySelector: func(key string) bool {
				return key == model.EndpointDependentKey || hasAddress(key, model.PoolKey, "off", addr)
			},
		})
	}
}

// properties are the keys of what NAT44 has of addresses. There are few of them, so that one
// prefix costs less than three for very many groups.
var properties = []string{"vpp/nat44/"}

// hasAddress reports that a key is the property of a pool with an address, or of the address
// as the global item lists it.
func hasAddress(key string, pool models.KeyTemplate, twice string, addr netip.Addr) bool {
	if args, ok := model.GlobalAddressKey.Parse(key); ok {
		return args[0] == addr.String() && args[1] == twice
	}
	args, ok := pool.Parse(key)
	if !ok {
		return false
	}
	if strings.Contains(args[1], netallocmodel.RefPrefix) {
		return true // VPP says whether it is the address that is meant
	}
	first, last, isRange := strings.Cut(args[1], "-")
	if !isRange {
		last = first
	}
	from, err := netip.ParseAddr(first)
	if err != nil {
		return false
	}
	to, err := netip.ParseAddr(last)
	return err == nil && !addr.Less(from) && !to.Less(addr)
}

func (d *dnatResolver) identity(field string, v *nat.DNat44_IdentityMapping) mapping {
	id := mappingID{
		tag: d.tag, protocol: protocols[v.GetProtocol()], port: uint16(v.GetPort()), vrf: d.table(v.GetVrfId()),
	}
	if id.protocol == 0 {
		d.Fail(field+".protocol", "%d is unknown", v.GetProtocol())
	}
	d.outside(&id, field, "interface", v.GetInterface(), "ip_address", v.GetIpAddress())
	d.requireAddress(id)
	return identityMapping(id)
}

// dnatOf returns the group that VPP has.
func dnatOf(n *item.Names, all []mapping) *nat.DNat44 {
	v := &nat.DNat44{Label: all[0].tag}
	for _, m := range all {
		iface, ip := "", ""
		if m.iface != noIface {
			iface = n.Interface(m.iface)
		} else {
			ip = m.external.String()
		}
		if m.form == identity {
			v.IdMappings = append(v.IdMappings, &nat.DNat44_IdentityMapping{
				VrfId: m.mappingID.vrf, Interface: iface, IpAddress: ip, Port: uint32(m.port), Protocol: protocolOf(m.protocol),
			})
			continue
		}
		s := &nat.DNat44_StaticMapping{
			ExternalInterface: iface, ExternalIp: ip, ExternalPort: uint32(m.port), Protocol: protocolOf(m.protocol),
			TwiceNat: nat.DNat44_StaticMapping_TwiceNatMode(m.twice), SessionAffinity: m.affinity,
		}
		if m.form == static {
			s.LocalIps = []*nat.DNat44_StaticMapping_LocalIP{{VrfId: m.vrf, LocalIp: m.local.String(), LocalPort: uint32(m.localPort)}}
		}
		for _, l := range decodeLocals(m.locals) {
			s.LocalIps = append(s.LocalIps, &nat.DNat44_StaticMapping_LocalIP{
				VrfId: l.VrfID, LocalIp: l.Addr.String(), LocalPort: uint32(l.Port), Probability: uint32(l.Probability),
			})
		}
		v.StMappings = append(v.StMappings, s)
	}
	return v
}
