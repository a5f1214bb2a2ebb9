//lint:file-ignore SA1019 the deprecated field is part of the wire schema, and has to be refused

package catalogue

import (
	"go.fd.io/govpp/api"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	"google.golang.org/protobuf/proto"

	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

// IpsecSPD is a policy database that interfaces use.
func IpsecSPD(index uint32, ifs ...string) *ipsec.SecurityPolicyDatabase {
	spd := &ipsec.SecurityPolicyDatabase{Index: index}
	for _, name := range ifs {
		spd.Interfaces = append(spd.Interfaces, &ipsec.SecurityPolicyDatabase_Interface{Name: name})
	}
	return spd
}

func ipsecSPD() Item {
	spd := To[*ipsec.SecurityPolicyDatabase]
	return Item{
		Name:       "vpp.ipsec.spd",
		Make:       func() proto.Message { return IpsecSPD(100) },
		Capability: "IPsec SPD",
		Refusals: map[string]Change{
			"policy_entries: policies are items of their own": spd(func(d *ipsec.SecurityPolicyDatabase) {
				d.PolicyEntries = []*ipsec.SecurityPolicyDatabase_PolicyEntry{{SaIndex: 1}}
			}),
			"interfaces[0].name: empty": spd(func(d *ipsec.SecurityPolicyDatabase) { d.Interfaces = IpsecSPD(0, "").Interfaces }),
			`interfaces[1].name: "a" is listed twice`: spd(func(d *ipsec.SecurityPolicyDatabase) {
				d.Interfaces = IpsecSPD(0, "a", "a").Interfaces
			}),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &ipsecapi.IpsecSpdAddDel{SpdID: m.(*ipsec.SecurityPolicyDatabase).Index}, &ipsecapi.IpsecSpdAddDelReply{}
		},
		Without: map[string]string{
			"Needs": "the interfaces are a part", "Spellings": "it is a number", "Updates": "the interfaces are a part",
			"Recreates": "it is its key", "Conflicts": "the number is the key",
		},
	}
}

func ipsecSPDInterface() Item {
	return Item{
		Name: "vpp.ipsec.spd: interfaces", Part: "vpp/spd/101/interface/secured",
		Make:       func() proto.Message { return IpsecSPD(101, "secured") },
		Needs:      func() []proto.Message { return []proto.Message{Loopback("secured")} },
		Capability: "IPsec SPD: interfaces",
		Conflicts: []Conflict{{
			First: IpsecSPD(102, "secured"), Second: IpsecSPD(103, "secured"), Part: "vpp/spd/103/interface/secured",
			Says: `interfaces.name: "secured" uses database 102`,
		}},
	}
}
