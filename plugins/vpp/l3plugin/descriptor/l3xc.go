package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// An L3 cross-connect sends all packets of one version of IP that an interface
// receives along paths, whatever their destination. The interface has our tag, so
// a cross-connect on it is ours too. It must go before the interface does: VPP
// would keep it for the next interface with the same index.

// l3xcCalls is what L3 cross-connects need of VPP.
type l3xcCalls interface {
	SetL3Xconnect(ctx context.Context, x vppcalls.L3Xconnect) error
	DeleteL3Xconnect(ctx context.Context, x vppcalls.L3Xconnect) error
	DumpL3Xconnects(ctx context.Context) ([]vppcalls.L3Xconnect, error)
}

type l3xcDescriptor struct {
	vpp l3xcCalls
	ifs item.Interfaces
}

type l3xcKV = kvs.KV[*l3.L3XConnect, kvs.Metadata]

// NewL3XConnect describes L3 cross-connects.
func NewL3XConnect(vpp l3xcCalls, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &l3xcDescriptor{vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.L3XConnectModel, kvs.Descriptor[*l3.L3XConnect, kvs.Metadata]{
		Name:            L3XConnectName,
		Southbound:      item.Southbound,
		Validate:        validateL3XC,
		Dependencies:    l3xcDependencies,
		ValueComparator: sameL3XC,
		CreateContext:   func(ctx context.Context, _ string, x *l3.L3XConnect) (kvs.Metadata, error) { return nil, d.set(ctx, x) },
		UpdateContext: func(ctx context.Context, _ string, _, x *l3.L3XConnect, _ kvs.Metadata) (kvs.Metadata, error) {
			return nil, d.set(ctx, x)
		},
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName},
	}))
}

func validateL3XC(_ string, x *l3.L3XConnect) error {
	var errs []error
	if x.GetInterface() == "" {
		errs = append(errs, item.Invalid("interface", "empty, expected the name of an interface"))
	}
	if _, ok := l3.L3XConnect_Protocol_name[int32(x.GetProtocol())]; !ok {
		errs = append(errs, item.Invalid("protocol", "%d, expected IPV4 or IPV6", x.GetProtocol()))
	}
	if n := len(x.GetPaths()); n == 0 || n > maxByte {
		errs = append(errs, item.Invalid("paths", "%d paths, expected 1 to %d", n, maxByte))
	}
	seen := map[l3xcPathID]bool{}
	for n, p := range x.GetPaths() {
		field := fmt.Sprintf("paths[%d]", n)
		if err := validateL3XCPath(field, p, isIPv6(x)); err != nil {
			errs = append(errs, err)
			continue
		}
		if id := l3xcPathOf(p); seen[id] {
			errs = append(errs, item.Invalid(field, "is listed twice"))
		} else {
			seen[id] = true
		}
	}
	return errors.Join(errs...)
}

func validateL3XCPath(field string, p *l3.L3XConnect_Path, ipv6 bool) error {
	var errs []error
	hop, err := ipconv.ParseAddr(p.GetNextHopAddr())
	switch {
	case p.GetNextHopAddr() == "" && p.GetOutgoingInterface() == "":
		errs = append(errs, item.Invalid(field+".next_hop_addr, "+field+".outgoing_interface", "both empty, expected at least one"))
	case p.GetNextHopAddr() == "":
	case err != nil:
		errs = append(errs, item.Invalid(field+".next_hop_addr", "%w", err))
	case hop.Is6() != ipv6:
		errs = append(errs, item.Invalid(field+".next_hop_addr", "%s, expected an address of the protocol of the cross-connect", hop))
	case hop.IsUnspecified() && p.GetOutgoingInterface() == "":
		errs = append(errs, item.Invalid(field+".next_hop_addr", "%s, expected the address of a next hop, as there is no outgoing_interface", hop))
	}
	if p.GetWeight() > maxByte {
		errs = append(errs, item.Invalid(field+".weight", "%d, expected 0 to %d", p.GetWeight(), maxByte))
	}
	if p.GetPreference() > maxByte {
		errs = append(errs, item.Invalid(field+".preference", "%d, expected 0 to %d", p.GetPreference(), maxByte))
	}
	return errors.Join(errs...)
}

func isIPv6(x *l3.L3XConnect) bool { return x.GetProtocol() == l3.L3XConnect_IPV6 }

func l3xcDependencies(_ string, x *l3.L3XConnect) []kvs.Dependency {
	deps := []kvs.Dependency{item.DependsOnInterface("target-interface-exists", x.GetInterface())}
	seen := map[string]bool{"": true}
	for _, p := range x.GetPaths() {
		if name := p.GetOutgoingInterface(); !seen[name] {
			seen[name] = true
			deps = append(deps, item.DependsOnInterface("outgoing-interface-exists-"+name, name))
		}
	}
	return deps
}

