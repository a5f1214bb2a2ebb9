//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package descriptor

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// An IPsec interface encrypts what is routed to it, with the security
// associations that a tunnel protection binds to it; without them it drops
// everything. VPP tells nothing else of it, so its instance, the number in the name that
// VPP gives, follows from the name of the configuration: by it an interface that has no
// tag yet is recognised. The fields of the link for keys and the like are those of old
// releases of VPP, which had all of it in one message.

// ipsecCalls is what IPsec interfaces need of VPP.
type ipsecCalls interface {
	CreateIpsec(ctx context.Context, instance uint32, multipoint bool) (swIfIndex uint32, err error)
	DeleteIpsec(ctx context.Context, swIfIndex uint32) error
	DumpIpsecs(ctx context.Context) (multipoint map[uint32]bool, err error)
}

type ipsec struct {
	kindDefaults
	vpp  ipsecCalls
	seed string // of instances
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

func (k ipsec) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	m := &ifaceidx.IfMeta{SwIfIndex: vppcalls.NoInterface}
	var err error
	for _, instance := range k.instances(i) {
		m.SwIfIndex, err = k.vpp.CreateIpsec(ctx, instance, i.GetIpsec().GetTunnelMode() == interfaces.IPSecLink_POINT_TO_MULTIPOINT)
		if !errors.Is(err, api.INVALID_REGISTRATION) {
			return m, err
		}
	}
	return m, fmt.Errorf("all instances that the name may have are in use: %w", err)
}

// instances are what an interface of the name may be, the preferred one first. VPP gives
// the lower half to clients that ask for any.
func (k ipsec) instances(i *interfaces.Interface) (all [8]uint32) {
	sum := sha256.Sum256([]byte(k.seed + "\x00ipsec\x00" + i.GetName()))
	for n := range all {
		all[n] = vppcalls.IpsecInstances/2 + binary.BigEndian.Uint32(sum[4*n:])%(vppcalls.IpsecInstances/2)
	}
	return all
}

func (k ipsec) created(found vppcalls.Details, i, want *interfaces.Interface) bool {
	instances := k.instances(want)
	return k.sameLink(i, want) && slices.ContainsFunc(instances[:], func(n uint32) bool { return found.Name == vppcalls.IpsecName(n) })
}

func (k ipsec) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteIpsec(ctx, m.SwIfIndex)
}

func (ipsec) claims(d vppcalls.Details) bool {
	return !d.SubInterface && d.DevType == vppcalls.IpsecDevice
}

func (k ipsec) read(ctx context.Context, _ func(uint32) string) (recogniser, error) {
	all, err := k.vpp.DumpIpsecs(ctx)
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
