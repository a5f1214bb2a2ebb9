package descriptor

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// A DHCP proxy relays the requests of the clients in a table to servers. There is
// one per table and version of IP, which is that of the source address; VPP keeps
// the source address that the first server came with, so another one needs another
// proxy. VPP would make tables that do not exist, which the dependencies prevent.

type dhcpProxyDescriptor struct {
	*item.Resolution[*l3.DHCPProxy, vppcalls.DHCPProxy]
	vpp *vppcalls.Calls
}

type dhcpProxyKV = kvs.KV[*l3.DHCPProxy, kvs.Metadata]

// NewDHCPProxy describes DHCP proxies.
func NewDHCPProxy(vpp *vppcalls.Calls) *kvs.KVDescriptor {
	d := &dhcpProxyDescriptor{&item.Resolution[*l3.DHCPProxy, vppcalls.DHCPProxy]{Resolve: resolveDHCPProxy}, vpp}
	return kvs.Adapt(kvs.Describe(model.DHCPProxyModel, kvs.Descriptor[*l3.DHCPProxy, kvs.Metadata]{
		Name:            DHCPProxyName,
		Southbound:      item.Southbound,
		Validate:        d.Validate,
		Dependencies:    d.Dependencies,
		ValueComparator: d.same,
		UpdateWithRecreate: func(_ string, a, b *l3.DHCPProxy, _ kvs.Metadata) bool {
			return !ipconv.SameAddr(a.GetSourceIpAddress(), b.GetSourceIpAddress())
		},
		CreateContext: func(ctx context.Context, _ string, p *l3.DHCPProxy) (kvs.Metadata, error) {
			return nil, d.change(ctx, nil, p)
		},
		UpdateContext: func(ctx context.Context, _ string, old, p *l3.DHCPProxy, _ kvs.Metadata) (kvs.Metadata, error) {
			return nil, d.change(ctx, old, p)
		},
		DeleteContext: func(ctx context.Context, _ string, p *l3.DHCPProxy, _ kvs.Metadata) error {
			return d.change(ctx, p, nil)
		},
		RetrieveContext: d.retrieve,
	}))
}

func resolveDHCPProxy(r *item.Resolver, p *l3.DHCPProxy) vppcalls.DHCPProxy {
	source, err := ipconv.ParseAddr(p.GetSourceIpAddress())
	switch {
	case err != nil:
		r.Fail("source_ip_address", "%w", err)
	case source.IsUnspecified():
		r.Fail("source_ip_address", "%s, expected an address of VPP", source)
	}
	if n := len(p.GetServers()); n == 0 || n > maxByte {
		r.Fail("servers", "%d servers, expected 1 to %d", n, maxByte)
	}
	dependOnTable(r, "rx-vrf-table-exists", p.GetRxVrfId(), source)
	out := vppcalls.DHCPProxy{Table: p.GetRxVrfId(), Source: source}
	tables := map[uint32]bool{}
	for n, s := range p.GetServers() {
		field := fmt.Sprintf("servers[%d].ip_address", n)
		addr, err := ipconv.ParseAddr(s.GetIpAddress())
		server := vppcalls.DHCPServer{Table: s.GetVrfId(), Addr: addr}
		switch {
		case err != nil:
			r.Fail(field, "%w", err)
			continue
		case addr.IsUnspecified():
			r.Fail(field, "%s, expected the address of a server", addr)
		case source.IsValid() && addr.Is4() != source.Is4():
			r.Fail(field, "%s, expected the version of IP of source_ip_address %s", addr, source)
		case slices.Contains(out.Servers, server):
			r.Fail(field, "%s in table %d is listed twice", addr, server.Table)
		}
		out.Servers = append(out.Servers, server)
		if id := server.Table; !tables[id] {
			tables[id] = true
			dependOnTable(r, fmt.Sprintf("vrf-table-%d-used-by-dhcp-server-exists", id), id, source)
		}
	}
	return out
}

func dependOnTable(r *item.Resolver, label string, id uint32, addr netip.Addr) {
	for _, dep := range item.DependsOnTable(label, id, addr) {
		r.DependsOn(dep.Label, dep.Key)
	}
}

// same compares servers whatever their order.
func (d *dhcpProxyDescriptor) same(_ string, a, b *l3.DHCPProxy) bool {
	x, y, ok := d.Both(a, b)
	return ok && x.Table == y.Table && x.Source == y.Source && item.SameParts(x.Servers, y.Servers)
}

// change turns old servers into new ones. New ones come first, for the proxy
// would go with its last server.
func (d *dhcpProxyDescriptor) change(ctx context.Context, old, p *l3.DHCPProxy) error {
	before, _ := d.Live(old) // VPP may have what no value may say
	wanted := vppcalls.DHCPProxy{Table: before.Table, Source: before.Source}
	if p != nil {
		var err error
		if wanted, err = d.Live(p); err != nil {
			return err
		}
	}
	return changeParts(before.Servers, wanted.Servers, func(s vppcalls.DHCPServer, add bool) error {
		return d.vpp.SetDHCPServer(ctx, wanted.Table, wanted.Source, s, add)
	})
}

func (d *dhcpProxyDescriptor) retrieve(ctx context.Context, correlate []dhcpProxyKV) ([]dhcpProxyKV, error) {
	all, err := d.vpp.DumpDHCPProxies(ctx)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]*l3.DHCPProxy, len(correlate))
	for _, kv := range correlate {
		wanted[kv.Key] = kv.Value
	}
	var out []dhcpProxyKV
	for _, found := range all {
		p := &l3.DHCPProxy{SourceIpAddress: found.Source.String(), RxVrfId: found.Table}
		for _, s := range found.Servers {
			p.Servers = append(p.Servers, &l3.DHCPProxy_DHCPServer{VrfId: s.Table, IpAddress: s.Addr.String()})
		}
		kv := dhcpProxyKV{Key: model.DHCPProxyModel.Key(p), Value: p, Origin: kvs.UnknownOrigin}
		if w := wanted[kv.Key]; w != nil {
			kv.Origin = kvs.FromNB
			if d.same(kv.Key, w, p) {
				kv.Value = w // in its spelling
			}
		}
		out = append(out, kv)
	}
	return out, nil
}
