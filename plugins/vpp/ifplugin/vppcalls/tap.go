package vppcalls

import (
	"context"
	"strings"

	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/tapv2"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// TapParams describe a TAP to create.
type TapParams struct {
	// HostIfName is the name of the Linux side.
	HostIfName string
	// Tag is the logical name, set together with the creation.
	Tag string
	// MAC of the VPP side; nil for one that VPP makes up.
	MAC *MAC
	// RxRingSize and TxRingSize are numbers of descriptors, powers of 2.
	RxRingSize, TxRingSize uint16
	// GSO passes large segments unsegmented.
	GSO bool
	// Tunnel carries IP packets without Ethernet header.
	Tunnel bool
}

// Tap is a TAP as VPP has it.
type Tap struct {
	HostIfName             string
	RxRingSize, TxRingSize uint32
	GSO, Tunnel            bool
}

var createTap = session.Declare(&Operations, "interface TAP", "tap",
	session.Variant((*Calls).createTapV3, (*tapv2.TapCreateV3)(nil), (*tapv2.TapCreateV3Reply)(nil),
		(*tapv2.SwInterfaceTapV2Dump)(nil), (*tapv2.SwInterfaceTapV2Details)(nil)),
	session.Variant((*Calls).createTapV2, (*tapv2.TapCreateV2)(nil), (*tapv2.TapCreateV2Reply)(nil),
		(*tapv2.SwInterfaceTapV2Dump)(nil), (*tapv2.SwInterfaceTapV2Details)(nil)))

// CreateTap creates a TAP; its Linux side appears in the namespace of VPP.
func (c *Calls) CreateTap(ctx context.Context, p TapParams) (swIfIndex uint32, err error) {
	create, err := createTap.On(c.vpp)
	if err != nil {
		return NoInterface, err
	}
	return create(c, ctx, p)
}

func (p TapParams) flags() tapv2.TapFlags {
	var flags tapv2.TapFlags
	if p.GSO {
		flags |= tapv2.TAP_API_FLAG_GSO
	}
	if p.Tunnel {
		flags |= tapv2.TAP_API_FLAG_TUN
	}
	return flags
}

func (c *Calls) createTapV3(ctx context.Context, p TapParams) (uint32, error) {
	mac, random := optionalMAC(p.MAC)
	reply := &tapv2.TapCreateV3Reply{}
	err := c.vpp.Call(ctx, &tapv2.TapCreateV3{
		ID: ^uint32(0), UseRandomMac: random, MacAddress: mac,
		NumRxQueues: 1, NumTxQueues: 1, TxRingSz: p.TxRingSize, RxRingSz: p.RxRingSize,
		TapFlags: p.flags(), HostIfNameSet: true, HostIfName: p.HostIfName, Tag: p.Tag,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

func (c *Calls) createTapV2(ctx context.Context, p TapParams) (uint32, error) {
	mac, random := optionalMAC(p.MAC)
	reply := &tapv2.TapCreateV2Reply{}
	err := c.vpp.Call(ctx, &tapv2.TapCreateV2{
		ID: ^uint32(0), UseRandomMac: random, MacAddress: mac,
		NumRxQueues: 1, TxRingSz: p.TxRingSize, RxRingSz: p.RxRingSize,
		TapFlags: p.flags(), HostIfNameSet: true, HostIfName: p.HostIfName, Tag: p.Tag,
	}, reply)
	return uint32(reply.SwIfIndex), err
}

// DeleteTap deletes a TAP. If it does not exist, that is a success.
func (c *Calls) DeleteTap(ctx context.Context, swIfIndex uint32) error {
	err := c.vpp.Call(ctx, &tapv2.TapDeleteV2{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	}, &tapv2.TapDeleteV2Reply{})
	if session.Gone(err) {
		return nil
	}
	return err
}

// DumpTaps returns all TAPs by the index of the interface; none if the
// connected VPP has no TAPs at all.
func (c *Calls) DumpTaps(ctx context.Context) (map[uint32]Tap, error) {
	found, err := session.DumpOf[*tapv2.SwInterfaceTapV2Details](ctx, c.vpp, createTap, &tapv2.SwInterfaceTapV2Dump{
		SwIfIndex: interface_types.InterfaceIndex(NoInterface),
	})
	if err != nil {
		return nil, err
	}
	taps := make(map[uint32]Tap, len(found))
	for _, d := range found {
		taps[d.SwIfIndex] = Tap{
			HostIfName: d.HostIfName,
			RxRingSize: uint32(d.RxRingSz), TxRingSize: uint32(d.TxRingSz),
			GSO:    d.TapFlags&tapv2.TAP_API_FLAG_GSO != 0,
			Tunnel: d.TapFlags&tapv2.TAP_API_FLAG_TUN != 0,
		}
	}
	return taps, nil
}

// IsTapName reports whether VPP gave the name to a TAP.
func IsTapName(internalName string) bool {
	return strings.HasPrefix(internalName, "tap") || strings.HasPrefix(internalName, "tun")
}
