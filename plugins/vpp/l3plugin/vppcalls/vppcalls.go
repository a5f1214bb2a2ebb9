// Package vppcalls translates layer 3 operations into messages of the VPP
// binary API, and chooses among the variants of a message which the connected
// VPP knows.
package vppcalls

import (
	"context"
	"errors"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/ip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// NoInterface is the index that stands for no interface.
const NoInterface = ^uint32(0)

// MAC is an Ethernet address.
type MAC = ethernet_types.MacAddress

// Calls are the layer 3 operations. All methods may be called concurrently.
// Errors name the message and what VPP answered.
type Calls struct {
	vpp *session.VPP
	ops *session.Ops[ops]
}

// ops are the operations that have variants, and those of plugins that VPP may
// run without.
type ops struct {
	table     session.Op[func(*Calls, context.Context, ip.IPTable, bool) error]
	scan      session.Op[scanner]
	proxyARP  session.Op[struct{}]
	l3xc      session.Op[struct{}]
	teib      session.Op[struct{}]
	dhcpProxy session.Op[struct{}]
	vrrp      session.Op[struct{}]
	vrrpPeers session.Op[struct{}]
}

// New returns the layer 3 operations on a VPP.
func New(vpp *session.VPP) *Calls {
	return &Calls{vpp: vpp, ops: session.Per(chooseOps)}
}

func chooseOps(s session.Session) ops {
	return ops{
		table: pickTable(s), scan: pickScan(s), proxyARP: pickProxyARP(s), l3xc: pickL3XC(s), teib: pickTEIB(s),
		dhcpProxy: pickDHCPProxy(s), vrrp: pickVRRP(s), vrrpPeers: pickVRRPPeers(s),
	}
}

// need fails, permanently, if the connected VPP lacks the messages of an
// operation.
func (c *Calls) need(which func(ops) session.Op[struct{}]) error {
	_, err := session.Do(c.vpp, c.ops, which)
	return err
}

// dump is session.Dump of an operation; a VPP without it has nothing to tell.
func dump[D api.Message](ctx context.Context, c *Calls, which func(ops) session.Op[struct{}], req api.Message) ([]D, error) {
	switch err := c.need(which); {
	case errors.Is(err, binding.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return session.Dump[D](ctx, c.vpp, req)
}
