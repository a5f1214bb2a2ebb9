package catalogue

import (
	"strings"

	"go.fd.io/govpp/api"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"
	"google.golang.org/protobuf/proto"

	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

// IpsecSA is an association in transport mode.
func IpsecSA(index, spi uint32) *ipsec.SecurityAssociation {
	return &ipsec.SecurityAssociation{
		Index: index, Spi: spi, Protocol: ipsec.SecurityAssociation_ESP,
		CryptoAlg: ipsec.CryptoAlg_AES_CBC_128, CryptoKey: "4a506a794f574265564551694d653768",
		IntegAlg: ipsec.IntegAlg_SHA1_96, IntegKey: "4339314b55523947594d6d3547666b45764e6a58",
	}
}

// IpsecTunnelSA is an association in tunnel mode.
func IpsecTunnelSA(index, spi uint32, src, dst string) *ipsec.SecurityAssociation {
	a := IpsecSA(index, spi)
	a.TunnelSrcAddr, a.TunnelDstAddr = src, dst
	return a
}

func ipsecSA() Item {
	sa := To[*ipsec.SecurityAssociation]
	return Item{
		Name: "vpp.ipsec.sa",
		Make: func() proto.Message {
			a := IpsecTunnelSA(10, 1001, "192.0.2.1", "192.0.2.2")
			a.CryptoSalt, a.UseEsn, a.UseAntiReplay, a.EnableUdpEncap = 0x11223344, true, true, true
			a.TunnelSrcPort, a.TunnelDstPort = 4500, 4501
			return a
		},
		Capability: "IPsec SA",
		Spellings: []Change{sa(func(a *ipsec.SecurityAssociation) {
			a.CryptoKey, a.TunnelSrcAddr, a.TunnelSrcPort = strings.ToUpper(a.CryptoKey), "::ffff:192.0.2.1", 0
		})},
		Updates: []Change{
			sa(func(a *ipsec.SecurityAssociation) { a.TunnelSrcAddr, a.TunnelDstAddr = "192.0.2.3", "192.0.2.4" }),
			sa(func(a *ipsec.SecurityAssociation) { a.TunnelSrcPort, a.TunnelDstPort = 5000, 0 }),
		},
		UpdateNeeds: &ipsecapi.IpsecSadEntryUpdate{},
		Recreates: []Change{
			sa(func(a *ipsec.SecurityAssociation) { a.Spi = 1002 }),
			sa(func(a *ipsec.SecurityAssociation) { a.TunnelSrcAddr, a.TunnelDstAddr = "2001:db8::1", "2001:db8::2" }),
			sa(func(a *ipsec.SecurityAssociation) {
				a.EnableUdpEncap, a.TunnelSrcPort, a.TunnelDstPort, a.TunnelSrcAddr, a.TunnelDstAddr = false, 0, 0, "", ""
			}),
			sa(func(a *ipsec.SecurityAssociation) {
				a.CryptoAlg, a.IntegAlg, a.IntegKey = ipsec.CryptoAlg_AES_GCM_128, ipsec.IntegAlg_NONE_INTEG, ""
			}),
			sa(func(a *ipsec.SecurityAssociation) {
				a.Protocol, a.CryptoAlg, a.CryptoKey = ipsec.SecurityAssociation_AH, ipsec.CryptoAlg_NONE_CRYPTO, ""
			}),
		},
		Refusals: map[string]Change{
			"spi: 0, expected":                                  sa(func(a *ipsec.SecurityAssociation) { a.Spi = 0 }),
			"protocol: 7, expected AH or ESP":                   sa(func(a *ipsec.SecurityAssociation) { a.Protocol = 7 }),
			"crypto_alg: AES_CBC_128, expected NONE_CRYPTO":     sa(func(a *ipsec.SecurityAssociation) { a.Protocol = ipsec.SecurityAssociation_AH }),
			"crypto_alg: 99 is unknown":                         sa(func(a *ipsec.SecurityAssociation) { a.CryptoAlg = 99 }),
			"integ_alg: 99 is unknown":                          sa(func(a *ipsec.SecurityAssociation) { a.IntegAlg = 99 }),
			"crypto_key: 16 bytes, expected 32 for AES_CBC_256": sa(func(a *ipsec.SecurityAssociation) { a.CryptoAlg = ipsec.CryptoAlg_AES_CBC_256 }),
			"crypto_key: 16 bytes, expected 0 for NONE_CRYPTO":  sa(func(a *ipsec.SecurityAssociation) { a.CryptoAlg = ipsec.CryptoAlg_NONE_CRYPTO }),
			"crypto_key: not hexadecimal, expected 16 bytes in 32 characters": sa(func(a *ipsec.SecurityAssociation) {
				a.CryptoKey = "secret"
			}),
			"integ_key: 20 bytes, expected 64 for SHA_512_256": sa(func(a *ipsec.SecurityAssociation) { a.IntegAlg = ipsec.IntegAlg_SHA_512_256 }),
			`tunnel_src_addr: "": expected an IP address`:      sa(func(a *ipsec.SecurityAssociation) { a.TunnelSrcAddr = "" }),
			"tunnel_dst_addr: 224.0.0.1, expected the address": sa(func(a *ipsec.SecurityAssociation) { a.TunnelDstAddr = "224.0.0.1" }),
			"tunnel_dst_addr: 2001:db8::1, expected":           sa(func(a *ipsec.SecurityAssociation) { a.TunnelDstAddr = "2001:db8::1" }),
			"tunnel_dst_addr: 192.0.2.1 is the same":           sa(func(a *ipsec.SecurityAssociation) { a.TunnelDstAddr = "192.0.2.1" }),
			"tunnel_src_port: 65535, expected 0 to 65534":      sa(func(a *ipsec.SecurityAssociation) { a.TunnelSrcPort = 65535 }),
		},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &ipsecapi.IpsecSadEntryDel{ID: m.(*ipsec.SecurityAssociation).Index}, &ipsecapi.IpsecSadEntryDelReply{}
		},
		Without: map[string]string{
			"Needs": "the addresses of the tunnel need not exist", "Conflicts": "the number is the key, and VPP has an SPI many times",
		},
	}
}
