package vppcalls

import (
	"context"
	"net/netip"

	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vrrp"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// ownerPriority is the priority of a virtual router that owns its addresses:
// the interface has them, too (RFC 5798, section 5.2.4).
const ownerPriority = 255

var virtualRouters = session.Step("virtual routers",
	session.Variant(struct{}{}, (*vrrp.VrrpVrDump)(nil), (*vrrp.VrrpVrDetails)(nil)))

// DumpVirtualAddresses returns, by interface, the addresses that its virtual
// routers give it while they are masters: the addresses of running routers that
// accept packets to them and do not own them. None if the connected VPP has no
// VRRP.
func (c *Calls) DumpVirtualAddresses(ctx context.Context) (map[uint32][]netip.Addr, error) {
	found, err := session.DumpOf[*vrrp.VrrpVrDetails](ctx, c.vpp, virtualRouters, &vrrp.VrrpVrDump{
		SwIfIndex: interface_types.InterfaceIndex(NoInterface),
	})
	if err != nil {
		return nil, err
	}
	out := map[uint32][]netip.Addr{}
	for _, d := range found {
		accepts := d.Config.Flags&vrrp.VRRP_API_VR_ACCEPT != 0
		if !accepts || d.Config.Priority == ownerPriority || d.Runtime.State == vrrp.VRRP_API_VR_STATE_INIT {
			continue
		}
		at := uint32(d.Config.SwIfIndex)
		for _, a := range d.Addrs {
			out[at] = append(out[at], ipconv.FromAddress(a))
		}
	}
	return out, nil
}
