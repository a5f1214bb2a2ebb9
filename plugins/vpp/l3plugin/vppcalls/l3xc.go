package vppcalls

import (
	"context"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l3xc"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// L3Xconnect sends all packets of one version of IP that an interface receives
// along paths.
type L3Xconnect struct {
	SwIfIndex uint32
	IPv6      bool
	Paths     []Path
}

var l3xcs = session.Require(&Operations, "L3 cross-connect", "l3xc",
	(*l3xc.L3xcUpdate)(nil), (*l3xc.L3xcUpdateReply)(nil), (*l3xc.L3xcDel)(nil), (*l3xc.L3xcDelReply)(nil),
	(*l3xc.L3xcDump)(nil), (*l3xc.L3xcDetails)(nil))

// SetL3Xconnect creates a cross-connect or replaces the paths of one. For that
// it is deleted first: VPP 22.10 to 26.06 take other paths but continue forwarding
// along those that the cross-connect was created with (l3xc_update in
// src/plugins/l3xc/l3xc.c).
func (c *Calls) SetL3Xconnect(ctx context.Context, x L3Xconnect) error {
	if err := c.DeleteL3Xconnect(ctx, x); err != nil {
		return err
	}
	req := &l3xc.L3xcUpdate{L3xc: l3xc.L3xc{SwIfIndex: interface_types.InterfaceIndex(x.SwIfIndex), IsIP6: x.IPv6}}
	for _, p := range x.Paths {
		req.L3xc.Paths = append(req.L3xc.Paths, p.message(x.IPv6))
	}
	req.L3xc.NPaths = uint8(len(req.L3xc.Paths))
	return c.vpp.Call(ctx, req, &l3xc.L3xcUpdateReply{})
}

// DeleteL3Xconnect deletes a cross-connect. If it does not exist, that is a
// success.
func (c *Calls) DeleteL3Xconnect(ctx context.Context, x L3Xconnect) error {
	if err := l3xcs.Check(c.vpp); err != nil {
		return err
	}
	err := c.vpp.Call(ctx, &l3xc.L3xcDel{
		SwIfIndex: interface_types.InterfaceIndex(x.SwIfIndex), IsIP6: x.IPv6,
	}, &l3xc.L3xcDelReply{})
	if session.Gone(err, api.INVALID_VALUE) { // what VPP says if there is none
		return nil
	}
	return err
}

// DumpL3Xconnects returns all cross-connects. VPP does not fill in their version
// of IP; it is that of the next hops.
func (c *Calls) DumpL3Xconnects(ctx context.Context) ([]L3Xconnect, error) {
	found, err := session.DumpOf[*l3xc.L3xcDetails](ctx, c.vpp, l3xcs, &l3xc.L3xcDump{SwIfIndex: interface_types.InterfaceIndex(NoInterface)})
	if err != nil {
		return nil, err
	}
	out := make([]L3Xconnect, len(found))
	for i, d := range found {
		out[i].SwIfIndex = uint32(d.L3xc.SwIfIndex)
		for _, p := range d.L3xc.Paths {
			out[i].IPv6 = p.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP6
			if converted, ok := path(p); ok {
				out[i].Paths = append(out[i].Paths, converted)
			}
		}
	}
	return out, nil
}
