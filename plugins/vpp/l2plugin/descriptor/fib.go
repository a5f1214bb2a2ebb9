package descriptor

import (
	"context"
	"errors"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/vppcalls"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// An entry in the table of a bridge domain says where frames to an address go.
// It depends on the interface being in that bridge domain, not only on both
// existing. VPP learns entries itself and adds one for the BVI; there is no tag,
// so an entry that is not expected counts as configured only if it is static.

// fibCalls is what entries need of VPP.
type fibCalls interface {
	AddFIBEntry(ctx context.Context, e vppcalls.FIBEntry) error
	DeleteFIBEntry(ctx context.Context, e vppcalls.FIBEntry) error
	DumpFIB(ctx context.Context) ([]vppcalls.FIBEntry, error)
}

type fibDescriptor struct {
	vpp fibCalls
	ifs Interfaces
	bds BridgeDomains
}

type fibKV = kvs.KV[*l2.FIBEntry, kvs.Metadata]

// NewFIB describes entries in the tables of bridge domains.
func NewFIB(vpp fibCalls, ifs Interfaces, bds BridgeDomains) *kvs.KVDescriptor {
	d := &fibDescriptor{vpp, ifs, bds}
	return kvs.Adapt(kvs.Describe(model.FIBModel, kvs.Descriptor[*l2.FIBEntry, kvs.Metadata]{
		Name:                 FIBName,
		Southbound:           Southbound,
		Validate:             validateFIB,
		Dependencies:         fibDependencies,
		ValueComparator:      sameFIB,
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{interfaceName, BridgeDomainName},
		ConcurrentRetrieve:   true,
		Concurrency:          concurrency,
	}))
}

// concurrency is how many entries may be in flight at a time: they are
// independent of each other.
const concurrency = 256

func validateFIB(_ string, e *l2.FIBEntry) error {
	var errs []error
	if _, err := ipconv.ParseMAC(e.GetPhysAddress()); err != nil {
		errs = append(errs, invalid("phys_address", "%w", err))
	}
	if e.GetBridgeDomain() == "" {
		errs = append(errs, invalid("bridge_domain", "empty, expected the name of a bridge domain"))
	}
	switch e.GetAction() {
	case l2.FIBEntry_FORWARD:
		if e.GetOutgoingInterface() == "" {
			errs = append(errs, invalid("outgoing_interface", "empty, expected the name of an interface for action FORWARD"))
		}
	case l2.FIBEntry_DROP:
	default:
		errs = append(errs, invalid("action", "%d, expected FORWARD or DROP", e.GetAction()))
	}
	return errors.Join(errs...)
}

func fibDependencies(_ string, e *l2.FIBEntry) []kvs.Dependency {
	if e.GetAction() == l2.FIBEntry_DROP {
		return []kvs.Dependency{{
			Label: "bridge-domain", Key: model.BridgeDomainModel.KeyFor(e.GetBridgeDomain()),
		}}
	}
	return []kvs.Dependency{{
		Label: "bridged-interface", Key: model.BDInterfaceKey.Key(e.GetBridgeDomain(), e.GetOutgoingInterface()),
	}}
}

func sameFIB(_ string, a, b *l2.FIBEntry) bool {
	if !ipconv.SameMAC(a.GetPhysAddress(), b.GetPhysAddress()) ||
		a.GetBridgeDomain() != b.GetBridgeDomain() || a.GetAction() != b.GetAction() {
		return false
	}
	return a.GetAction() == l2.FIBEntry_DROP ||
		a.GetOutgoingInterface() == b.GetOutgoingInterface() && a.GetStaticConfig() == b.GetStaticConfig() &&
			a.GetBridgedVirtualInterface() == b.GetBridgedVirtualInterface()
}

func (d *fibDescriptor) create(ctx context.Context, _ string, e *l2.FIBEntry) (kvs.Metadata, error) {
	entry, err := d.resolve(e)
	if err != nil {
		return nil, err
	}
	return nil, d.vpp.AddFIBEntry(ctx, entry)
}

// update needs no removal: VPP overwrites the entry.
func (d *fibDescriptor) update(ctx context.Context, key string, _, e *l2.FIBEntry, _ kvs.Metadata) (kvs.Metadata, error) {
	return d.create(ctx, key, e)
}

func (d *fibDescriptor) remove(ctx context.Context, _ string, e *l2.FIBEntry, _ kvs.Metadata) error {
	entry, err := d.resolve(e)
	if err != nil {
		return err
	}
	return d.vpp.DeleteFIBEntry(ctx, entry)
}

func (d *fibDescriptor) resolve(e *l2.FIBEntry) (entry vppcalls.FIBEntry, err error) {
	if entry.MAC, err = ipconv.ParseMAC(e.GetPhysAddress()); err != nil {
		return entry, err
	}
	if entry.BridgeDomain, err = d.bds.id(e.GetBridgeDomain()); err != nil {
		return entry, err
	}
	if e.GetAction() == l2.FIBEntry_DROP {
		entry.Drop = true
		return entry, nil
	}
	entry.Static, entry.BVI = e.GetStaticConfig(), e.GetBridgedVirtualInterface()
	entry.SwIfIndex, err = swIfIndex(d.ifs, e.GetOutgoingInterface())
	return entry, err
}

// fibID is what tells entries apart in VPP.
type fibID struct {
	bd  string
	mac vppcalls.MAC
}

func (d *fibDescriptor) retrieve(ctx context.Context, correlate []fibKV) ([]fibKV, error) {
	all, err := d.vpp.DumpFIB(ctx)
	if err != nil {
		return nil, err
	}
	wanted := make(map[fibID]fibKV, len(correlate))
	for _, kv := range correlate {
		mac, err := ipconv.ParseMAC(kv.Value.GetPhysAddress())
		id := fibID{kv.Value.GetBridgeDomain(), mac}
		if err == nil && wanted[id].Value == nil { // what is asked for comes first
			wanted[id] = kv
		}
	}
	snapshot := d.ifs.Snapshot(ctx)
	var out []fibKV
	for _, found := range all {
		e := d.describe(found, snapshot)
		if e == nil {
			continue
		}
		kv := fibKV{Origin: kvs.UnknownOrigin, Value: e}
		if w, ok := wanted[fibID{e.BridgeDomain, found.MAC}]; ok {
			kv.Origin, e.PhysAddress = kvs.FromNB, w.Value.GetPhysAddress()
		} else if !found.Static || found.BVI {
			continue // learned, or made by VPP for the BVI
		}
		kv.Key = model.FIBModel.Key(e)
		out = append(out, kv)
	}
	return out, snapshot.Err()
}

// describe returns nil for entries in bridge domains and of interfaces that
// have no name.
func (d *fibDescriptor) describe(found vppcalls.FIBEntry, snapshot *ifaceidx.Snapshot) *l2.FIBEntry {
	bd, ok := d.bds.LookupByID(found.BridgeDomain)
	if !ok {
		return nil
	}
	e := &l2.FIBEntry{PhysAddress: found.MAC.String(), BridgeDomain: bd}
	if found.Drop {
		e.Action, e.StaticConfig = l2.FIBEntry_DROP, true
		return e
	}
	iface, ok := snapshot.Name(found.SwIfIndex)
	if !ok {
		return nil
	}
	e.OutgoingInterface, e.StaticConfig, e.BridgedVirtualInterface = iface, found.Static, found.BVI
	return e
}
