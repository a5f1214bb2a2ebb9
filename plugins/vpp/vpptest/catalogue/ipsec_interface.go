//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be refused

package catalogue

import (
	"go.fd.io/govpp/api"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// IpsecInterface is an IPsec interface that is up.
func IpsecInterface(name string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_IPSEC_TUNNEL, Enabled: true,
		Link: &interfaces.Interface_Ipsec{Ipsec: &interfaces.IPSecLink{}},
	}
}

func ipsecInterface() Item {
	link := func(change func(l *interfaces.IPSecLink)) Change {
		return iface(func(i *interfaces.Interface) { change(i.GetIpsec()) })
	}
	return ofInterface(Item{
		Make: func() proto.Message {
			i := IpsecInterface("ipsec1")
			i.IpAddresses = []string{"10.17.1.1/24"}
			return i
		},
		Capability: "interface IPSEC_TUNNEL",
		Recreates:  []Change{link(func(l *interfaces.IPSecLink) { l.TunnelMode = interfaces.IPSecLink_POINT_TO_MULTIPOINT })},
		Refusals: map[string]Change{
			"ipsec.tunnel_mode: 9": link(func(l *interfaces.IPSecLink) { l.TunnelMode = 9 }),
			"ipsec.local_spi: security associations are items of their own": link(func(l *interfaces.IPSecLink) { l.LocalSpi = 5 }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &ipsecapi.IpsecItfDelete{SwIfIndex: of(index, m)}, &ipsecapi.IpsecItfDeleteReply{}
		},
		Without: map[string]string{
			"Needs": "VPP makes it of nothing", "Spellings": "the mode has none", "Conflicts": "VPP chooses the number",
		},
	})
}
