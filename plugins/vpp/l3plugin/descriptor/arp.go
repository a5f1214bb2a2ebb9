package descriptor

import (
	"context"
	"errors"
	"net/netip"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// A neighbour is the MAC address of an IP address, of either version, on an
// interface. VPP learns neighbours itself; an entry that is not expected counts
// as configured only if it is static. VPP makes a learned entry static, and gives
// a static one another MAC address, but does not make it a learned one again.

// neighborCalls is what neighbours need of VPP.
type neighborCalls interface {
	AddNeighbor(ctx context.Context, n vppcalls.Neighbor) error
	DeleteNeighbor(ctx context.Context, n vppcalls.Neighbor) error
	DumpNeighbors(ctx context.Context) ([]vppcalls.Neighbor, error)
}

type arpDescriptor struct {
	vpp neighborCalls
	ifs Interfaces
}

type arpKV = kvs.KV[*l3.ARPEntry, kvs.Metadata]

// NewARP describes neighbours.
func NewARP(vpp neighborCalls, ifs Interfaces) *kvs.KVDescriptor {
	d := &arpDescriptor{vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.ARPModel, kvs.Descriptor[*l3.ARPEntry, kvs.Metadata]{
		Name:       ARPName,
		Southbound: Southbound,
		Validate:   validateARP,
		Dependencies: func(_ string, e *l3.ARPEntry) []kvs.Dependency {
			return []kvs.Dependency{interfaceDependency("interface-exists", e.GetInterface())}
		},
		ValueComparator:    sameARP,
		UpdateWithRecreate: func(_ string, old, e *l3.ARPEntry, _ kvs.Metadata) bool { return old.GetStatic() && !e.GetStatic() },
		CreateContext:      d.create,
		UpdateContext: func(ctx context.Context, key string, _, e *l3.ARPEntry, _ kvs.Metadata) (kvs.Metadata, error) {
			return d.create(ctx, key, e)
		},
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{interfaceName},
		ConcurrentRetrieve:   true,
		Concurrency:          concurrency,
	}))
}

func validateARP(_ string, e *l3.ARPEntry) error {
	var errs []error
	if e.GetInterface() == "" {
		errs = append(errs, invalid("interface", "empty, expected the name of an interface"))
	}
	if addr, err := ipconv.ParseAddr(e.GetIpAddress()); err != nil {
		errs = append(errs, invalid("ip_address", "%w", err))
	} else if addr.IsUnspecified() || addr.IsMulticast() {
		errs = append(errs, invalid("ip_address", "%s, expected the address of a neighbour", addr))
	}
	if _, err := ipconv.ParseMAC(e.GetPhysAddress()); err != nil {
		errs = append(errs, invalid("phys_address", "%w", err))
	}
	return errors.Join(errs...)
}

func sameARP(_ string, a, b *l3.ARPEntry) bool {
	return a.GetInterface() == b.GetInterface() && a.GetStatic() == b.GetStatic() &&
		ipconv.SameAddr(a.GetIpAddress(), b.GetIpAddress()) && ipconv.SameMAC(a.GetPhysAddress(), b.GetPhysAddress())
}

func (d *arpDescriptor) create(ctx context.Context, _ string, e *l3.ARPEntry) (kvs.Metadata, error) {
	n, err := d.resolve(e)
	if err != nil {
		return nil, err
	}
	return nil, d.vpp.AddNeighbor(ctx, n)
}

func (d *arpDescriptor) remove(ctx context.Context, _ string, e *l3.ARPEntry, _ kvs.Metadata) error {
	n, err := d.resolve(e)
	if err != nil {
		return err
	}
	return d.vpp.DeleteNeighbor(ctx, n)
}

func (d *arpDescriptor) resolve(e *l3.ARPEntry) (n vppcalls.Neighbor, err error) {
	n.Static = e.GetStatic()
	if n.SwIfIndex, err = swIfIndex(d.ifs, e.GetInterface()); err != nil {
		return n, err
	}
	if n.Addr, err = ipconv.ParseAddr(e.GetIpAddress()); err != nil {
		return n, err
	}
	n.MAC, err = ipconv.ParseMAC(e.GetPhysAddress())
	return n, err
}

// arpID is what tells neighbours apart in VPP.
type arpID struct {
	iface string
	addr  netip.Addr
}

func (d *arpDescriptor) retrieve(ctx context.Context, correlate []arpKV) ([]arpKV, error) {
	all, err := d.vpp.DumpNeighbors(ctx)
	if err != nil {
		return nil, err
	}
	wanted := make(map[arpID]arpKV, len(correlate))
	for _, kv := range correlate {
		addr, err := ipconv.ParseAddr(kv.Value.GetIpAddress())
		id := arpID{kv.Value.GetInterface(), addr}
		if err == nil && wanted[id].Value == nil { // what is asked for comes first
			wanted[id] = kv
		}
	}
	snapshot := d.ifs.Snapshot(ctx)
	var out []arpKV
	for _, found := range all {
		iface, ok := snapshot.Name(found.SwIfIndex)
		if !ok {
			continue
		}
		e := &l3.ARPEntry{
			Interface: iface, IpAddress: found.Addr.String(), PhysAddress: found.MAC.String(), Static: found.Static,
		}
		kv := arpKV{Key: model.ARPModel.Key(e), Value: e, Origin: kvs.UnknownOrigin}
		if w, expected := wanted[arpID{iface, found.Addr}]; expected {
			e.IpAddress = w.Value.GetIpAddress()
			kv.Key, kv.Origin = w.Key, kvs.FromNB
		} else if !found.Static {
			continue // learned
		}
		out = append(out, kv)
	}
	return out, snapshot.Err()
}
