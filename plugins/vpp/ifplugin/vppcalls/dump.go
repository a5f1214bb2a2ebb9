package vppcalls

import (
	"context"
	"os"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Details are what VPP reports about an interface.
type Details struct {
	SwIfIndex uint32
	// Name and DevType are in the words of VPP ("tap0", "virtio").
	Name, DevType string
	// Tag is the logical name; empty if its creator set none.
	Tag             string
	AdminUp, LinkUp bool
	MAC             MAC
	// MTU is the largest IP packet, in bytes. OwnMTU is 0 if it is the MTU of the device.
	MTU, OwnMTU uint32
	// Speed of the link in kbit/s, 0 if not known.
	Speed uint32
	// Duplex of the link in the numbers of VPP: 0 not known, 1 half, 2 full.
	Duplex uint32
	// SubInterface: a VLAN of another interface, the parent.
	SubInterface bool
	// Parent is the interface of a sub-interface, and SubID its number there.
	Parent, SubID uint32
	// Encapsulation says which frames of the parent a sub-interface gets.
	Encapsulation Encapsulation
	// ProtocolMTU are the largest packets of IPv4, IPv6 and MPLS, where they have a limit of their
	// own.
	ProtocolMTU ProtocolMTU
	// Rewrite is what happens to the VLAN tags.
	Rewrite TagRewrite
}

// Encapsulation are the VLAN tags of the frames that a sub-interface gets.
type Encapsulation struct {
	SubNumberOfTags                uint8
	SubOuterVlanID, SubInnerVlanID uint16
	SubIfFlags                     interface_types.SubIfFlags
	OuterTag                       uint16
}

// VLAN is the encapsulation of a sub-interface for frames with one tag, the ID of a VLAN.
func VLAN(id uint32) Encapsulation {
	return Encapsulation{
		SubNumberOfTags: 1, SubOuterVlanID: uint16(id),
		SubIfFlags: interface_types.SUB_IF_API_FLAG_ONE_TAG | interface_types.SUB_IF_API_FLAG_EXACT_MATCH,
	}
}

// ProtocolMTU are limits of packets, in bytes; 0 is no limit of its own.
type ProtocolMTU struct{ MtuIP4, MtuIP6, MtuMPLS uint32 }

// DumpInterfaces returns all interfaces.
func (c *Calls) DumpInterfaces(ctx context.Context) ([]Details, error) {
	return c.dumpInterfaces(ctx, NoInterface)
}

// DumpInterface returns one interface, or nil if there is none of that index.
func (c *Calls) DumpInterface(ctx context.Context, swIfIndex uint32) (*Details, error) {
	found, err := c.dumpInterfaces(ctx, swIfIndex)
	for i := range found {
		if found[i].SwIfIndex == swIfIndex {
			return &found[i], err
		}
	}
	return nil, err
}

// DumpTags returns the tags of one interface, nothing if there is none of that
// index, or of all for NoInterface, by index; "" of who has none.
func (c *Calls) DumpTags(ctx context.Context, swIfIndex uint32) (map[uint32]string, error) {
	found, err := c.dumpInterfaces(ctx, swIfIndex)
	if err != nil {
		return nil, err
	}
	tags := make(map[uint32]string, len(found))
	for i := range found {
		tags[found[i].SwIfIndex] = found[i].Tag
	}
	return tags, nil
}

// dumpInterfaces returns one interface, or all of them for NoInterface.
func (c *Calls) dumpInterfaces(ctx context.Context, which uint32) ([]Details, error) {
	found, err := session.Dump[*interfaces.SwInterfaceDetails](ctx, c.vpp, &interfaces.SwInterfaceDump{
		SwIfIndex: interface_types.InterfaceIndex(which),
	})
	if err != nil {
		return nil, err
	}
	out := make([]Details, len(found))
	for i, d := range found {
		out[i] = Details{
			SwIfIndex: uint32(d.SwIfIndex), Name: d.InterfaceName, DevType: d.InterfaceDevType, Tag: d.Tag,
			AdminUp: d.Flags&interface_types.IF_STATUS_API_FLAG_ADMIN_UP != 0,
			LinkUp:  d.Flags&interface_types.IF_STATUS_API_FLAG_LINK_UP != 0,
			MAC:     d.L2Address, MTU: mtuOf(d), Speed: d.LinkSpeed, Duplex: uint32(d.LinkDuplex),
			SubInterface: uint32(d.SwIfIndex) != d.SupSwIfIndex,
			Parent:       d.SupSwIfIndex, SubID: d.SubID, ProtocolMTU: protocolMTU(d),
			Encapsulation: Encapsulation{d.SubNumberOfTags, d.SubOuterVlanID, d.SubInnerVlanID, d.SubIfFlags, d.OuterTag},
			Rewrite:       TagRewrite{Op: d.VtrOp, Dot1q: d.VtrPushDot1q != 0, Tag1: d.VtrTag1, Tag2: d.VtrTag2},
		}
		if len(d.Mtu) > mtuL3 {
			out[i].OwnMTU = d.Mtu[mtuL3]
		}
	}
	return out, nil
}

func protocolMTU(d *interfaces.SwInterfaceDetails) (m ProtocolMTU) {
	if len(d.Mtu) > mtuL3+3 {
		m = ProtocolMTU{d.Mtu[mtuL3+1], d.Mtu[mtuL3+2], d.Mtu[mtuL3+3]}
	}
	return m
}

func mtuOf(d *interfaces.SwInterfaceDetails) uint32 {
	if len(d.Mtu) > mtuL3 && d.Mtu[mtuL3] != 0 {
		return d.Mtu[mtuL3]
	}
	return uint32(d.LinkMtu)
}

// WatchEvents requests events about interfaces, calls ready once it is certain
// that none is missed from then on, and calls changed with the index of each
// interface that was created, changed or deleted, until ctx ends or the
// session does. Without error it has ended with ctx.
//
// The flags of the events are of no use: VPP sets in each only those that came
// up since the last one, so that going administratively up looks as if the link
// went down.
func (c *Calls) WatchEvents(ctx context.Context, ready func(context.Context), changed func(swIfIndex uint32)) error {
	return watch(ctx, c, "interface", func(client binapi.Client) error {
		err := client.Call(ctx, &interfaces.WantInterfaceEvents{EnableDisable: 1, PID: uint32(os.Getpid())}, &interfaces.WantInterfaceEventsReply{})
		if err == nil {
			ready(ctx)
		}
		return err
	}, func(e *interfaces.SwInterfaceEvent) { changed(uint32(e.SwIfIndex)) })
}
