package descriptor

import (
	"context"
	"errors"
	"fmt"
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

// proxyARPCalls is what proxy ARP needs of VPP.
type proxyARPCalls interface {
	AddARPRange(ctx context.Context, r vppcalls.ARPRange) error
	DeleteARPRange(ctx context.Context, r vppcalls.ARPRange) error
	DumpARPRanges(ctx context.Context) ([]vppcalls.ARPRange, error)
	DumpProxyARP(ctx context.Context) ([]uint32, error)
}

type proxyARPDescriptor struct {
	vpp proxyARPCalls
	ifs item.Interfaces
}

type proxyARPKV = kvs.KV[*l3.ProxyARP, kvs.Metadata]

// NewProxyARP describes the ranges that ARP requests are answered for.
func NewProxyARP(vpp proxyARPCalls, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &proxyARPDescriptor{vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.ProxyARPModel, kvs.Descriptor[*l3.ProxyARP, kvs.Metadata]{
		Name:            ProxyARPName,
		Southbound:      item.Southbound,
		Validate:        validateProxyARP,
		Dependencies:    proxyARPDependencies,
		DerivedValues:   proxyARPInterfaces,
		ValueComparator: sameProxyARP,
		CreateContext: func(ctx context.Context, _ string, p *l3.ProxyARP) (kvs.Metadata, error) {
			return nil, d.change(ctx, nil, ranges(p))
		},
		UpdateContext: func(ctx context.Context, _ string, old, p *l3.ProxyARP, _ kvs.Metadata) (kvs.Metadata, error) {
			return nil, d.change(ctx, ranges(old), ranges(p))
		},
		DeleteContext: func(ctx context.Context, _ string, p *l3.ProxyARP, _ kvs.Metadata) error {
			return d.change(ctx, ranges(p), nil)
		},
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName},
	}))
}

func validateProxyARP(_ string, p *l3.ProxyARP) error {
	var errs []error
	names := map[string]bool{}
	for n, iface := range p.GetInterfaces() {
		field := fmt.Sprintf("interfaces[%d].name", n)
		switch name := iface.GetName(); {
		case name == "":
			errs = append(errs, item.Invalid(field, "empty, expected the name of an interface"))
		case names[name]:
			errs = append(errs, item.Invalid(field, "%q is listed twice", name))
		}
		names[iface.GetName()] = true
	}
	seen := map[vppcalls.ARPRange]bool{}
	for n, r := range p.GetRanges() {
		field := fmt.Sprintf("ranges[%d]", n)
		converted, err := arpRange(field, r)
		switch {
		case err != nil:
			errs = append(errs, err)
		case seen[converted]:
			errs = append(errs, item.Invalid(field, "%s to %s in table %d is listed twice", converted.First, converted.Last, converted.Table))
		}
		seen[converted] = true
	}
	return errors.Join(errs...)
}

// arpRange converts a range; field is its path, for errors.
func arpRange(field string, r *l3.ProxyARP_Range) (vppcalls.ARPRange, error) {
	out := vppcalls.ARPRange{Table: r.GetVrfId()}
	first, err := ipconv.ParseAddr(r.GetFirstIpAddr())
	if err != nil || !first.Is4() {
		return out, item.Invalid(field+".first_ip_addr", "%q, expected an IPv4 address without prefix length", r.GetFirstIpAddr())
	}
	last, err := ipconv.ParseAddr(r.GetLastIpAddr())
	if err != nil || !last.Is4() {
		return out, item.Invalid(field+".last_ip_addr", "%q, expected an IPv4 address without prefix length", r.GetLastIpAddr())
	}
	if last.Less(first) {
		return out, item.Invalid(field+".last_ip_addr", "%s is before first_ip_addr %s", last, first)
	}
	out.First, out.Last = first, last
	return out, nil
}

// ranges converts all ranges; what is invalid is never applied.
func ranges(p *l3.ProxyARP) []vppcalls.ARPRange {
	var out []vppcalls.ARPRange
	for _, r := range p.GetRanges() {
		if converted, err := arpRange("", r); err == nil {
			out = append(out, converted)
		}
	}
	return out
}

func proxyARPDependencies(_ string, p *l3.ProxyARP) []kvs.Dependency {
	var deps []kvs.Dependency
	seen := map[uint32]bool{0: true}
	for _, r := range p.GetRanges() {
		if id := r.GetVrfId(); !seen[id] {
			seen[id] = true
			deps = append(deps, kvs.Dependency{
				Label: fmt.Sprintf("vrf-table-%d-exists", id), Key: model.VrfTableKey(id, l3.VrfTable_IPV4),
			})
		}
	}
	return deps
}

func proxyARPInterfaces(_ string, p *l3.ProxyARP) []kvs.KeyValuePair {
	out := make([]kvs.KeyValuePair, 0, len(p.GetInterfaces()))
	for _, iface := range p.GetInterfaces() {
		out = append(out, kvs.KeyValuePair{Key: model.ProxyARPInterfaceKey.Key(iface.GetName()), Value: iface})
	}
	return out
}

// sameProxyARP looks at the ranges, whatever their order; interfaces are values of
// their own.
func sameProxyARP(_ string, a, b *l3.ProxyARP) bool {
	return sameParts(ranges(a), ranges(b))
}

// missing are those of a that b does not have.
func missing[T comparable](a, b []T) []T {
	return slices.DeleteFunc(slices.Clone(a), func(x T) bool { return slices.Contains(b, x) })
}

// change turns old ranges into new ones, or leaves the old ones when VPP refuses.
func (d *proxyARPDescriptor) change(ctx context.Context, old, wanted []vppcalls.ARPRange) error {
	return changeParts(old, wanted,
		func(r vppcalls.ARPRange) error { return d.vpp.AddARPRange(ctx, r) },
		func(r vppcalls.ARPRange) error { return d.vpp.DeleteARPRange(ctx, r) })
}

// changeParts turns old parts into new ones. New ones come first; they go again when one
// cannot be added, and the old ones stay.
func changeParts[T comparable](old, wanted []T, add, remove func(T) error) error {
	more := missing(wanted, old)
	for n, part := range more {
		if err := add(part); err != nil {
			for _, added := range more[:n] {
				err = errors.Join(err, remove(added))
			}
			return err
		}
	}
	for _, part := range missing(old, wanted) {
		if err := remove(part); err != nil {
			return err
		}
	}
	return nil
}

// sameParts reports that two lists have the same parts, whatever their order.
func sameParts[T comparable](a, b []T) bool {
	return len(missing(a, b)) == 0 && len(missing(b, a)) == 0
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
