package puntplugin

import (
	"go.fd.io/govpp/binapi/ip_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	puntproto "github.com/tenuto-dev/tenuto/proto/ligato/vpp/punt"
)

// The names of the descriptors.
const (
	IPRedirectName = "vpp-punt-ipredirect"
	ToHostName     = "vpp-punt-to-host"
	ExceptionName  = "vpp-punt-exception"
)

type family = ip_types.AddressFamily

// families returns the versions of IP that a value is about. VPP has an entry for each.
func families(r *item.Resolver, p puntproto.L3Protocol) []family {
	switch p {
	case puntproto.L3Protocol_IPV4:
		return []family{ip_types.ADDRESS_IP4}
	case puntproto.L3Protocol_IPV6:
		return []family{ip_types.ADDRESS_IP6}
	case puntproto.L3Protocol_ALL:
		return []family{ip_types.ADDRESS_IP4, ip_types.ADDRESS_IP6}
	default:
		r.Fail("l3_protocol", "%s, expected IPV4, IPV6 or ALL", p)
		return nil
	}
}

// protocol returns the protocol of a value with entries for some versions of
// IP.
func protocol(of ...family) puntproto.L3Protocol {
	switch {
	case len(of) > 1:
		return puntproto.L3Protocol_ALL
	case of[0] == ip_types.ADDRESS_IP6:
		return puntproto.L3Protocol_IPV6
	default:
		return puntproto.L3Protocol_IPV4
	}
}
