package vppcalls

import (
	"context"
	"fmt"

	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/tunnel_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// IpsecDevice is the device class of IPsec interfaces.
const IpsecDevice = "IPSEC Tunnel"

// IpsecInstances is the number of instances of IPsec interfaces.
const IpsecInstances = 16 * 1024

var createIpsec = session.Require(&Operations, "interface IPSEC_TUNNEL", "",
	(*ipsec.IpsecItfCreate)(nil), (*ipsec.IpsecItfCreateReply)(nil))

// CreateIpsec creates the IPsec interface ipsec<instance>, to one other end or to many.
// The error is api.INVALID_REGISTRATION if the instance exists.
func (c *Calls) CreateIpsec(ctx context.Context, instance uint32, multipoint bool) (swIfIndex uint32, err error) {
	reply := &ipsec.IpsecItfCreateReply{}
	err = c.call(ctx, createIpsec, &ipsec.IpsecItfCreate{Itf: ipsec.IpsecItf{
		UserInstance: instance, Mode: tunnelMode(multipoint),
	}}, reply)
	return uint32(reply.SwIfIndex), err
}

// IpsecName is how VPP calls an instance.
func IpsecName(instance uint32) string { return fmt.Sprintf("ipsec%d", instance) }

// DeleteIpsec deletes an IPsec interface. If it does not exist, that is a
// success.
func (c *Calls) DeleteIpsec(ctx context.Context, swIfIndex uint32) error {
	err := c.vpp.Call(ctx, &ipsec.IpsecItfDelete{SwIfIndex: interface_types.InterfaceIndex(swIfIndex)}, &ipsec.IpsecItfDeleteReply{})
	if session.Gone(err) {
		return nil
	}
	return err
}

// DumpIpsecs tells of all IPsec interfaces, by index, whether they have many
// other ends.
func (c *Calls) DumpIpsecs(ctx context.Context) (multipoint map[uint32]bool, err error) {
	found, err := session.Dump[*ipsec.IpsecItfDetails](ctx, c.vpp, &ipsec.IpsecItfDump{
		SwIfIndex: interface_types.InterfaceIndex(NoInterface),
	})
	if err != nil {
		return nil, err
	}
	multipoint = make(map[uint32]bool, len(found))
	for _, d := range found {
		multipoint[uint32(d.Itf.SwIfIndex)] = d.Itf.Mode == tunnel_types.TUNNEL_API_MODE_MP
	}
	return multipoint, nil
}
