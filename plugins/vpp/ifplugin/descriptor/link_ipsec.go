//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package descriptor

import (
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// An IPsec interface encrypts what is routed to it, with the security
// associations that a tunnel protection binds to it; without them it drops
// everything. The fields of the link for keys and the like are those of old
// releases of VPP, which had all of it in one message.

// ipsecCalls is what IPsec interfaces need of VPP.
type ipsecCalls interface {
	CreateIpsec(multipoint bool) (swIfIndex uint32, err error)
	DeleteIpsec(swIfIndex uint32) error
	DumpIpsecs() (multipoint map[uint32]bool, err error)
}

type ipsec struct {
	kindDefaults
	vpp ipsecCalls
}

func (ipsec) traits() traits {
	return traits{
		packetMTU: true, link: func() proto.Message { return &interfaces.IPSecLink{} },
		noMAC: func(*interfaces.Interface) string { return "an IPsec interface" },
	}
}

func (ipsec) check(i *interfaces.Interface) error {
	l := i.GetIpsec()
	var errs []error
	if interfaces.IPSecLink_Mode_name[int32(l.GetTunnelMode())] == "" {
		errs = append(errs, invalid("ipsec.tunnel_mode", "%s, expected POINT_TO_POINT or POINT_TO_MULTIPOINT", l.GetTunnelMode()))
	}
	l.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if f.Name() != "tunnel_mode" {
			errs = append(errs, invalid("ipsec."+string(f.Name()),
				"security associations are items of their own, bound to the interface by a tunnel protection"))
		}
		return true
	})
	return errors.Join(errs...)
}

func (ipsec) sameLink(a, b *interfaces.Interface) bool {
	return a.GetIpsec().GetTunnelMode() == b.GetIpsec().GetTunnelMode()
}

func (k ipsec) create(i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	idx, err := k.vpp.CreateIpsec(i.GetIpsec().GetTunnelMode() == interfaces.IPSecLink_POINT_TO_MULTIPOINT)
	return &ifaceidx.IfMeta{SwIfIndex: idx}, err
}

// created: an IPsec interface without a tag has nothing to recognise it by.
func (ipsec) created(vppcalls.Details, *interfaces.Interface, *interfaces.Interface) bool {
	return false
}

func (k ipsec) remove(_ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteIpsec(m.SwIfIndex)
}

func (ipsec) claims(d vppcalls.Details) bool {
	return !d.SubInterface && d.DevType == vppcalls.IpsecDevice
}

func (k ipsec) read(func(uint32) string) (recogniser, error) {
	all, err := k.vpp.DumpIpsecs()
	return func(d vppcalls.Details, _, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		multipoint, ok := all[d.SwIfIndex]
		if !ok {
			return false
		}
		l := &interfaces.IPSecLink{}
		if multipoint {
			l.TunnelMode = interfaces.IPSecLink_POINT_TO_MULTIPOINT
		}
		i.Type, i.Link = interfaces.Interface_IPSEC_TUNNEL, &interfaces.Interface_Ipsec{Ipsec: l}
		return true
	}, err
}
