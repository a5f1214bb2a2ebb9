package descriptor

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	linuxmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// An AF_PACKET interface attaches VPP to an interface of the kernel, in the
// namespace of VPP. The value waits for that interface to be created, and outlives an agent that
// cannot see it. VPP sets the link of
// the host interface up and down together with its own, and leaves it down when
// the VPP interface is deleted. VPP sets the MTU of the VPP interface on the host interface, too;
// see host_mtu.go. The MAC address is chosen at creation.

// HostInterfaces is what AF_PACKET interfaces need of the kernel.
type HostInterfaces interface {
	// HostName returns the name in the kernel of an interface that is known by
	// its logical name.
	HostName(logical string) (host string, ok bool)
	// SetLinkUp sets an interface of the kernel up. An interface that does not
	// exist is no error.
	SetLinkUp(ctx context.Context, host string) error
	// LinkMTU returns the MTU of an interface of the kernel, in bytes; 0 if it does not exist.
	LinkMTU(ctx context.Context, host string) (uint32, error)
	// SetLinkMTU changes the MTU of an interface of the kernel. An interface that does not exist is no error.
	SetLinkMTU(ctx context.Context, host string, mtu uint32) error
}

type afPacket struct {
	vpp  *vppcalls.Calls
	host HostInterfaces // nil: no Linux plugins in this agent
}

func (afPacket) traits() traits {
	return traits{link: func() proto.Message { return &interfaces.AfpacketLink{} }}
}

func (k afPacket) check(i *interfaces.Interface) error {
	l := i.GetAfpacket()
	switch {
	case l.GetHostIfName() == "" && l.GetLinuxInterface() == "":
		return invalid("afpacket.host_if_name", "empty, expected it or linux_interface")
	case len(l.GetHostIfName()) > maxHostName:
		return invalid("afpacket.host_if_name", "%q has %d bytes, expected at most %d",
			l.GetHostIfName(), len(l.GetHostIfName()), maxHostName)
	case l.GetLinuxInterface() != "" && k.host == nil:
		return invalid("afpacket.linux_interface", "this agent manages no Linux interfaces; use host_if_name")
	}
	return nil
}

func (afPacket) dependencies(i *interfaces.Interface) []kvs.Dependency {
	dep := kvs.Dependency{Label: "afpacket-host-interface-exists", Creation: true}
	if logical := i.GetAfpacket().GetLinuxInterface(); logical != "" {
		dep.Key, dep.Recreates = linuxmodel.InterfaceModel.KeyFor(logical), linuxmodel.Renamed
	} else {
		dep.Key = linuxmodel.HostInterfaceKey.Key(i.GetAfpacket().GetHostIfName())
	}
	return []kvs.Dependency{dep}
}

func (afPacket) identities(i *interfaces.Interface) []string {
	return []string{identity("af-packet", hostField(i))}
}

func (afPacket) sameLink(a, b *interfaces.Interface) bool {
	return proto.Equal(a.GetAfpacket(), b.GetAfpacket())
}

// hostName returns the name of the host interface in the kernel.
func (k afPacket) hostName(i *interfaces.Interface) (string, error) {
	l := i.GetAfpacket()
	if l.GetLinuxInterface() == "" {
		return l.GetHostIfName(), nil
	}
	if k.host == nil {
		return "", fmt.Errorf("linux interface %q: this agent manages no Linux interfaces", l.GetLinuxInterface())
	}
	host, ok := k.host.HostName(l.GetLinuxInterface())
	if !ok {
		return "", fmt.Errorf("linux interface %q is not known to exist", l.GetLinuxInterface())
	}
	return host, nil
}

func (k afPacket) create(ctx context.Context, i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	host, err := k.hostName(i)
	if err != nil {
		return &ifaceidx.IfMeta{}, err
	}
	idx, err := k.vpp.CreateAfPacket(ctx, host, mac)
	if errors.Is(err, api.IF_ALREADY_EXISTS) {
		idx, err = adoptWhere(ctx, k.vpp, func(d vppcalls.Details) bool { return d.Name == vppcalls.AfPacketName(host) },
			func(vppcalls.Details) bool { return true }, err)
		err = conflict(err, hostField(i))
	}
	return &ifaceidx.IfMeta{SwIfIndex: idx, InternalName: vppcalls.AfPacketName(host)}, err
}

// hostField is the field that names the host interface.
func hostField(i *interfaces.Interface) field {
	if name := i.GetAfpacket().GetLinuxInterface(); name != "" {
		return field{"afpacket.linux_interface", name}
	}
	return field{"afpacket.host_if_name", i.GetAfpacket().GetHostIfName()}
}

func (k afPacket) remove(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	host, err := k.attachedTo(i, m)
	if err != nil {
		return err
	}
	if err := k.vpp.DeleteAfPacket(ctx, host); err != nil {
		return err
	}
	return k.setLinkUp(ctx, host)
}

// attachedTo returns the host interface that the VPP interface is attached to,
// even if the Linux interface has gone or changed its name since.
func (k afPacket) attachedTo(i *interfaces.Interface, m *ifaceidx.IfMeta) (string, error) {
	if vppcalls.IsAfPacketName(m.InternalName) {
		return m.InternalName[len(vppcalls.AfPacketName("")):], nil
	}
	return k.hostName(i)
}

func (k afPacket) afterAdminDown(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	host, err := k.attachedTo(i, m)
	if err != nil {
		return err
	}
	return k.setLinkUp(ctx, host)
}

// setLinkUp undoes what VPP did to the host interface: whether that is up is
// for its own configuration to say.
func (k afPacket) setLinkUp(ctx context.Context, host string) error {
	if k.host == nil {
		return nil
	}
	return k.host.SetLinkUp(ctx, host)
}

func (afPacket) claims(d vppcalls.Details) bool {
	return !d.SubInterface && vppcalls.IsAfPacketName(d.Name)
}

func (k afPacket) read(ctx context.Context, _ func(uint32) string) (recogniser, error) {
	hosts, err := k.vpp.DumpAfPackets(ctx)
	return func(d vppcalls.Details, wanted, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		host, ok := hosts[d.SwIfIndex]
		if !ok {
			host = d.Name[len(vppcalls.AfPacketName("")):]
		}
		i.Type = interfaces.Interface_AF_PACKET
		l := &interfaces.AfpacketLink{HostIfName: host}
		if w := wanted.GetAfpacket(); w.GetLinuxInterface() != "" && k.host != nil {
			// An interface that the agent does not see is taken for the one that was used.
			if name, known := k.host.HostName(w.GetLinuxInterface()); !known || name == host {
				l = proto.CloneOf(w)
			}
		}
		i.Link = &interfaces.Interface_Afpacket{Afpacket: l}
		return true
	}, err
}
