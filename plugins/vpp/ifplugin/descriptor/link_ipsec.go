//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package descriptor

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/tunnel_types"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// An IPsec interface encrypts what is routed to it, with the security
// associations that a tunnel protection binds to it; without them it drops
// everything. VPP tells nothing else of it, so its instance, the number in the name that
// VPP gives, follows from the name of the configuration: by it an interface that has no
// tag yet is recognised. The fields of the link for keys and the like are those of old
// releases of VPP, which had all of it in one message.
type ipsecInterfaces struct{ linkTable[ipsec.IpsecItf] }

var ipsecTable = linkSpec[ipsec.IpsecItf]{
	op: declareLinks("interface IPSEC_TUNNEL", "", linkCalls[ipsec.IpsecItf]{
		set: func(_ bool, p ipsec.IpsecItf) (req, reply api.Message) {
			return &ipsec.IpsecItfCreate{Itf: p}, &ipsec.IpsecItfCreateReply{}
		},
		dump: dumpOf[*ipsec.IpsecItfDump](func(d *ipsec.IpsecItfDetails) (ifIndex, ipsec.IpsecItf) { return d.Itf.SwIfIndex, d.Itf }),
	}),
	device: "IPSEC Tunnel",
	facts: traits{
		packetMTU: true, noMAC: withoutMAC("an IPsec interface"), link: func() proto.Message { return &interfaces.IPSecLink{} },
	},
	resolve: func(r *item.Resolver, i *interfaces.Interface) ipsec.IpsecItf {
		mode := i.GetIpsec().GetTunnelMode()
		r.Enum("ipsec.tunnel_mode", mode)
		i.GetIpsec().ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			if f.Name() != "tunnel_mode" {
				r.Fail("ipsec."+string(f.Name()), "security associations are items of their own, bound to the interface by a tunnel protection")
			}
			return true
		})
		return ipsec.IpsecItf{Mode: tunnel_types.TunnelMode(mode)} // of the same numbers
	},
	describe: func(i *interfaces.Interface, p ipsec.IpsecItf, _ about) {
		l := &interfaces.IPSecLink{TunnelMode: interfaces.IPSecLink_Mode(p.Mode)}
		i.Type, i.Link = interfaces.Interface_IPSEC_TUNNEL, &interfaces.Interface_Ipsec{Ipsec: l}
	},
	delete: deletion[*ipsec.IpsecItfDelete, *ipsec.IpsecItfDeleteReply],
	names: func(seed string, want *interfaces.Interface) (names []string) {
		for _, n := range ipsecInstances(seed, want) {
			names = append(names, fmt.Sprintf("ipsec%d", n))
		}
		return names
	},
}

func (k ipsecInterfaces) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	p, err := k.resolution.Live(i)
	for _, p.UserInstance = range ipsecInstances(k.on.seed, i) {
		var idx ifIndex
		if idx, err = k.set(ctx, true, p); !errors.Is(err, api.INVALID_REGISTRATION) {
			return &ifaceidx.IfMeta{SwIfIndex: uint32(idx)}, err
		}
	}
	return nil, fmt.Errorf("all instances that the name may have are in use: %w", err)
}

// ipsecInstances are what an interface of the name may be, the preferred one first. VPP has
// 16384 of them, and gives the lower half to clients that ask for any.
func ipsecInstances(seed string, i *interfaces.Interface) (all [8]uint32) {
	sum := sha256.Sum256([]byte(seed + "\x00ipsec\x00" + i.GetName()))
	for n := range all {
		all[n] = 8192 + binary.BigEndian.Uint32(sum[4*n:])%8192
	}
	return all
}
