package vppcalls

import (
	"cmp"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l3xc"

	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
)

// L3Xconnect sends all packets of one version of IP that an interface receives
// along paths.
type L3Xconnect struct {
	SwIfIndex interface_types.InterfaceIndex
	IPv6      bool
	Paths     []Path // sorted
}

// SortPaths orders paths: VPP does not care.
func SortPaths(paths []Path) {
	slices.SortFunc(paths, func(a, b Path) int {
		return cmp.Or(cmp.Compare(a.SwIfIndex, b.SwIfIndex), a.NextHop.Compare(b.NextHop))
	})
}

// L3Xconnects are the cross-connects of VPP. Their version of IP, which VPP does not fill in,
// is that of the next hops.
var L3Xconnects = item.Declare(&Operations, "L3 cross-connect", "l3xc", item.Variant[L3Xconnect]{
	Change: func(x L3Xconnect, add bool) (request, reply api.Message) {
		if !add {
			return &l3xc.L3xcDel{SwIfIndex: x.SwIfIndex, IsIP6: x.IPv6}, &l3xc.L3xcDelReply{}
		}
		req := &l3xc.L3xcUpdate{L3xc: l3xc.L3xc{SwIfIndex: x.SwIfIndex, IsIP6: x.IPv6, NPaths: uint8(len(x.Paths))}}
		for _, p := range x.Paths {
			req.L3xc.Paths = append(req.L3xc.Paths, p.message(x.IPv6))
		}
		return req, &l3xc.L3xcUpdateReply{}
	},
	Dumps: []item.Dump[L3Xconnect]{item.List(&l3xc.L3xcDump{SwIfIndex: interface_types.InterfaceIndex(NoInterface)},
		func(d *l3xc.L3xcDetails) (x L3Xconnect, ok bool) {
			x.SwIfIndex = d.L3xc.SwIfIndex
			for _, p := range d.L3xc.Paths {
				x.IPv6 = p.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP6
				if converted, ok := path(p); ok {
					x.Paths = append(x.Paths, converted)
				}
			}
			SortPaths(x.Paths)
			return x, true
		})},
})
