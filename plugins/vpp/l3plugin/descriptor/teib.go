package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/teib"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

var teibEntries = item.Declare("TEIB", "", item.Variant[teib.TeibEntry]{
	Change: func(e teib.TeibEntry, add bool) (request, reply api.Message) {
		return &teib.TeibEntryAddDel{IsAdd: vppcalls.Flag(add), Entry: e}, &teib.TeibEntryAddDelReply{}
	},
	Dumps: []item.Dump[teib.TeibEntry]{item.List(&teib.TeibDump{},
		func(d *teib.TeibDetails) (teib.TeibEntry, bool) { return d.Entry, true })},
})

// NewTeib describes tunnel endpoints. A tunnel endpoint says behind which next hop of the
// underlay a peer is, on a tunnel with many ends (IPIP, GRE). VPP makes the peer a neighbour
// on the tunnel. The interface has our tag, so endpoints on it are ours too. They must go
// before the interface does: VPP would keep them.
func NewTeib(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*l3.TeibEntry, teib.TeibEntry, teib.TeibEntry]{
		Name: TeibName, Model: model.TeibModel, Operation: teibEntries,
		Resolve: func(r *item.Resolver, v *l3.TeibEntry) teib.TeibEntry {
			e := teib.TeibEntry{
				SwIfIndex: r.Interface("interface", v.GetInterface()),
				Peer:      r.Host("peer_addr", v.GetPeerAddr()), Nh: r.Host("next_hop_addr", v.GetNextHopAddr()),
			}
			e.NhTableID = r.Table(v.GetVrfId(), e.Nh)
			return e
		},
		ID: func(e teib.TeibEntry) teib.TeibEntry { return teib.TeibEntry{SwIfIndex: e.SwIfIndex, Peer: e.Peer} },
		Value: func(n *item.Names, e teib.TeibEntry) *l3.TeibEntry {
			return &l3.TeibEntry{
				Interface: n.Interface(e.SwIfIndex), PeerAddr: item.Addr(e.Peer), NextHopAddr: item.Addr(e.Nh), VrfId: e.NhTableID,
			}
		},
		Exists: []api.VPPApiError{api.ENTRY_ALREADY_EXISTS},
		Gone:   []api.VPPApiError{api.NO_SUCH_ENTRY},
	})
}