// l3xcPathID is what tells paths apart in VPP; the zero address stands for none.
type l3xcPathID struct {
	iface string
	hop   netip.Addr
}

// l3xcPath is a path in a form that can be compared.
type l3xcPath struct {
	l3xcPathID
	weight, preference uint32
}

func l3xcPathOf(p *l3.L3XConnect_Path) l3xcPathID {
	hop, err := ipconv.ParseAddr(p.GetNextHopAddr())
	if err != nil || hop.IsUnspecified() {
		hop = netip.Addr{}
	}
	return l3xcPathID{p.GetOutgoingInterface(), hop}
}

func l3xcPaths(x *l3.L3XConnect) []l3xcPath {
	out := make([]l3xcPath, 0, len(x.GetPaths()))
	for _, p := range x.GetPaths() {
		out = append(out, l3xcPath{l3xcPathOf(p), max(p.GetWeight(), 1), p.GetPreference()})
	}
	return out
}

// sameL3XC compares paths whatever their order.
func sameL3XC(_ string, a, b *l3.L3XConnect) bool {
	return a.GetInterface() == b.GetInterface() && a.GetProtocol() == b.GetProtocol() &&
		len(missing(l3xcPaths(a), l3xcPaths(b))) == 0 && len(missing(l3xcPaths(b), l3xcPaths(a))) == 0
}

func (d *l3xcDescriptor) set(ctx context.Context, x *l3.L3XConnect) error {
	index, err := item.SwIfIndex(d.ifs, x.GetInterface())
	if err != nil {
		return err
	}
	out := vppcalls.L3Xconnect{SwIfIndex: index, IPv6: isIPv6(x)}
	for _, p := range l3xcPaths(x) {
		path := vppcalls.Path{
			NextHop: p.hop, SwIfIndex: vppcalls.NoInterface, Weight: uint8(p.weight), Preference: uint8(p.preference),
		}
		if p.iface != "" {
			if path.SwIfIndex, err = item.SwIfIndex(d.ifs, p.iface); err != nil {
				return err
			}
		}
		out.Paths = append(out.Paths, path)
	}
	return d.vpp.SetL3Xconnect(ctx, out)
}

func (d *l3xcDescriptor) remove(ctx context.Context, _ string, x *l3.L3XConnect, _ kvs.Metadata) error {
	index, err := item.SwIfIndex(d.ifs, x.GetInterface())
	if err != nil {
		return err
	}
	return d.vpp.DeleteL3Xconnect(ctx, vppcalls.L3Xconnect{SwIfIndex: index, IPv6: isIPv6(x)})
}

func (d *l3xcDescriptor) retrieve(ctx context.Context, correlate []l3xcKV) ([]l3xcKV, error) {
	all, err := d.vpp.DumpL3Xconnects(ctx)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]*l3.L3XConnect, len(correlate))
	for _, kv := range correlate {
		wanted[kv.Key] = kv.Value
	}
	snapshot := d.ifs.Snapshot(ctx)
	var out []l3xcKV
	for _, found := range all {
		name, ok := snapshot.Name(found.SwIfIndex)
		if !ok {
			continue
		}
		x := &l3.L3XConnect{Interface: name}
		if found.IPv6 {
			x.Protocol = l3.L3XConnect_IPV6
		}
		for _, p := range found.Paths {
			x.Paths = append(x.Paths, describeL3XCPath(p, snapshot))
		}
		kv := l3xcKV{Key: model.L3XConnectModel.Key(x), Value: x, Origin: kvs.FromNB}
		if w := wanted[kv.Key]; w != nil && sameL3XC(kv.Key, w, x) {
			kv.Value = w // in its spelling
		}
		out = append(out, kv)
	}
	return out, snapshot.Err()
}

// describeL3XCPath names an interface that does not exist any more after its index.
func describeL3XCPath(p vppcalls.Path, snapshot *ifaceidx.Snapshot) *l3.L3XConnect_Path {
	out := &l3.L3XConnect_Path{Weight: uint32(p.Weight), Preference: uint32(p.Preference)}
	if !p.NextHop.IsUnspecified() {
		out.NextHopAddr = p.NextHop.String()
	}
	if p.SwIfIndex != vppcalls.NoInterface {
		name, ok := snapshot.Name(p.SwIfIndex)
		if !ok {
			name = fmt.Sprintf("MISSING-%d", p.SwIfIndex)
		}
		out.OutgoingInterface = name
	}
	return out
}
