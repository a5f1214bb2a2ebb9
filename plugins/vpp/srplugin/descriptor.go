package srplugin

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// The names of the descriptors.
const (
	GlobalName   = "vpp-srv6-global"
	LocalSIDName = "vpp-sr-localsid"
	PolicyName   = "vpp-sr-policy"
	SteeringName = "vpp-sr-steering"
)

// answer returns a number with which VPP answers: requests of segment routing have their own.
func answer(number int32) api.VPPApiError { return api.VPPApiError(number) }

// segment returns an IPv6 address.
func segment(r *item.Resolver, field, text string) (out ip_types.IP6Address) {
	switch a, err := ipconv.ParseAddr(text); {
	case err != nil || !a.Is6():
		r.Fail(field, "%q, expected an IPv6 address", text)
	default:
		out = a.As16()
	}
	return out
}

// segmentText returns the text of a segment.
func segmentText(a ip_types.IP6Address) string { return netip.AddrFrom16(a).String() }

// table adds a dependency on a VRF table; table 0 always exists.
func table(r *item.Resolver, label string, id uint32, protocol l3.VrfTable_Protocol) uint32 {
	if id != 0 {
		r.DependsOn(label, l3model.VrfTableKey(id, protocol))
	}
	return id
}
