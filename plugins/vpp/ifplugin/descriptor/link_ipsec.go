//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package descriptor

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ipsec"
	"go.fd.io/govpp/binapi/tunnel_types"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// An IPsec interface encrypts packets that are routed to it, with the security
// associations that a tunnel protection binds to it; without them it drops
// everything. VPP reports nothing else of it, so its instance, the number in the name that
// VPP gives, follows from the name of the configuration: by it an interface that has no
// tag yet is recognised. The fields of the link for keys and the like come from old
// releases of VPP, which had all of it in one message.
var ipsecInterfaces = linkSpec[ipsec.IpsecItf]{
	op: declareLinks("interface IPSEC_TUNNEL", "", linkCalls[ipsec.IpsecItf]{
		set: func(_ bool, p ipsec.IpsecItf) (req, reply api.Message) {
			return &ipsec.IpsecItfCreate{Itf: p}, &ipsec.IpsecItfCreateReply{}
		},
		dump: dumpOf[*ipsec.IpsecItfDump](func(d *ipsec.IpsecItfDetails) (ifIndex, ipsec.IpsecItf) { return d.Itf.SwIfIndex, d.Itf }),
	}),
	device: "IPSEC Tunnel",
	facts: traits{
		packetMTU: true, link: func() proto.Message { return &interfaces.IPSecLink{} },
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
	chosen: func(p *ipsec.IpsecItf, found ipsec.IpsecItf) {
		p.UserInstance, p.SwIfIndex = found.UserInstance, found.SwIfIndex
	},
	delete: deletion[*ipsec.IpsecItfDelete, *ipsec.IpsecItfDeleteReply],
	// VPP has 16384 instances, and gives the lower half to clients that ask for any.
	instances: instances[ipsec.IpsecItf]{
		prefix: "ipsec", first: 8192, count: 8192, inUse: api.INVALID_REGISTRATION,
		set: func(p *ipsec.IpsecItf, instance uint32) { p.UserInstance = instance },
	},
}
