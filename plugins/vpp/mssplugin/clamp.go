package mssplugin

import (
	"math"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/mss_clamp"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	mss "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mss"
)

// ClampName is the name of the descriptor.
const ClampName = "vpp-mss-clamp"

// clamp has a size only for a version of IP that has a direction.
type clamp = mss_clamp.MssClampDetails

var clamps = item.Declare("MSS clamp", "mss_clamp", item.Variant[clamp]{
	Change: change,
	// VPP keeps the directions of a deleted interface, and takes the same ones for no change of
	// the next interface with the index.
	Reset: func(e clamp) (requests, replies []api.Message) {
		request, reply := change(e, false)
		return []api.Message{request}, []api.Message{reply}
	},
	Dumps: []item.Dump[clamp]{item.ListCursor(func() (request, reply api.Message) {
		return &mss_clamp.MssClampGet{SwIfIndex: math.MaxUint32}, &mss_clamp.MssClampGetReply{}
	}, func(d *clamp) (clamp, bool) { return *d, true })},
})

func change(e clamp, add bool) (request, reply api.Message) {
	if !add {
		e = clamp{SwIfIndex: e.SwIfIndex}
	}
	update := mss_clamp.MssClampEnableDisable(e)
	return &update, &mss_clamp.MssClampEnableDisableReply{}
}

// NewClamp describes the limits of TCP segments on interfaces.
func NewClamp(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*mss.Clamp, clamp, clamp]{
		Name: ClampName, Model: ClampModel, Operation: clamps,
		Resolve: func(r *item.Resolver, v *mss.Clamp) clamp {
			r.Enum("ipv4_direction", v.GetIpv4Direction())
			r.Enum("ipv6_direction", v.GetIpv6Direction())
			if v.GetIpv4Mss() == 0 && v.GetIpv6Mss() == 0 {
				r.Fail("ipv4_mss, ipv6_mss", "both 0, expected a limit for at least one version of IP")
			}
			e := clamp{
				SwIfIndex: r.Interface("interface", v.GetInterface()),
				IPv4Mss:   uint16(v.GetIpv4Mss()), IPv6Mss: uint16(v.GetIpv6Mss()),
			}
			e.IPv4Direction, e.IPv6Direction = direction(e.IPv4Mss, v.GetIpv4Direction()), direction(e.IPv6Mss, v.GetIpv6Direction())
			return e
		},
		ID: func(e clamp) clamp { return clamp{SwIfIndex: e.SwIfIndex} },
		Value: func(n *item.Names, e clamp) *mss.Clamp {
			return &mss.Clamp{
				Interface: n.Interface(e.SwIfIndex), Ipv4Mss: uint32(e.IPv4Mss), Ipv6Mss: uint32(e.IPv6Mss),
				Ipv4Direction: directions[e.IPv4Direction], Ipv6Direction: directions[e.IPv6Direction],
			}
		},
		Changeable: func(_, _ clamp) bool { return true },
	})
}

// direction returns the direction of a version of IP, which has none without a limit.
func direction(size uint16, d mss.Clamp_Direction) mss_clamp.MssClampDir {
	for number, direction := range directions {
		if size > 0 && direction == d && number != mss_clamp.MSS_CLAMP_DIR_NONE {
			return number
		}
	}
	return mss_clamp.MSS_CLAMP_DIR_NONE
}

var directions = map[mss_clamp.MssClampDir]mss.Clamp_Direction{
	mss_clamp.MSS_CLAMP_DIR_NONE:                            mss.Clamp_BOTH,
	mss_clamp.MSS_CLAMP_DIR_RX:                              mss.Clamp_RX,
	mss_clamp.MSS_CLAMP_DIR_TX:                              mss.Clamp_TX,
	mss_clamp.MSS_CLAMP_DIR_RX | mss_clamp.MSS_CLAMP_DIR_TX: mss.Clamp_BOTH,
}
