package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

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

// dhcpProxyCalls is what DHCP proxies need of VPP.
type dhcpProxyCalls interface {
	AddDHCPServer(ctx context.Context, table uint32, source netip.Addr, s vppcalls.DHCPServer) error
	DeleteDHCPServer(ctx context.Context, table uint32, source netip.Addr, s vppcalls.DHCPServer) error
	DumpDHCPProxies(ctx context.Context) ([]vppcalls.DHCPProxy, error)
}

type dhcpProxyDescriptor struct{ vpp dhcpProxyCalls }

type dhcpProxyKV = kvs.KV[*l3.DHCPProxy, kvs.Metadata]

// NewDHCPProxy describes DHCP proxies.
func NewDHCPProxy(vpp dhcpProxyCalls) *kvs.KVDescriptor {
	d := &dhcpProxyDescriptor{vpp}
	return kvs.Adapt(kvs.Describe(model.DHCPProxyModel, kvs.Descriptor[*l3.DHCPProxy, kvs.Metadata]{
		Name:            DHCPProxyName,
		Southbound:      item.Southbound,
		Validate:        validateDHCPProxy,
		Dependencies:    dhcpProxyDependencies,
		ValueComparator: sameDHCPProxy,
		UpdateWithRecreate: func(_ string, a, b *l3.DHCPProxy, _ kvs.Metadata) bool {
			return !ipconv.SameAddr(a.GetSourceIpAddress(), b.GetSourceIpAddress())
		},
		CreateContext: func(ctx context.Context, _ string, p *l3.DHCPProxy) (kvs.Metadata, error) {
			return nil, d.change(ctx, p, nil, dhcpServers(p))
		},
		UpdateContext: func(ctx context.Context, _ string, old, p *l3.DHCPProxy, _ kvs.Metadata) (kvs.Metadata, error) {
			return nil, d.change(ctx, p, dhcpServers(old), dhcpServers(p))
		},
		DeleteContext: func(ctx context.Context, _ string, p *l3.DHCPProxy, _ kvs.Metadata) error {
			return d.change(ctx, p, dhcpServers(p), nil)
		},
		RetrieveContext: d.retrieve,
	}))
}

func validateDHCPProxy(_ string, p *l3.DHCPProxy) error {
	var errs []error
	source, err := ipconv.ParseAddr(p.GetSourceIpAddress())
	switch {
	case err != nil:
		errs = append(errs, item.Invalid("source_ip_address", "%w", err))
	case source.IsUnspecified():
		errs = append(errs, item.Invalid("source_ip_address", "%s, expected an address of VPP", source))
	}
	if n := len(p.GetServers()); n == 0 || n > maxByte {
		errs = append(errs, item.Invalid("servers", "%d servers, expected 1 to %d", n, maxByte))
	}
	seen := map[vppcalls.DHCPServer]bool{}
	for n, s := range p.GetServers() {
		field := fmt.Sprintf("servers[%d].ip_address", n)
		addr, err := ipconv.ParseAddr(s.GetIpAddress())
		server := vppcalls.DHCPServer{Table: s.GetVrfId(), Addr: addr}
		switch {
		case err != nil:
			errs = append(errs, item.Invalid(field, "%w", err))
		case addr.IsUnspecified():
			errs = append(errs, item.Invalid(field, "%s, expected the address of a server", addr))
		case source.IsValid() && addr.Is4() != source.Is4():
			errs = append(errs, item.Invalid(field, "%s, expected the version of IP of source_ip_address %s", addr, source))
		case seen[server]:
			errs = append(errs, item.Invalid(field, "%s in table %d is listed twice", addr, s.GetVrfId()))
		}
		seen[server] = true
	}
	return errors.Join(errs...)
}

// dhcpServers converts the servers; what is invalid is never applied.
func dhcpServers(p *l3.DHCPProxy) []vppcalls.DHCPServer {
	var out []vppcalls.DHCPServer
	for _, s := range p.GetServers() {
		if addr, err := ipconv.ParseAddr(s.GetIpAddress()); err == nil {
			out = append(out, vppcalls.DHCPServer{Table: s.GetVrfId(), Addr: addr})
		}
	}
	return out
}

func dhcpProxyDependencies(_ string, p *l3.DHCPProxy) []kvs.Dependency {
	source, _ := ipconv.ParseAddr(p.GetSourceIpAddress()) // validated
	deps := item.DependsOnTable("rx-vrf-table-exists", p.GetRxVrfId(), source)
	seen := map[uint32]bool{}
	for _, s := range p.GetServers() {
		if id := s.GetVrfId(); !seen[id] {
			seen[id] = true
			deps = append(deps, item.DependsOnTable(fmt.Sprintf("vrf-table-%d-used-by-dhcp-server-exists", id), id, source)...)
		}
	}
	return deps
}

// sameDHCPProxy compares servers whatever their order.
func sameDHCPProxy(_ string, a, b *l3.DHCPProxy) bool {
	return a.GetRxVrfId() == b.GetRxVrfId() && ipconv.SameAddr(a.GetSourceIpAddress(), b.GetSourceIpAddress()) &&
		sameParts(dhcpServers(a), dhcpServers(b))
}

// change turns old servers into new ones. New ones come first, for the proxy
// would go with its last server.
func (d *dhcpProxyDescriptor) change(ctx context.Context, p *l3.DHCPProxy, old, wanted []vppcalls.DHCPServer) error {
	source, err := ipconv.ParseAddr(p.GetSourceIpAddress())
	if err != nil {
		return err
	}
	return changeParts(old, wanted,
		func(s vppcalls.DHCPServer) error { return d.vpp.AddDHCPServer(ctx, p.GetRxVrfId(), source, s) },
		func(s vppcalls.DHCPServer) error { return d.vpp.DeleteDHCPServer(ctx, p.GetRxVrfId(), source, s) })
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
			if sameDHCPProxy(kv.Key, w, p) {
				kv.Value = w // in its spelling
			}
		}
		out = append(out, kv)
	}
	return out, nil
}
