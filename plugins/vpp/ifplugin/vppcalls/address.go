package vppcalls

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

var (
	setAddress = session.Require("interface: addresses", "",
		(*interfaces.SwInterfaceAddDelAddress)(nil), (*interfaces.SwInterfaceAddDelAddressReply)(nil))
	setTable = session.Require("interface: VRF", "",
		(*interfaces.SwInterfaceSetTable)(nil), (*interfaces.SwInterfaceSetTableReply)(nil))
	setUnnumbered = session.Require("interface: unnumbered", "",
		(*interfaces.SwInterfaceSetUnnumbered)(nil), (*interfaces.SwInterfaceSetUnnumberedReply)(nil))
)

// AddAddress gives an address to an interface. If the interface has exactly
// this address already, that is a success. An IPv6 link-local address replaces
// the one that the interface has.
func (c *Calls) AddAddress(ctx context.Context, swIfIndex uint32, addr netip.Prefix) error {
	err := c.address(ctx, true, swIfIndex, addr)
	if errors.Is(err, api.DUPLICATE_IF_ADDRESS) || errors.Is(err, api.ADDRESS_IN_USE) {
		have, dumpErr := c.DumpAddresses(ctx, swIfIndex, addr.Addr().Is6())
		if dumpErr != nil {
			return errors.Join(err, dumpErr)
		}
		if slices.Contains(have, addr) {
			return nil
		}
	}
	return err
}

// RemoveAddress takes an address away. If the interface does not have it, that
// is a success. An IPv6 link-local address stays: VPP wants to have one.
func (c *Calls) RemoveAddress(ctx context.Context, swIfIndex uint32, addr netip.Prefix) error {
	err := c.address(ctx, false, swIfIndex, addr)
	if session.Gone(err, api.ADDRESS_NOT_FOUND_FOR_INTERFACE) || IsLinkLocal(addr) && errors.Is(err, api.ADDRESS_NOT_DELETABLE) {
		return nil
	}
	return err
}

// IsLinkLocal reports whether VPP treats the address as the IPv6 link-local one
// of an interface.
func IsLinkLocal(addr netip.Prefix) bool {
	return addr.Addr().Is6() && addr.Addr().IsLinkLocalUnicast()
}

func (c *Calls) address(ctx context.Context, add bool, swIfIndex uint32, addr netip.Prefix) error {
	if IsLinkLocal(addr) {
		addr = netip.PrefixFrom(addr.Addr(), addr.Addr().BitLen()) // VPP takes no other length
	}
	return c.call(ctx, setAddress, &interfaces.SwInterfaceAddDelAddress{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), IsAdd: add, Prefix: ipconv.Interface(addr),
	}, &interfaces.SwInterfaceAddDelAddressReply{})
}

// DumpAddresses returns the addresses of an interface. IPv6 link-local ones
// are not among them: VPP keeps those apart.
func (c *Calls) DumpAddresses(ctx context.Context, swIfIndex uint32, ipv6 bool) ([]netip.Prefix, error) {
	found, err := session.Dump[*ip.IPAddressDetails](ctx, c.vpp, &ip.IPAddressDump{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), IsIPv6: ipv6,
	})
	if err != nil {
		return nil, err
	}
	addrs := make([]netip.Prefix, 0, len(found))
	for _, d := range found {
		addrs = append(addrs, ipconv.FromInterface(d.Prefix))
	}
	return addrs, nil
}

// LinkLocal returns the IPv6 link-local address of an interface; invalid if it
// has none. known is false if this VPP does not report it.
func (c *Calls) LinkLocal(ctx context.Context, swIfIndex uint32) (addr netip.Addr, known bool, err error) {
	reply := &ip.SwInterfaceIP6GetLinkLocalAddressReply{}
	err = c.vpp.Call(ctx, &ip.SwInterfaceIP6GetLinkLocalAddress{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	}, reply)
	switch {
	case errors.Is(err, api.UNIMPLEMENTED), errors.Is(err, binapi.ErrUnknownMessage):
		return netip.Addr{}, false, nil
	case errors.Is(err, api.IP6_NOT_ENABLED):
		return netip.Addr{}, true, nil
	case err != nil:
		return netip.Addr{}, false, err
	}
	return netip.AddrFrom16(reply.IP), true, nil
}

// SetTable puts an interface into a VRF table for one version of IP. VPP
// refuses while the interface has addresses; if it is in the table already,
// that is a success.
func (c *Calls) SetTable(ctx context.Context, swIfIndex, vrf uint32, ipv6 bool) error {
	err := c.call(ctx, setTable, &interfaces.SwInterfaceSetTable{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), IsIPv6: ipv6, VrfID: vrf,
	}, &interfaces.SwInterfaceSetTableReply{})
	if !errors.Is(err, api.ADDRESS_FOUND_FOR_INTERFACE) {
		return err
	}
	now, getErr := c.Table(ctx, swIfIndex, ipv6)
	if getErr == nil && now == vrf {
		return nil
	}
	return errors.Join(err, getErr)
}

// Table returns the VRF table of an interface for one version of IP.
func (c *Calls) Table(ctx context.Context, swIfIndex uint32, ipv6 bool) (vrf uint32, err error) {
	reply := &interfaces.SwInterfaceGetTableReply{}
	err = c.vpp.Call(ctx, &interfaces.SwInterfaceGetTable{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), IsIPv6: ipv6,
	}, reply)
	return reply.VrfID, err
}

// SetUnnumbered lets an interface borrow the addresses of another one. Both
// must be in the same VRF tables.
func (c *Calls) SetUnnumbered(ctx context.Context, swIfIndex, lender uint32) error {
	return c.unnumbered(ctx, true, swIfIndex, lender)
}

// UnsetUnnumbered ends the borrowing.
func (c *Calls) UnsetUnnumbered(ctx context.Context, swIfIndex uint32) error {
	if err := c.unnumbered(ctx, false, swIfIndex, NoInterface); !session.Gone(err) {
		return err
	}
	return nil
}

// unnumbered sends the message, whose fields are named the wrong way round:
// sw_if_index is the interface with the address.
func (c *Calls) unnumbered(ctx context.Context, add bool, swIfIndex, lender uint32) error {
	return c.call(ctx, setUnnumbered, &interfaces.SwInterfaceSetUnnumbered{
		SwIfIndex:           interface_types.InterfaceIndex(lender),
		UnnumberedSwIfIndex: interface_types.InterfaceIndex(swIfIndex),
		IsAdd:               add,
	}, &interfaces.SwInterfaceSetUnnumberedReply{})
}

// DumpUnnumbered returns, for each interface that borrows, the one whose
// addresses it borrows.
func (c *Calls) DumpUnnumbered(ctx context.Context) (map[uint32]uint32, error) {
	found, err := session.Dump[*ip.IPUnnumberedDetails](ctx, c.vpp, &ip.IPUnnumberedDump{
		SwIfIndex: interface_types.InterfaceIndex(NoInterface),
	})
	if err != nil {
		return nil, err
	}
	lenders := make(map[uint32]uint32, len(found))
	for _, d := range found {
		lenders[uint32(d.SwIfIndex)] = uint32(d.IPSwIfIndex)
	}
	return lenders, nil
}
