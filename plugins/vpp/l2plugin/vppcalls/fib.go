package vppcalls

import (
	"context"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l2"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// FIBEntry is an address in the table of a bridge domain.
type FIBEntry struct {
	BridgeDomain uint32
	MAC          MAC
	// Drop frames to the address; then there is no interface.
	Drop bool
	// SwIfIndex of the interface that frames to the address leave by.
	SwIfIndex uint32
	// Static entries are not moved by learning; VPP makes those that drop static.
	Static bool
	// BVI: the address of the BVI itself.
	BVI bool
}

// AddFIBEntry adds an entry.
func (c *Calls) AddFIBEntry(ctx context.Context, e FIBEntry) error {
	return c.fib(ctx, e, true)
}

// DeleteFIBEntry deletes the entry of the address, whatever interface it has got:
// learning moves entries that are not static. If it does not exist, that is a
// success.
func (c *Calls) DeleteFIBEntry(ctx context.Context, e FIBEntry) error {
	e.SwIfIndex = 0 // any
	err := c.fib(ctx, e, false)
	if session.Gone(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

func (c *Calls) fib(ctx context.Context, e FIBEntry, add bool) error {
	if e.Drop {
		e.SwIfIndex, e.Static = 0, true // VPP ignores the interface
	}
	return c.vpp.Call(ctx, &l2.L2fibAddDel{
		Mac: e.MAC, BdID: e.BridgeDomain, SwIfIndex: interface_types.InterfaceIndex(e.SwIfIndex), IsAdd: add,
		StaticMac: e.Static, FilterMac: e.Drop, BviMac: e.BVI,
	}, &l2.L2fibAddDelReply{})
}

// DumpFIB returns the entries of all bridge domains, learned ones included.
func (c *Calls) DumpFIB(ctx context.Context) ([]FIBEntry, error) {
	found, err := session.Dump[*l2.L2FibTableDetails](ctx, c.vpp, &l2.L2FibTableDump{BdID: none})
	if err != nil {
		return nil, err
	}
	out := make([]FIBEntry, len(found))
	for i, d := range found {
		out[i] = FIBEntry{
			BridgeDomain: d.BdID, MAC: d.Mac, SwIfIndex: uint32(d.SwIfIndex),
			Drop: d.FilterMac, Static: d.StaticMac, BVI: d.BviMac,
		}
	}
	return out, nil
}
