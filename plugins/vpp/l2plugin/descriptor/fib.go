package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l2"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l2proto "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// fibEntry is an entry in the table of a bridge domain. One that drops frames is static, and
// has no interface: VPP ignores it.
type fibEntry struct {
	mac               vppcalls.MAC
	bd                uint32
	iface             interface_types.InterfaceIndex
	drop, static, bvi bool
}

// A removal names no interface: learning moves entries that are not static.
var fibEntries = item.Declare("L2 FIB", "", item.Variant[fibEntry]{
	Change: func(e fibEntry, add bool) (request, reply api.Message) {
		if !add {
			e.iface = 0
		}
		return &l2.L2fibAddDel{
			Mac: e.mac, BdID: e.bd, SwIfIndex: e.iface, IsAdd: add, StaticMac: e.static, FilterMac: e.drop, BviMac: e.bvi,
		}, &l2.L2fibAddDelReply{}
	},
	Dumps: []item.Dump[fibEntry]{item.List(&l2.L2FibTableDump{BdID: ^uint32(0)}, func(d *l2.L2FibTableDetails) (fibEntry, bool) {
		if d.FilterMac {
			return fibEntry{mac: d.Mac, bd: d.BdID, drop: true, static: true}, true
		}
		return fibEntry{mac: d.Mac, bd: d.BdID, iface: d.SwIfIndex, static: d.StaticMac, bvi: d.BviMac}, true
	})},
})

// NewFIB describes entries in the tables of bridge domains. An entry says where frames to an
// address go. It depends on the interface being in that bridge domain, not only on both
// existing. VPP learns entries itself and adds one for the BVI; there is no tag, so an entry
// that is not expected counts as configured only if it is static.
func NewFIB(vpp *session.VPP, ifs item.Interfaces, bds BridgeDomains) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*l2proto.FIBEntry, fibEntry, fibEntry]{
		Name: FIBName, Model: model.FIBModel, Operation: fibEntries, After: []string{BridgeDomainName},
		Resolve: func(r *item.Resolver, v *l2proto.FIBEntry) fibEntry { return resolveFIB(r, v, bds) },
		ID:      func(e fibEntry) fibEntry { return fibEntry{mac: e.mac, bd: e.bd} },
		Value: func(n *item.Names, e fibEntry) *l2proto.FIBEntry {
			v := &l2proto.FIBEntry{PhysAddress: e.mac.String(), BridgeDomain: n.Known(bds.LookupByID(e.bd)), StaticConfig: e.static}
			if e.drop {
				v.Action = l2proto.FIBEntry_DROP
			} else {
				v.OutgoingInterface, v.BridgedVirtualInterface = n.Interface(e.iface), e.bvi
			}
			return v
		},
		Changeable: func(fibEntry, fibEntry) bool { return true },
		Learned:    func(e fibEntry) bool { return !e.static || e.bvi },
		Gone:       []api.VPPApiError{api.NO_SUCH_ENTRY},
	})
}

func resolveFIB(r *item.Resolver, v *l2proto.FIBEntry, bds BridgeDomains) fibEntry {
	bd, iface := v.GetBridgeDomain(), v.GetOutgoingInterface()
	e := fibEntry{mac: r.MAC("phys_address", v.GetPhysAddress()), bd: r.Number("bridge domain", bd, bds.id)}
	switch v.GetAction() {
	case l2proto.FIBEntry_DROP:
		r.DependsOn("bridge-domain", model.BridgeDomainModel.KeyFor(bd))
		e.drop, e.static = true, true
	case l2proto.FIBEntry_FORWARD:
		r.NotEmpty("outgoing_interface", iface, "the name of an interface for action FORWARD")
		r.DependsOn("bridged-interface", model.BDInterfaceKey.Key(bd, iface))
		e.iface, e.static, e.bvi = r.SwIfIndex(iface), v.GetStaticConfig(), v.GetBridgedVirtualInterface()
	default:
		r.Fail("action", "%d, expected FORWARD or DROP", v.GetAction())
	}
	return e
}
