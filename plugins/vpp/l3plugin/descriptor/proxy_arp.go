package descriptor

import (
	"context"
	"errors"
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

// Proxy ARP answers requests for ranges of IPv4 addresses, on the interfaces that
// are derived values, each waiting for its interface. There is one such item, and
// while it is wanted all ranges in VPP are its own: nothing marks a range. VPP
// cleans up neither behind tables nor behind interfaces; the dependencies see to
// it that both stay until their part is gone.

type proxyARPDescriptor struct {
	*item.Resolution[*l3.ProxyARP, []vppcalls.ARPRange]
	vpp *vppcalls.Calls
	ifs item.Interfaces
}

type proxyARPKV = kvs.KV[*l3.ProxyARP, kvs.Metadata]

// NewProxyARP describes the ranges that ARP requests are answered for.
func NewProxyARP(vpp *vppcalls.Calls, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &proxyARPDescriptor{&item.Resolution[*l3.ProxyARP, []vppcalls.ARPRange]{Resolve: resolveProxyARP}, vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.ProxyARPModel, kvs.Descriptor[*l3.ProxyARP, kvs.Metadata]{
		Name:          ProxyARPName,
		Southbound:    item.Southbound,
		Validate:      d.Validate,
		Dependencies:  d.Dependencies,
		DerivedValues: proxyARPInterfaces,
		ValueComparator: func(_ string, a, b *l3.ProxyARP) bool {
			x, y, ok := d.Both(a, b)
			return ok && item.SameParts(x, y)
		},
		CreateContext: func(ctx context.Context, _ string, p *l3.ProxyARP) (kvs.Metadata, error) {
			return nil, d.change(ctx, nil, p)
		},
		UpdateContext: func(ctx context.Context, _ string, old, p *l3.ProxyARP, _ kvs.Metadata) (kvs.Metadata, error) {
			return nil, d.change(ctx, old, p)
		},
		DeleteContext: func(ctx context.Context, _ string, p *l3.ProxyARP, _ kvs.Metadata) error {
			return d.change(ctx, p, nil)
		},
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName},
	}))
}

// resolveProxyARP returns the ranges; the interfaces are values of their own.
func resolveProxyARP(r *item.Resolver, p *l3.ProxyARP) []vppcalls.ARPRange {
	names := map[string]bool{}
	for n, iface := range p.GetInterfaces() {
		field, name := fmt.Sprintf("interfaces[%d].name", n), iface.GetName()
		if r.NotEmpty(field, name, "the name of an interface") && names[name] {
			r.Fail(field, "%q is listed twice", name)
		}
		names[name] = true
	}
	var out []vppcalls.ARPRange
	tables := map[uint32]bool{0: true}
	for n, v := range p.GetRanges() {
		field := fmt.Sprintf("ranges[%d]", n)
		converted, ok := resolveARPRange(r, field, v)
		if !ok {
			continue
		}
		if slices.Contains(out, converted) {
			r.Fail(field, "%s to %s in table %d is listed twice", converted.First, converted.Last, converted.Table)
		}
		out = append(out, converted)
		if id := v.GetVrfId(); !tables[id] {
			tables[id] = true
			r.DependsOn(fmt.Sprintf("vrf-table-%d-exists", id), model.VrfTableKey(id, l3.VrfTable_IPV4))
		}
	}
	return out
}

// resolveARPRange returns a range that ends before it begins too: VPP takes it from others.
func resolveARPRange(r *item.Resolver, field string, v *l3.ProxyARP_Range) (out vppcalls.ARPRange, ok bool) {
	ends := [2]netip.Addr{}
	for n, end := range []struct{ name, text string }{{"first_ip_addr", v.GetFirstIpAddr()}, {"last_ip_addr", v.GetLastIpAddr()}} {
		addr, err := ipconv.ParseAddr(end.text)
		if err != nil || !addr.Is4() {
			r.Fail(field+"."+end.name, "%q, expected an IPv4 address without prefix length", end.text)
			return out, false
		}
		ends[n] = addr
	}
	if ends[1].Less(ends[0]) {
		r.Fail(field+".last_ip_addr", "%s is before first_ip_addr %s", ends[1], ends[0])
	}
	return vppcalls.ARPRange{Table: v.GetVrfId(), First: ends[0], Last: ends[1]}, true
}

func proxyARPInterfaces(_ string, p *l3.ProxyARP) []kvs.KeyValuePair {
	out := make([]kvs.KeyValuePair, 0, len(p.GetInterfaces()))
	for _, iface := range p.GetInterfaces() {
		out = append(out, kvs.KeyValuePair{Key: model.ProxyARPInterfaceKey.Key(iface.GetName()), Value: iface})
	}
	return out
}

// change turns old ranges into new ones, or leaves the old ones when VPP refuses.
func (d *proxyARPDescriptor) change(ctx context.Context, old, p *l3.ProxyARP) error {
	wanted, err := d.Live(p)
	if err != nil {
		return err
	}
	before, _ := d.Live(old) // VPP may have what no value may say
	return changeParts(before, wanted, func(r vppcalls.ARPRange, add bool) error { return d.vpp.SetARPRange(ctx, r, add) })
}

// changeParts turns old parts into new ones. New ones come first; they go again when one
// cannot be added, and the old ones stay.
func changeParts[T comparable](old, wanted []T, set func(part T, add bool) error) error {
	more := item.Without(wanted, old)
	for n, part := range more {
		if err := set(part, true); err != nil {
			for _, added := range more[:n] {
				err = errors.Join(err, set(added, false))
			}
			return err
		}
	}
	for _, part := range item.Without(old, wanted) {
		if err := set(part, false); err != nil {
			return err
		}
	}
	return nil
}

func (d *proxyARPDescriptor) retrieve(ctx context.Context, correlate []proxyARPKV) ([]proxyARPKV, error) {
	found, err := d.vpp.DumpARPRanges(ctx)
	if err != nil {
		return nil, err
	}
	on, err := d.vpp.DumpProxyARP(ctx)
	if err != nil {
		return nil, err
	}
	p := &l3.ProxyARP{}
	for _, r := range found {
		p.Ranges = append(p.Ranges, &l3.ProxyARP_Range{
			FirstIpAddr: r.First.String(), LastIpAddr: r.Last.String(), VrfId: r.Table,
		})
	}
	snapshot := d.ifs.Snapshot(ctx)
	for _, index := range on {
		if name, ok := snapshot.Name(index); ok {
			p.Interfaces = append(p.Interfaces, &l3.ProxyARP_Interface{Name: name})
		}
	}
	if err := snapshot.Err(); err != nil {
		return nil, err
	}
	kv := proxyARPKV{Key: model.ProxyARPModel.Key(p), Value: p, Origin: kvs.UnknownOrigin}
	empty := len(p.Ranges)+len(p.Interfaces) == 0
	if len(correlate) > 0 {
		kv.Origin = kvs.FromNB
		// With nothing to configure, it exists as soon as it is wanted.
		empty = empty && len(correlate[0].Value.GetRanges()) > 0
	}
	if empty {
		return nil, nil
	}
	return []proxyARPKV{kv}, nil
}
