package descriptor

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/arp"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

var proxyARP = session.Require("proxy ARP", "",
	(*arp.ProxyArpAddDel)(nil), (*arp.ProxyArpAddDelReply)(nil), (*arp.ProxyArpDump)(nil), (*arp.ProxyArpDetails)(nil),
	(*arp.ProxyArpIntfcEnableDisable)(nil), (*arp.ProxyArpIntfcEnableDisableReply)(nil),
	(*arp.ProxyArpIntfcDump)(nil), (*arp.ProxyArpIntfcDetails)(nil))

// NewProxyARP describes proxy ARP, which answers requests for ranges of IPv4 addresses, on the
// interfaces that are derived values, each waiting for its interface. There is one such item, and
// while it is desired all ranges in VPP are its own: nothing marks a range. VPP cleans up neither
// behind tables nor behind interfaces. The dependencies keep both until their part is removed.
func NewProxyARP(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	d := item.NewGroup(vpp, nil, item.Group[*l3.ProxyARP, arp.ProxyArp, arp.ProxyArp]{
		Name: ProxyARPName, Model: model.ProxyARPModel, Resolve: resolveProxyARP, DerivedValues: proxyARPInterfaces,
		ID: func(r arp.ProxyArp) arp.ProxyArp { return r },
		Parts: func() (*item.PartCalls[arp.ProxyArp], error) {
			return &item.PartCalls[arp.ProxyArp]{Change: func(r arp.ProxyArp, add bool) (request, reply api.Message) {
				return &arp.ProxyArpAddDel{IsAdd: add, Proxy: r}, &arp.ProxyArpAddDelReply{}
			}}, proxyARP.Check(vpp)
		},
		PartName: func(r arp.ProxyArp) string { return fmt.Sprintf("range %s-%s in table %d", r.Low, r.Hi, r.TableID) },
		Gone:     []api.VPPApiError{api.NO_SUCH_ENTRY, api.NO_SUCH_FIB},
		AddFirst: true,
	})
	d.RetrieveDependencies = []string{item.InterfaceName}
	d.RetrieveContext = func(ctx context.Context, correlate []kvs.KVWithMetadata) ([]kvs.KVWithMetadata, error) {
		p, others, err := readProxyARP(ctx, vpp, ifs)
		if err != nil {
			return nil, item.IgnoreUnsupported(err)
		}
		kv := kvs.KVWithMetadata{Key: model.ProxyARPModel.Key(p), Value: p, Origin: kvs.UnknownOrigin}
		empty := len(p.Ranges)+len(p.Interfaces) == 0
		if len(correlate) > 0 {
			kv.Origin = kvs.FromNB
			// With nothing to configure, it exists as soon as it is desired.
			empty = empty && len(correlate[0].Value.(*l3.ProxyARP).GetRanges()) > 0
		}
		if empty {
			return others, nil
		}
		return append(others, kv), nil
	}
	return d
}

// readProxyARP returns the ranges, in the order in which they were added, and the interfaces. It omits
// ranges in tables that no longer exist. Interfaces without a tag are foreign parts.
func readProxyARP(ctx context.Context, vpp *session.VPP, ifs item.Interfaces) (p *l3.ProxyARP, others []kvs.KVWithMetadata, err error) {
	if err := proxyARP.Check(vpp); err != nil {
		return nil, nil, err
	}
	ranges, err := session.Dump[*arp.ProxyArpDetails](ctx, vpp, &arp.ProxyArpDump{})
	if err != nil {
		return nil, nil, err
	}
	tableOf, err := vppcalls.New(vpp).ProxyARPTables(ctx, ranges)
	if err != nil {
		return nil, nil, fmt.Errorf("tables of proxy ARP: %w", err)
	}
	on, err := session.Dump[*arp.ProxyArpIntfcDetails](ctx, vpp, &arp.ProxyArpIntfcDump{})
	if err != nil {
		return nil, nil, err
	}
	p = &l3.ProxyARP{}
	for _, d := range ranges {
		if table, exists := tableOf(d.Proxy.TableID); exists {
			p.Ranges = append(p.Ranges, &l3.ProxyARP_Range{FirstIpAddr: d.Proxy.Low.String(), LastIpAddr: d.Proxy.Hi.String(), VrfId: table})
		}
	}
	var foreign item.Foreign[proto.Message, kvs.Metadata]
	snapshot := ifs.Snapshot(ctx)
	for _, d := range on {
		if name, ok := foreign.Interface(snapshot, d.SwIfIndex, model.ProxyARPModel.KeyPrefix(), &l3.ProxyARP{}); ok {
			p.Interfaces = append(p.Interfaces, &l3.ProxyARP_Interface{Name: name})
		}
	}
	return p, foreign.All, snapshot.Err()
}

// resolveProxyARP returns the ranges; the interfaces are values of their own.
func resolveProxyARP(r *item.Resolver, p *l3.ProxyARP) (out []arp.ProxyArp) {
	names := map[string]bool{}
	for n, iface := range p.GetInterfaces() {
		field, name := fmt.Sprintf("interfaces[%d].name", n), iface.GetName()
		if names[name] {
			r.Fail(field, "%q is listed twice", name)
		}
		names[name] = true
	}
	tables := map[uint32]bool{0: true}
	for n, v := range p.GetRanges() {
		field, id := fmt.Sprintf("ranges[%d]", n), v.GetVrfId()
		first, last := arpRangeEnd(r, field+".first_ip_addr", v.GetFirstIpAddr()), arpRangeEnd(r, field+".last_ip_addr", v.GetLastIpAddr())
		if !first.IsValid() || !last.IsValid() {
			continue
		}
		converted := arp.ProxyArp{TableID: id, Low: first.As4(), Hi: last.As4()}
		switch {
		case last.Less(first): // VPP takes such a range from others
			r.Fail(field+".last_ip_addr", "%s is before first_ip_addr %s", last, first)
		case slices.Contains(out, converted):
			r.Fail(field, "%s to %s in table %d is listed twice", first, last, id)
		}
		out = append(out, converted)
		if !tables[id] {
			tables[id] = true
			r.DependsOn(fmt.Sprintf("vrf-table-%d-exists", id), model.VrfTableKey(id, l3.VrfTable_IPV4))
		}
	}
	return out
}

// arpRangeEnd returns an end of a range; the zero value if it is invalid.
func arpRangeEnd(r *item.Resolver, field, text string) netip.Addr {
	addr, err := ipconv.ParseAddr(text)
	if err != nil || !addr.Is4() {
		r.Fail(field, "%q, expected an IPv4 address without prefix length", text)
		return netip.Addr{}
	}
	return addr
}

func proxyARPInterfaces(_ string, p *l3.ProxyARP) []kvs.KeyValuePair {
	out := make([]kvs.KeyValuePair, 0, len(p.GetInterfaces()))
	for _, iface := range p.GetInterfaces() {
		out = append(out, kvs.KeyValuePair{Key: model.ProxyARPInterfaceKey.Key(iface.GetName()), Value: iface})
	}
	return out
}
