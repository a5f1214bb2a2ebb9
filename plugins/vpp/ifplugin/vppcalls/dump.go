package vppcalls

import (
	"context"
	"fmt"
	"os"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppclient"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Details are what VPP tells about an interface.
type Details struct {
	SwIfIndex uint32
	// Name and DevType are in the words of VPP ("tap0", "virtio").
	Name, DevType string
	// Tag is the logical name; empty if whoever made the interface gave none.
	Tag             string
	AdminUp, LinkUp bool
	MAC             MAC
	// MTU is the largest IP packet, in bytes.
	MTU uint32
	// SubInterface: a VLAN of another interface.
	SubInterface bool
}

// DumpInterfaces returns all interfaces.
func (c *Calls) DumpInterfaces() ([]Details, error) {
	found, err := session.Dump[*interfaces.SwInterfaceDetails](c.vpp, &interfaces.SwInterfaceDump{
		SwIfIndex: interface_types.InterfaceIndex(NoInterface),
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
			MAC:     d.L2Address, MTU: mtuOf(d),
			SubInterface: uint32(d.SwIfIndex) != d.SupSwIfIndex,
		}
	}
	return out, nil
}

func mtuOf(d *interfaces.SwInterfaceDetails) uint32 {
	if len(d.Mtu) > mtuL3 && d.Mtu[mtuL3] != 0 {
		return d.Mtu[mtuL3]
	}
	return uint32(d.LinkMtu)
}

// Event is a change of the state of an interface.
type Event struct {
	SwIfIndex uint32
	LinkUp    bool
	Deleted   bool
}

// WatchEvents asks for events about interfaces, calls ready once it is certain
// that none is missed from then on, and gives them to handle, one after the
// other, until ctx ends or the session does. Without error it has ended with
// ctx.
func (c *Calls) WatchEvents(ctx context.Context, ready func(), handle func(Event)) error {
	s, err := c.vpp.Session()
	if err != nil {
		return err
	}
	watch, err := s.Client.WatchEvent(ctx, (*interfaces.SwInterfaceEvent)(nil))
	if err != nil {
		return fmt.Errorf("watch interface events: %w", err)
	}
	defer watch.Close()
	err = s.Client.Call(ctx, &interfaces.WantInterfaceEvents{EnableDisable: 1, PID: uint32(os.Getpid())},
		&interfaces.WantInterfaceEventsReply{})
	if err != nil {
		return err
	}
	ready()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, ok := <-watch.Events():
			if !ok && ctx.Err() != nil {
				return nil
			}
			if !ok {
				return fmt.Errorf("interface events: %w", vppclient.ErrDisconnected)
			}
			if e, isEvent := m.(*interfaces.SwInterfaceEvent); isEvent {
				handle(Event{
					SwIfIndex: uint32(e.SwIfIndex), Deleted: e.Deleted,
					LinkUp: e.Flags&interface_types.IF_STATUS_API_FLAG_LINK_UP != 0,
				})
			}
		}
	}
}
