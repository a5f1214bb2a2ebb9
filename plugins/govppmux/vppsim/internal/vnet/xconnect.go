package vnet

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/l2"
)

// xconnects are the cross-connects of L2. What they change is the L2 half of the
// interface.
type xconnects struct{ *VNet }

func newXconnects(n *VNet) feature { return &xconnects{VNet: n} }

func (xs *xconnects) register(server *wire.Server) {
	handle[l2.SwInterfaceSetL2XconnectReply](server, xs.setL2Xconnect)
	wire.HandleDump(server, xs.l2XconnectDump)
}

func (xs *xconnects) reset() {}

// toXconnect sends everything received on an interface out of another one.
func (xs *xconnects) toXconnect(i *swInterface, peer uint32) {
	xs.leaveL2(i)
	i.l2.mode, i.l2.peer, i.l2.bvi, i.l2.shg = modeXconnect, peer, false, 0
	i.l2.features |= featDrop | featXconnect
	i.l2.features &^= featLearn | featForward | featFlood
}

func (xs *xconnects) setL2Xconnect(req *l2.SwInterfaceSetL2Xconnect) retval {
	i := xs.byIndex(req.RxSwIfIndex)
	switch {
	case i == nil, req.Enable && xs.byIndex(req.TxSwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case req.Enable:
		xs.toXconnect(i, uint32(req.TxSwIfIndex))
	default:
		xs.toL3(i)
	}
	return ok
}

func (xs *xconnects) l2XconnectDump(c *wire.Call, _ *l2.L2XconnectDump) {
	for _, i := range xs.ifs.all() {
		if i.l2.mode == modeXconnect {
			c.Send(&l2.L2XconnectDetails{
				RxSwIfIndex: ifIndex(i.index),
				TxSwIfIndex: ifIndex(i.l2.peer),
			})
		}
	}
}

func (xs *xconnects) dumpInterface(b *strings.Builder, i *swInterface) {
	if i.l2.mode == modeXconnect {
		fmt.Fprintf(b, "  cross-connect to %d\n", i.l2.peer)
	}
}
